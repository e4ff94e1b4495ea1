internal import UpdateMachine

/// The library's own worlds. Seeds draw from ``allCases``; ``zulip`` and ``etcd`` are run
/// only by their names.
package enum LibraryWorld: String, CaseIterable, Hashable, Sendable {
  /// Every client holds everything (``DirectoryApp``).
  case directory
  /// Every client holds a part, and fetches pages (``MessagesApp``).
  case messages
  /// Users change things, over the client view's protocol (``LedgerApp``).
  case ledger
  /// Users post over event queues, to a server that does not recognise a second copy
  /// (``PostsApp``).
  case posts
  /// Users change records, over WatermelonDB's protocol (``RecordsApp``).
  case records
  /// Users change rows of tables, over NextApp's protocol (``TablesApp``).
  case tables
  /// Users change objects, over a stream of events that only grows (``StreamsApp``).
  case streams
  /// Users change a list of tasks, over the library's own log of numbered changes (``TasksApp``).
  case tasks
  /// Every client holds an account on a Zulip server, with a part of its messages. `simulate` has
  /// its app: this target does not know that library.
  case zulip
  /// Users change items in an etcd cluster. `simulate` has this app, too.
  case etcd

  package static var allCases: [LibraryWorld] {
    [.directory, .messages, .ledger, .posts, .records, .tables, .streams, .tasks]
  }

  /// All worlds that can be named.
  package static var named: [LibraryWorld] { allCases + [.zulip, .etcd] }

  /// The protocol of one of these worlds.
  package enum SpokenProtocol: String, CaseIterable, Hashable, Sendable {
    case eventQueue = "event-queue"
    case clientView = "client-view"
    case recordSync = "record-sync"
    case tableSync = "table-sync"
    case eventStream = "event-stream"
    case changeLog = "change-log"
    case etcd
  }

  /// The index of this world in ``named``.
  package var number: Int { LibraryWorld.named.firstIndex(of: self) ?? 0 }

  /// The protocol of this world.
  package var spoken: SpokenProtocol {
    switch self {
    case .directory, .messages, .posts, .zulip: .eventQueue
    case .ledger: .clientView
    case .records: .recordSync
    case .tables: .tableSync
    case .streams: .eventStream
    case .tasks: .changeLog
    case .etcd: .etcd
    }
  }

  /// Whether the server of this world names its clients, and may forget a name. The users of such a
  /// world keep one book of changes under all their names.
  package var namesClients: Bool { self == .ledger }

  /// The world of a seed: each seed draws one.
  ///
  /// - Parameters:
  ///   - seed: the seed.
  ///   - spoken: draws among the worlds of this protocol; `nil`: among all.
  package static func drawn(by seed: UInt64, of spoken: SpokenProtocol? = nil) -> LibraryWorld {
    if spoken == .etcd { return .etcd }
    let isTasks = StateDigest.mixed(seed ^ 0x8EBC_6AF0_9C88_C6E3) & 15 == 0
    if spoken == .changeLog || spoken == nil && isTasks { return .tasks }
    let isStreams = StateDigest.mixed(seed ^ 0xE703_7ED1_A0B4_28DB) & 7 == 0
    if spoken == .eventStream || spoken == nil && isStreams { return .streams }
    let isRecords = StateDigest.mixed(seed ^ 0xC2B2_AE3D_27D4_EB4F) & 7 == 0
    if spoken == .recordSync || spoken == nil && isRecords { return .records }
    let isTables = StateDigest.mixed(seed ^ 0x1656_67B1_9E37_79F9) & 7 == 0
    if spoken == .tableSync || spoken == nil && isTables { return .tables }
    let isLedger = StateDigest.mixed(seed ^ 0xD1B5_4A32_D192_ED03) & 3 == 0
    if spoken == .clientView || spoken == nil && isLedger { return .ledger }
    if StateDigest.mixed(seed ^ 0x9E37_79B9_7F4A_7C15) & 3 == 0 { return .messages }
    return StateDigest.mixed(seed ^ 0xA076_1D64_78BD_642F) & 3 == 0 ? .posts : .directory
  }
}
