internal import SyncProtocols
internal import UpdateMachine

/// What is played: an app over a protocol, on both sides, and what a person can do in it.
protocol PlayedApp {
  associatedtype Model: StorableModel
  associatedtype Server: SimulatedServer
  where
    Server.Truth.Event == Model.Event, Server.Truth.Snapshot == Model.Snapshot,
    Server.Place: Storable
  typealias Client = SyncClient<Model, Server.Sync>
  typealias Lists = Model.Lists

  static var played: PlayedProtocol { get }

  /// How often its clients ask.
  static var cadence: Cadence { get }
  static func server(_ settings: ServerSettings) -> Server
  static func request(_ push: PushRequest<Model.Change>, at finger: Server.Place?) -> Server.Push
  /// The name that the server gave to a client; `nil`: none.
  static func clientName(of model: Model) -> UInt64?

  // MARK: What is seen

  /// What the server has: things with numbers and fields.
  static func things(on server: Server, _ made: PlayedThings) -> JSONValue

  /// What a client shows of them, perhaps through a window.
  static func things(
    shownBy client: Client, through window: WindowID?, _ made: PlayedThings
  ) -> JSONValue

  /// Whether a client shows what it should.
  static func isLevel(
    _ client: Client, through window: WindowID?, with server: Server, _ made: PlayedThings
  ) -> Bool

  /// The list that a window shows, and where it is known; `nil`: there are no windows.
  static func picture(
    of window: WindowID, _ client: Client, with server: Server
  ) -> (list: String, bar: String)?

  // MARK: What is done

  /// The change that makes an edit; `nil`: there are no items.
  static func edit(_ edit: ItemEdit, number: UInt64) -> Model.Change?

  /// What somebody changes at the server.
  static func change(
    by act: PlaygroundStep.Somebody, on server: Server, _ made: inout PlayedThings
  ) throws(PlayedRefusal) -> Server.Truth.Change

  /// The list of a topic; without one, that of the channel. `nil`: there are no lists.
  static func list(of topic: String?) -> Lists.Narrow?

  /// The part of a list that a window shows from now on.
  static func window(
    _ move: PlaygroundStep.Look, from view: WindowView<Lists>?
  ) throws(PlayedRefusal) -> ListWindow<Lists.ID>

  /// The answer to a fetch, in words, too; `nil`: there are no pages.
  static func page(
    _ request: PageRequest<Lists.Narrow, Lists.ID>, on server: Server
  ) -> (page: Lists.Page, words: String)?

  /// What a page is asked for. Embedded Swift can print a request only where its narrow is known.
  static func words(_ request: PageRequest<Lists.Narrow, Lists.ID>) -> String
}

/// The protocols that can be played.
package enum PlayedProtocol: String, CaseIterable, Sendable {
  case eventQueue = "event-queue"
  case clientView = "client-view"
  case recordSync = "record-sync"
  case tableSync = "table-sync"
  case eventStream = "event-stream"
  /// An event queue, and windows on lists of posts that no client holds whole.
  case messages
}

/// What people have made so far.
struct PlayedThings: Sendable {
  /// The number of the newest item.
  var itemCount: Int64 = 0
  /// What posts say that say anything of their own.
  var texts: [String] = []
}

/// Why something cannot be done.
struct PlayedRefusal: Error {
  let why: String

  init(_ why: String) { self.why = why }
}

// MARK: Apps of items

extension ComparedQueue: PlayedApp { static var played: PlayedProtocol { .eventQueue } }
extension ComparedView: PlayedApp { static var played: PlayedProtocol { .clientView } }
extension ComparedRecords: PlayedApp { static var played: PlayedProtocol { .recordSync } }
extension ComparedTables: PlayedApp { static var played: PlayedProtocol { .tableSync } }
extension ComparedStream: PlayedApp { static var played: PlayedProtocol { .eventStream } }

extension PlayedApp where Self: ComparedProtocol {
  private static func things(
    _ made: PlayedThings, _ fields: (Int64) -> JSONObject?
  ) -> JSONValue {
    var items: [JSONValue] = []
    for number in 0..<made.itemCount {
      guard let fields = fields(number + 1) else { continue }
      items.append(
        .object(
          JSONObject(
            of: ("item", JSONValue(integerLiteral: number + 1)), ("fields", .object(fields)))))
    }
    return .array(items)
  }

  static func things(on server: Server, _ made: PlayedThings) -> JSONValue {
    things(made) { fields(of: $0, on: server) }
  }

  static func things(
    shownBy client: Client, through window: WindowID?, _ made: PlayedThings
  ) -> JSONValue {
    things(made) { item in client.view.flatMap { fields(of: item, in: $0) } }
  }

  static func isLevel(
    _ client: Client, through window: WindowID?, with server: Server, _ made: PlayedThings
  ) -> Bool {
    things(shownBy: client, through: window, made) == things(on: server, made)
  }

  static func picture(
    of window: WindowID, _ client: Client, with server: Server
  ) -> (list: String, bar: String)? { nil }

  static func edit(_ edit: ItemEdit, number: UInt64) -> Model.Change? {
    change(edit, number: number)
  }

  static func change(
    by act: PlaygroundStep.Somebody, on server: Server, _ made: inout PlayedThings
  ) throws(PlayedRefusal) -> Server.Truth.Change {
    throw PlayedRefusal("this protocol has items, and no posts")
  }

  static func list(of topic: String?) -> Never? { nil }

  static func window(
    _ move: PlaygroundStep.Look, from view: WindowView<NoLists>?
  ) throws(PlayedRefusal) -> ListWindow<NoLists.ID> {
    throw PlayedRefusal("this protocol has no windows: its clients hold everything")
  }

  static func page(
    _ request: PageRequest<Never, NoLists.ID>, on server: Server
  ) -> (page: Never, words: String)? { nil }

  static func words(_ request: PageRequest<Never, NoLists.ID>) -> String { "nothing" }
}
