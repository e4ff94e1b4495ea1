package import SyncProtocols
package import UpdateMachine

// Tables: the room of a world in which users change rows of tables over NextApp's protocol: its
// server, its app, its users, and what they are owed.
//
// Tables may use: Changes, Choices, Disk, Run.

/// The simulator's sixth app: three tables, each with rows below those of the one above. Users
/// change them only while they are connected.
package enum TablesApp: SimulatedApp {
  package typealias Model = TableModel<Schema>
  package typealias Truth = TablesTruth
  package typealias Server = TablesServer
  package typealias User = TablesUser
  package typealias Disk = RowDisk<Model, TableFinger>

  package enum Schema: TableSchema {
    package static var tableCount: UInt8 { 3 }
  }

  /// Only new rows, each below those before it.
  package static func beginning(_ choices: inout Choices) -> TablesTruth {
    var truth = TablesTruth()
    for _ in 0..<choices.draw(.workload, in: 0...12) {
      let rows = truth.rows.map { $0.key }
      truth.apply(newRow(truth.nextID, "others", among: rows, .workload, &choices))
    }
    return truth
  }

  /// A change by others. Their IDs are negative.
  package static func nextEvent(_ truth: TablesTruth, _ choices: inout Choices) -> TableChange {
    let rows = truth.rows.map { $0.key }
    return change(truth.nextID, "others", among: rows, .workload, &choices)
  }

  /// A change of one of these rows, or a new one with this ID. Each value is written once.
  static func change(
    _ id: Int64, _ name: String, among rows: [TableRowKey], _ stream: Choices.Stream,
    _ choices: inout Choices
  ) -> TableChange {
    let kind = choices.draw(stream, below: 8)
    guard !rows.isEmpty, kind > 2 else { return newRow(id, name, among: rows, stream, &choices) }
    if kind == 3 {
      // Half of the deletions take a node, and all that is below it.
      let nodes = rows.filter { $0.table == 0 }
      let isNode = !nodes.isEmpty && choices.happens(stream, 1, in: 2)
      return .delete(pick(isNode ? nodes : rows, stream, &choices))
    }
    let row = pick(rows, stream, &choices)
    if kind < 6, row.table > 0 {
      return .move(row, parent: parent(in: row.table - 1, among: rows, stream, &choices))
    }
    var fields = JSONObject()
    fields[choices.pick(stream, ["a", "b"])] = UnusualValue.value("\(name) \(id)", id)
    return .set(row, fields)
  }

  /// Moves a row to another node, and deletes the node that it was in. Empty: there is no such row.
  static func rescue(_ state: TableState, _ choices: inout Choices) -> [TableChange] {
    let rows = state.rows.map { $0.value }.filter { $0.key.table == 1 && $0.parent != nil }
    guard !rows.isEmpty else { return [] }
    let row = rows[Int(choices.draw(.users, below: UInt64(rows.count)))]
    guard let node = row.parent else { return [] }
    let others = state.rows.map { $0.key }.filter { $0.table == 0 && $0 != node }
    return [
      .move(row.key, parent: parent(in: 0, among: others, .users, &choices)), .delete(node),
    ]
  }

  private static func newRow(
    _ id: Int64, _ name: String, among rows: [TableRowKey], _ stream: Choices.Stream,
    _ choices: inout Choices
  ) -> TableChange {
    let table = UInt8(choices.draw(stream, below: UInt64(Schema.tableCount)))
    var fields = JSONObject()
    fields["a"] = UnusualValue.value("\(name) \(id)", id)
    let parent = table == 0 ? nil : parent(in: table - 1, among: rows, stream, &choices)
    return .insert(TableRowKey(table, id), parent: parent, fields)
  }

  private static func parent(
    in table: UInt8, among rows: [TableRowKey], _ stream: Choices.Stream, _ choices: inout Choices
  ) -> Int64? {
    let parents = rows.filter { $0.table == table }
    if parents.isEmpty || choices.happens(stream, 1, in: 8) { return nil }
    return pick(parents, stream, &choices).id
  }

  private static func pick(
    _ rows: [TableRowKey], _ stream: Choices.Stream, _ choices: inout Choices
  ) -> TableRowKey { rows[Int(choices.draw(stream, below: UInt64(rows.count)))] }

  /// A snapshot of another number of tables.
  package static func snapshotToRefuse(_ truth: TablesTruth) -> TableSnapshot? {
    TableSnapshot(client: ClientID(0), subscription: 0, tableCount: 0)
  }

  package static func request(
    _ push: PushRequest<TableChange>, at finger: TableFinger?
  ) -> MutationPush { MutationPush(push) }

  /// Computed from what is shown, which is what a finger stands for.
  package static func checksum(of model: Model) -> UInt64 { checksum(of: model.state) }

  static func checksum(of state: TableState) -> UInt64 {
    var digest = StateDigest()
    for (key, row) in state.rows {
      guard let content = row.content else { continue }
      TablesTruth.Row(version: row.version, parent: content.parent, fields: content.fields)
        .fold(key, into: &digest)
    }
    return digest.value
  }

  package static func describe(_ model: Model) -> String {
    var text = model.state.isWhole ? "" : "not whole "
    for (key, row) in model.state.rows {
      guard let content = row.content else { continue }
      let row = TablesTruth.Row(
        version: row.version, parent: content.parent, fields: content.fields)
      text += "\(key)=\(row) "
    }
    return text
  }
}

/// The rows of a server, and all that was ever done to them. It does not use the server's code.
package struct TablesTruth: ServerTruth {
  package typealias Event = TableEvent
  package typealias Snapshot = TableSnapshot
  package typealias Change = TableChange

  struct Row: Hashable, Sendable, CustomStringConvertible {
    var version: UInt64
    var parent: Int64?
    var fields: JSONObject

    /// "3 below 7 {"a":"x"}": the third version of a row with the parent 7.
    var description: String {
      "\(version)" + (parent.map { " below \($0)" } ?? "") + " \(JSONValue.object(fields))"
    }

    func fold(_ key: TableRowKey, into digest: inout StateDigest) {
      digest.fold(UInt64(key.table))
      digest.fold(key.id)
      digest.fold(version)
      digest.fold(parent ?? .min)
      JSONValue.object(fields).fold(into: &digest)
    }
  }

  /// What was pushed by a client: how often it was made, and at which position first.
  struct Made: Sendable {
    var count = 0
    var first: Int64
  }

  private(set) var rows = VersionedMap<TableRowKey, Row>()
  private(set) var deleted = VersionedMap<TableRowKey, Bool>()
  /// What the server should not have made or refused.
  private(set) var wrong: [String] = []
  private var made = VersionedMap<String, Made>()
  private var changes: Int64 = 0

  package init() {}

  /// An ID that nobody has used.
  var nextID: Int64 { -changes - 1 }

  /// The snapshot without a client's name and a subscription, which a server adds.
  package var snapshot: TableSnapshot {
    TableSnapshot(
      client: ClientID(0), subscription: 0, tableCount: TablesApp.Schema.tableCount)
  }

  package mutating func apply(_ change: TableChange) {
    changes += 1
    make(change)
  }

  private mutating func make(_ change: TableChange) {
    let key = change.row
    switch change {
    case .insert(_, let parent, let fields):
      if deleted[key] == true { noteWrong("\(key) comes back after its deletion") }
      rows[key] = Row(version: 1, parent: parent, fields: fields)
    case .set(_, let fields):
      rows[key]?.version += 1
      for member in fields.members { rows[key]?.fields[member.name] = member.value }
    case .move(_, let parent):
      rows[key]?.version += 1
      rows[key]?.parent = parent
    case .delete: delete(key)
    case .restore(_, let fields, _):
      if !canTakeBack(change) { noteWrong("\(change) undoes another's: \(key)") }
      make(.set(key, fields))
    case .moveBack(_, let parent, _):
      if !canTakeBack(change) { noteWrong("\(change) undoes another's: \(key)") }
      make(.move(key, parent: parent))
    }
  }

  /// Whether an undo finds what it takes back, and the row and its new parent are there.
  func canTakeBack(_ change: TableChange) -> Bool {
    guard let row = rows[change.row] else { return false }
    switch change {
    case .restore(_, _, let found):
      return found.members.allSatisfy { row.fields[$0.name] ?? .null == $0.value }
    case .moveBack(let key, let parent, let found):
      let isParentThere = parent.map { rows.contains(TableRowKey(key.table - 1, $0)) } ?? true
      return row.parent == found && isParentThere
    case .insert, .set, .move, .delete: return false
    }
  }

  /// With all rows below it.
  private mutating func delete(_ key: TableRowKey) {
    rows[key] = nil
    deleted[key] = true
    for (child, row) in rows where child.table == key.table + 1 && row.parent == key.id {
      delete(child)
    }
  }

  mutating func noteWrong(_ what: String) { wrong.append(what) }

  mutating func note(_ change: TableChange, by client: ClientID, at position: Int64) {
    let name = TablesTruth.name(of: change, by: client)
    var made = made[name] ?? Made(first: position)
    made.count += 1
    self.made[name] = made
  }

  /// What a client's push has done; `nil`: it was never made.
  func made(_ change: TableChange, by client: ClientID) -> Made? {
    made[TablesTruth.name(of: change, by: client)]
  }

  static func name(of change: TableChange, by client: ClientID) -> String {
    "\(client.number): \(change)"
  }

  package var checksum: UInt64 {
    var digest = StateDigest()
    for (key, row) in rows { row.fold(key, into: &digest) }
    return digest.value
  }

  package func announcement(of change: TableChange) -> TableEvent? { nil }
}

extension TablesTruth: CustomStringConvertible {
  package var description: String { rows.map { "\($0.key)=\($0.value) " }.joined() }
}

extension TableChange: CustomStringConvertible {
  /// "set {"fields":{"a":"x"},"id":7,"table":1}".
  package var description: String { "\(name) \(JSONValue.object(arguments))" }
}
