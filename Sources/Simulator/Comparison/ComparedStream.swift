internal import SyncProtocols
internal import UpdateMachine

/// Items over Layer's protocol: each is an object that events insert, update and delete. The first
/// writer wins.
enum ComparedStream: ComparedProtocol {
  typealias Model = StreamModel
  typealias Server = StreamsServer

  static var spoken: LibraryWorld.SpokenProtocol { .eventStream }
  static var cadence: Cadence { .waits }

  static func server(_ settings: ServerSettings) -> StreamsServer {
    StreamsServer(
      truth: StreamsTruth(law: .firstWriterWins), settings: settings, at: Moment(milliseconds: 0))
  }

  private static func key(_ item: Int64) -> ViewKey { ViewKey("item/\(item)") }

  static func change(_ edit: ItemEdit, number: UInt64) -> StreamChange {
    var fields = StreamFields()
    for member in edit.fields.members { fields[ViewKey(member.name)] = member.value }
    let kind: StreamChange.Kind =
      switch edit {
      case .create: .insert(fields)
      case .set: .update(fields)
      case .delete: .delete
      }
    let id = StreamEventID(high: StateDigest.mixed(number), low: StateDigest.mixed(~number))
    return StreamChange(id, key(edit.item), kind)
  }

  static func request(_ push: PushRequest<StreamChange>, at finger: StreamPlace?) -> MutationPush {
    MutationPush(push)
  }

  static func clientName(of model: StreamModel) -> UInt64? { StreamsApp.clientName(of: model) }

  static func fields(of item: Int64, in state: StreamState) -> JSONObject? {
    guard let object = state.objects[key(item)] else { return nil }
    var fields = JSONObject()
    for (name, value) in object.fields { fields[name.text] = value }
    return fields
  }

  static func fields(of item: Int64, on server: StreamsServer) -> JSONObject? {
    guard let shown = server.truth.shown.objects[key(item)] else { return nil }
    var fields = JSONObject()
    for (name, value) in shown { fields[name.text] = value }
    return fields
  }

  static func json(_ place: StreamPlace) -> JSONValue {
    let request = place.request
    return .object(
      JSONObject(
        of: ("after", JSONValue(integerLiteral: request.after.number)),
        (
          "holes",
          .array(
            request.holes.map {
              [JSONValue(integerLiteral: $0.low), JSONValue(integerLiteral: $0.high)]
            })
        )))
  }

  static func json(_ push: MutationPush) -> JSONValue { push.json }

  static func json(_ snapshot: StreamSnapshot) -> JSONValue { json(snapshot.batch) }

  static func json(_ batch: StreamBatch) -> JSONValue {
    var events: [JSONValue] = []
    for step in batch.steps {
      if case .event(let event) = step { events.append(event.json) }
    }
    return .object(
      JSONObject(
        of: ("latest", JSONValue(integerLiteral: batch.latest.number)), ("events", .array(events))))
  }
}
