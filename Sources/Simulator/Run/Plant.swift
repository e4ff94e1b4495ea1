public import SyncProtocols

/// A way for a server to break its contract. Clients cannot survive it, and an oracle must notice
/// it. So plants test the oracles.
public struct Plant: Hashable, Sendable {
  /// The name on the command line: words joined by hyphens.
  public let name: String
  /// The protocol of the servers that can do it; `nil`: every server can.
  package let spoken: LibraryWorld.SpokenProtocol?
  /// The only world with such a server; `nil`: each world of the protocol has one.
  package let world: LibraryWorld?

  private init(
    _ name: String, _ spoken: LibraryWorld.SpokenProtocol?, only world: LibraryWorld? = nil
  ) {
    self.name = name
    self.spoken = spoken
    self.world = world
  }

  private init(_ breach: some RawRepresentable<String>, only world: LibraryWorld) {
    self.init(breach.rawValue, world.spoken, only: world)
  }

  /// The server's queues do something wrong.
  public static func breach(_ breach: QueueBreach) -> Plant {
    Plant(breach.rawValue, .eventQueue)
  }

  /// From some moment on, no request is answered.
  public static let neverAnswersAgain = Plant("never-answers-again", nil)

  /// The server's pages are wrong.
  package static func page(_ breach: PageBreach) -> Plant { Plant(breach, only: .messages) }

  /// The servers of a client view do something wrong.
  package static func view(_ breach: ViewBreach) -> Plant { Plant(breach, only: .ledger) }

  /// The server of tables does something wrong.
  package static func table(_ breach: TableBreach) -> Plant { Plant(breach, only: .tables) }

  /// The server of a stream does something wrong.
  package static func stream(_ breach: StreamBreach) -> Plant { Plant(breach, only: .streams) }

  /// The server of records does something wrong.
  package static func record(_ breach: RecordBreach) -> Plant { Plant(breach, only: .records) }

  /// A cluster does something wrong.
  package static func cluster(_ breach: ClusterBreach) -> Plant { Plant(breach, only: .etcd) }

  /// The plants that any app's server can have, in the order of the command line's list.
  public static var all: [Plant] { QueueBreach.allCases.map { .breach($0) } + [.neverAnswersAgain] }

  /// Every plant. A token names a plant by its place here.
  package static var known: [Plant] {
    all + PageBreach.allCases.map { .page($0) } + ViewBreach.allCases.map { .view($0) }
      + TableBreach.allCases.map { .table($0) } + StreamBreach.allCases.map { .stream($0) }
      + RecordBreach.allCases.map { .record($0) } + ClusterBreach.allCases.map { .cluster($0) }
  }

  /// The plant of this name; `nil` if there is none.
  package init?(name: String) {
    guard let plant = Plant.known.first(where: { $0.name == name }) else { return nil }
    self = plant
  }
}

/// How a server's page breaks the contract.
public enum PageBreach: String, CaseIterable, Hashable, Sendable {
  /// Leaves a message out.
  case missesOne = "page-misses-one"
  /// Says that nothing is newer, although something is.
  case falseFoundNewest = "false-found-newest"
  /// Says that nothing is older, although something is.
  case falseFoundOldest = "false-found-oldest"
  /// Answers for another narrow than the one asked for.
  case ofAnotherNarrow = "page-of-another-narrow"
}
