internal import SyncProtocols
internal import UpdateMachine

/// Items over WatermelonDB's protocol: each is a record.
enum ComparedRecords: ComparedProtocol {
  typealias Model = RecordModel
  typealias Server = RecordsServer

  static var spoken: LibraryWorld.SpokenProtocol { .recordSync }
  static var cadence: Cadence { .every(.seconds(60)) }

  static func server(_ settings: ServerSettings) -> RecordsServer {
    RecordsServer(truth: RecordsTruth(), settings: settings, at: Moment(milliseconds: 0))
  }

  private static func key(_ item: Int64) -> RecordKey { RecordKey("items", "\(item)") }

  static func change(_ edit: ItemEdit, number: UInt64) -> RecordChange {
    let action: RecordChange.Action =
      switch edit {
      case .create: .create(edit.fields)
      case .set: .update(edit.fields)
      case .delete: .delete
      }
    return RecordChange(action, key(edit.item))
  }

  static func request(
    _ push: PushRequest<RecordChange>, at finger: RecordFinger?
  ) -> RecordsServer.Push { RecordsApp.request(push, at: finger) }

  static func fields(of item: Int64, in state: RecordState) -> JSONObject? {
    state.records[key(item)]?.columns
  }

  static func fields(of item: Int64, on server: RecordsServer) -> JSONObject? {
    server.truth.records[key(item)]
  }

  static func json(_ place: RecordFinger) -> JSONValue {
    .object(
      JSONObject(
        of: ("last_pulled_at", JSONValue(integerLiteral: Int64(place.lastPulledAt.number))),
        ("cursor", place.cursor.map { .string("\($0)") })))
  }

  static func json(_ push: RecordsServer.Push) -> JSONValue {
    guard let finger = push.finger else { return .null }
    let push = RecordPush(push.mutations, at: finger)
    return changes(push.created, push.updated, push.deleted, at: push.lastPulledAt)
  }

  /// A snapshot and the batch of a poll are the same.
  static func json(_ pulled: PulledRecords) -> JSONValue {
    changes(pulled.created, pulled.updated, pulled.deleted, at: pulled.pulledAt)
  }

  private static func changes(
    _ created: [RecordRow], _ updated: [RecordRow], _ deleted: [RecordKey], at stamp: RecordStamp
  ) -> JSONValue {
    func rows(_ rows: [RecordRow]) -> JSONValue {
      .array(
        rows.map {
          var columns = $0.columns
          columns["id"] = .string("\($0.key)")
          return .object(columns)
        })
    }
    return .object(
      JSONObject(
        of: ("timestamp", JSONValue(integerLiteral: Int64(stamp.number))),
        ("created", rows(created)), ("updated", rows(updated)),
        ("deleted", .array(deleted.map { .string("\($0)") }))))
  }
}
