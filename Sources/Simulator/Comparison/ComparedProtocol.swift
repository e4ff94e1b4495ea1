internal import SyncProtocols
internal import UpdateMachine

/// One protocol in a comparison: an app of items over its client half and its server half, and its
/// messages as JSON, so that bytes can be counted.
protocol ComparedProtocol {
  associatedtype Model: StorableModel where Model.Lists == NoLists
  associatedtype Server: SimulatedServer
  where
    Server.Truth.Event == Model.Event, Server.Truth.Snapshot == Model.Snapshot,
    Server.Place: Storable

  static var spoken: LibraryWorld.SpokenProtocol { get }

  /// How often its clients ask, in the way that the protocol's authors meant.
  static var cadence: Cadence { get }

  /// A server without items.
  static func server(_ settings: ServerSettings) -> Server

  /// The change that makes an edit. `number` is one that no other change has.
  static func change(_ edit: ItemEdit, number: UInt64) -> Model.Change

  static func request(
    _ push: PushRequest<Model.Change>, at finger: Server.Place?
  ) -> Server.Push

  /// The name that the server gave to a client; `nil`: none.
  static func clientName(of model: Model) -> UInt64?

  /// The fields of an item; `nil`: it is not there.
  static func fields(of item: Int64, in state: Model.Change.State) -> JSONObject?

  /// The same at the server.
  static func fields(of item: Int64, on server: Server) -> JSONObject?

  // MARK: As it travels

  /// What a poll names.
  static func json(_ place: Server.Place) -> JSONValue
  static func json(_ push: Server.Push) -> JSONValue
  static func json(_ snapshot: Model.Snapshot) -> JSONValue
  static func json(_ batch: Server.Sync.Batch) -> JSONValue
}

extension ComparedProtocol {
  static func clientName(of model: Model) -> UInt64? { model.client?.number }
}

extension JSONObject {
  /// Makes an object of members with different names.
  init(of members: (String, JSONValue?)...) {
    self.init()
    for (name, value) in members { self[name] = value }
  }
}

extension MutationPush {
  /// As JSON: the client, and its mutations with their names and arguments.
  var json: JSONValue {
    .object(
      JSONObject(
        of: ("clientID", JSONValue(integerLiteral: Int64(client.number))),
        (
          "mutations",
          .array(
            mutations.map {
              .object(
                JSONObject(
                  of: ("id", JSONValue(integerLiteral: Int64($0.id.number))),
                  ("name", .string($0.name)), ("args", $0.arguments)))
            })
        )))
  }
}

extension PushAnswer {
  /// As JSON: what became of the push, and the mutations that it names.
  var json: JSONValue {
    func ids(_ ids: [MutationID]) -> JSONValue {
      .array(ids.map { JSONValue(integerLiteral: Int64($0.number)) })
    }
    return switch self {
    case .accepted, .created: .object(JSONObject(of: ("result", "accepted")))
    case .absent: .object(JSONObject(of: ("result", "absent")))
    case .refused(let refusal):
      .object(JSONObject(of: ("result", "refused"), ("mutations", ids([refusal.id]))))
    case .acceptedOnly(let taken):
      .object(JSONObject(of: ("result", "accepted"), ("mutations", ids(taken))))
    case .behind: .object(JSONObject(of: ("result", "behind")))
    case .tooLarge: .object(JSONObject(of: ("result", "too-large")))
    }
  }
}
