package import SyncProtocols
package import UpdateMachine

// Records: the room of a world in which users change records over WatermelonDB's protocol: its
// server, its app, its users, and what they are owed.
//
// Records may use: Changes, Choices, Disk, Run.

/// The simulator's fifth app: records that every user creates, changes and deletes, online or
/// offline. All clients are devices of one user, whose records others change, too.
package enum RecordsApp: SimulatedApp {
  package typealias Model = RecordModel
  package typealias Truth = RecordsTruth
  package typealias Server = RecordsServer
  package typealias User = RecordsUser
  package typealias Disk = RowDisk<RecordModel, RecordFinger>

  static let columns = ["a", "b", "c"]
  static let schema = RecordSchema(
    1, migrationsEnabledAt: 1)

  package static func beginning(_ choices: inout Choices) -> RecordsTruth {
    var truth = RecordsTruth()
    for _ in 0..<choices.draw(.workload, in: 0...5) { truth.apply(nextEvent(truth, &choices)) }
    return truth
  }

  /// A change by others. Each value is written once, so an old one that comes back shows.
  package static func nextEvent(
    _ truth: RecordsTruth, _ choices: inout Choices
  ) -> RecordsTruth.Change {
    let value = JSONValue.string("others \(truth.changes + 1)")
    let keys = truth.records.map { $0.key }
    let kind = choices.draw(.workload, below: 6)
    guard !keys.isEmpty, kind > 0 else {
      return .set(RecordKey("items", "others-\(truth.changes + 1)"), .one("a", value))
    }
    let key = keys[Int(choices.draw(.workload, below: UInt64(keys.count)))]
    return kind == 1 ? .delete(key) : .set(key, .one(choices.pick(.workload, columns), value))
  }

  /// A snapshot that names a record twice.
  package static func snapshotToRefuse(_ truth: RecordsTruth) -> PulledRecords? {
    var snapshot = truth.snapshot
    let row = RecordRow(RecordKey("items", ""), JSONObject())
    snapshot.created = [row, row]
    return snapshot
  }

  package static func request(
    _ push: PushRequest<RecordChange>, at finger: RecordFinger?
  ) -> RecordsServer.Push {
    RecordsServer.Push(client: push.client, mutations: push.mutations, finger: finger)
  }

  /// Computed from what is shown, which is what a finger stands for.
  package static func checksum(of model: RecordModel) -> UInt64 {
    RecordsTruth.checksum(model.state.records, { $0.columns })
  }

  package static func describe(_ model: RecordModel) -> String {
    RecordsTruth.describe(model.state.records, { $0.columns })
  }
}

/// The records of a server, and all that was ever done to them.
package struct RecordsTruth: ServerTruth {
  package typealias Event = PulledRecords
  package typealias Snapshot = PulledRecords

  package enum Change: Sendable {
    case set(RecordKey, JSONObject)
    case delete(RecordKey)
  }

  package private(set) var records = VersionedMap<RecordKey, JSONObject>()
  /// Counts the changes.
  private(set) var changes: Int64 = 0
  /// Every value that a column ever had.
  private var written = VersionedMap<String, Bool>()
  private(set) var deleted = VersionedMap<RecordKey, Bool>()
  /// Values that came back after they had been replaced or deleted, and the client that wrote them
  /// then; `nil`: others did.
  private(set) var returned: [(value: JSONValue, client: ClientID?)] = []
  /// How often each client has written each value.
  private var writes = VersionedMap<String, Int>()
  /// The client that wrote each column last, or deleted each record; those of others are not here.
  private var writers = VersionedMap<String, ClientID>()

  /// Records that a push has changed, although its client had not pulled their last change.
  private(set) var overwritten: [RecordKey] = []
  package init() {}

  /// The snapshot without a client's name, which a server adds.
  package var snapshot: PulledRecords {
    PulledRecords(
      client: ClientID(0), epoch: 0, pulledAt: RecordStamp(0),
      content: .page(after: nil, through: nil),
      created: records.map { RecordRow($0.key, $0.value) })
  }

  package mutating func apply(_ change: Change) {
    changes += 1
    switch change {
    case .set(let key, let columns):
      var all = records[key] ?? JSONObject()
      for column in columns.members {
        all[column.name] = column.value
        note(column.value, of: column.name, in: key, by: nil)
      }
      records[key] = all
    case .delete(let key):
      records[key] = nil
      noteDeletion(of: key, by: nil)
    }
  }

  /// Takes what a push has made of the records. It may also have deleted some that it created.
  /// `seen` is what its client had pulled.
  mutating func becomes(
    _ new: VersionedMap<RecordKey, JSONObject>, deleting gone: [RecordKey], seen: RecordsTruth?,
    by client: ClientID
  ) {
    for key in gone where !new.contains(key) { noteDeletion(of: key, by: client) }
    for change in new.difference(from: records).changes {
      changes += 1
      if let seen, seen.records[change.key] != change.old { overwritten.append(change.key) }
      guard let columns = change.new else {
        noteDeletion(of: change.key, by: client)
        continue
      }
      for column in columns.members where change.old?[column.name] != column.value {
        note(column.value, of: column.name, in: change.key, by: client)
      }
    }
    records = new
  }

  private mutating func note(
    _ value: JSONValue, of column: String, in key: RecordKey, by client: ClientID?
  ) {
    let name = "\(key)/\(column)=\(value)"
    if written[name] == true { returned.append((value, client)) }
    written[name] = true
    writers["\(key)/\(column)"] = client
    guard let client else { return }
    let count = RecordsTruth.name(of: value, by: client)
    writes[count] = (writes[count] ?? 0) + 1
  }

  private mutating func noteDeletion(of key: RecordKey, by client: ClientID?) {
    deleted[key] = true
    writers["\(key)"] = client
  }

  /// What a client's writes of a value are counted under.
  static func name(of value: JSONValue, by client: ClientID) -> String {
    "\(client.number)/\(value)"
  }

  /// How often a client has written a value, to any column.
  func writes(of value: JSONValue, by client: ClientID) -> Int {
    writes[RecordsTruth.name(of: value, by: client)] ?? 0
  }

  /// The client that wrote a column last, or, without a column, that deleted a record last.
  func lastWriter(of key: RecordKey, _ column: String? = nil) -> ClientID? {
    writers[column.map { "\(key)/\($0)" } ?? "\(key)"]
  }

  /// Whether a column ever had a value.
  func hasWritten(_ value: JSONValue, to column: String, of key: RecordKey) -> Bool {
    written["\(key)/\(column)=\(value)"] == true
  }

  package var checksum: UInt64 { RecordsTruth.checksum(records, { $0 }) }

  static func checksum<Value>(
    _ records: VersionedMap<RecordKey, Value>, _ columns: (Value) -> JSONObject
  ) -> UInt64 {
    var digest = StateDigest()
    for (key, value) in records {
      key.table.fold(into: &digest)
      key.id.fold(into: &digest)
      JSONValue.object(columns(value)).fold(into: &digest)
    }
    return digest.value
  }

  static func describe<Value>(
    _ records: VersionedMap<RecordKey, Value>, _ columns: (Value) -> JSONObject
  ) -> String {
    records.map { "\($0.key)=\(JSONValue.object(columns($0.value)))" }.joined(separator: " ")
  }

  package func announcement(of change: Change) -> PulledRecords? { nil }
}

extension RecordsTruth: CustomStringConvertible {
  package var description: String { RecordsTruth.describe(records, { $0 }) }
}

extension RecordsTruth.Change: CustomStringConvertible {
  package var description: String {
    switch self {
    case .set(let key, let columns): "\(key) \(JSONValue.object(columns))"
    case .delete(let key): "\(key) is gone"
    }
  }
}

extension JSONObject {
  /// An object with one member.
  static func one(_ name: String, _ value: JSONValue) -> JSONObject {
    var object = JSONObject()
    object[name] = value
    return object
  }
}
