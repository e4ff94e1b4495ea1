import SyncProtocols
import UpdateMachine

/// Nodes, their actions, and the actions' sessions. A session has a day.
enum Tasks: TableSchema {
  static var tableCount: UInt8 { 3 }
  static func sortNumber(of row: SyncedRow) -> Int64? { row.content?.fields["day"]?.int64 }
}

func node(_ id: Int64) -> TableRowKey { TableRowKey(0, id) }
func action(_ id: Int64) -> TableRowKey { TableRowKey(1, id) }
func session(_ id: Int64) -> TableRowKey { TableRowKey(2, id) }

/// A server with a clock.
struct TableDesk {
  var server = TableServer(tableCount: 3)
  var now = Moment(milliseconds: 100)

  /// Makes changes, one in each millisecond.
  mutating func make(_ changes: TableChange...) throws {
    for change in changes {
      now = now + .milliseconds(1)
      try server.make(change, at: now)
    }
  }

  mutating func insert(_ key: TableRowKey, under parent: Int64? = nil, day: Int64 = 0) throws {
    try make(.insert(key, parent: parent, fields("day", day)))
  }

  /// Nodes 1 and 2; actions 10 and 11 of node 1; sessions 100 of action 10, and 110 of action 11.
  static func filled() throws -> TableDesk {
    var desk = TableDesk()
    for id in [1, 2] as [Int64] { try desk.insert(node(id)) }
    for id in [10, 11] as [Int64] { try desk.insert(action(id), under: 1) }
    for id in [10, 11] as [Int64] { try desk.insert(session(id * 10), under: id, day: id) }
    return desk
  }

  /// What a client must show that is up to date.
  var shown: [SyncedRow] { server.rows }
}

/// The client half, as a machine drives it: finger and model move together.
struct TableFollower {
  typealias Model = TableModel<Tasks>

  var finger: TableFinger?
  var model: Model?
  /// The rows that came with the last answer.
  var came: [SyncedRow] = []
  /// What the server held when the client was last up to date.
  var expected: [SyncedRow] = []
  private var saved: (rows: [(key: StoredKey, value: [UInt8])], expected: [SyncedRow]) = ([], [])

  var shown: [SyncedRow] { model?.state.rows.map(\.value) ?? [] }
  var keys: [TableRowKey] { model?.state.rows.map(\.key) ?? [] }

  /// Asks once, and takes the answer. Returns whether it is up to date now.
  @discardableResult
  mutating func ask(_ desk: inout TableDesk) throws -> Bool {
    guard let finger else {
      let snapshot = desk.server.register(ClientID(1), at: desk.now)
      model = try Model(snapshot: snapshot, replacing: model)
      self.finger = snapshot.finger
      return false
    }
    let batch = desk.server.poll(finger, at: desk.now)
    return try take(batch, isComplete: { desk.server.rows })
  }

  @discardableResult
  mutating func take(
    _ batch: TableBatch, isComplete truth: () -> [SyncedRow]
  ) throws -> Bool {
    guard let finger, var model else { return false }
    switch TableSync.advance(finger, over: batch) {
    case .next(let next, let first, let isComplete):
      for index in first..<batch.count {
        if let event = batch.event(at: index) { try model.apply(event) }
      }
      came = (first..<batch.count).compactMap {
        if case .row(let row)? = batch.event(at: $0) { row } else { nil }
      }
      self.model = model
      self.finger = next
      if isComplete { expected = truth() }
      return isComplete
    case .seen:
      came = []
      return true
    case .incomplete: return false
    case .lost, .gap:
      self.finger = nil
      return false
    }
  }

  /// Asks until it is up to date. Returns all rows that came.
  @discardableResult
  mutating func follow(_ desk: inout TableDesk) throws -> [SyncedRow] {
    var all: [SyncedRow] = []
    for _ in 0..<1000 {
      let isCurrent = try ask(&desk)
      all += came
      if isCurrent { return all }
    }
    throw TableRefusal.tableCount(0)  // It goes on for ever.
  }

  /// Finger and model as they are stored, and read back.
  mutating func save() {
    guard let finger, let model else { return }
    let outbox = model.client.map { Outbox<TableChange>(client: $0, delivery: .atMostOnce) }
    let form = SavedReplica(
      model: model, finger: finger, terms: .tableSync(), outbox: outbox)
    saved = (form.rows(since: nil).map { ($0.key, $0.value ?? []) }, expected)
  }

  mutating func crash() throws {
    finger = nil
    model = nil
    expected = saved.expected
    guard !saved.rows.isEmpty else { return }
    let form = try SavedReplica<Model, TableFinger>(stored: RowReader(saved.rows))
    finger = form.finger
    model = form.model
  }
}

/// Fields with one number.
func fields(_ name: String, _ number: Int64) -> JSONObject {
  var fields = JSONObject()
  fields[name] = .number(JSONNumber(number))
  return fields
}
