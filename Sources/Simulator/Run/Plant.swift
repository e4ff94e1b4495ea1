public import SyncProtocols

/// A way for a server to break its contract. Clients cannot survive it, and an oracle must notice
/// it. So plants test the oracles.
public enum Plant: Hashable, Sendable {
  /// The server's queues do something wrong.
  case breach(QueueBreach)
  /// From some moment on, no request is answered.
  case neverAnswersAgain
  /// The server's pages are wrong. Only in the world of messages.
  case page(PageBreach)
  /// The servers of a client view do something wrong. Only in the world of the ledger.
  case view(ViewBreach)
  /// The server of tables does something wrong. Only in the world of tables.
  case table(TableBreach)

  /// The plants that any app's server can have, in the order of the command line's list.
  public static var all: [Plant] { QueueBreach.allCases.map { .breach($0) } + [.neverAnswersAgain] }

  /// The plants of the world of messages, whose server gives pages.
  package static var ofPages: [Plant] { PageBreach.allCases.map { .page($0) } }

  /// The plants of the world of the ledger.
  package static var ofViews: [Plant] { ViewBreach.allCases.map { .view($0) } }

  /// The plants of the world of tables.
  package static var ofTables: [Plant] { TableBreach.allCases.map { .table($0) } }

  /// Every plant.
  package static var known: [Plant] { all + ofPages + ofViews + ofTables }

  /// The plant of this name; `nil` if there is none.
  package init?(name: String) {
    guard let plant = Plant.known.first(where: { $0.name == name }) else { return nil }
    self = plant
  }

  /// The name on the command line: words joined by hyphens.
  public var name: String {
    switch self {
    case .breach(let breach): breach.rawValue
    case .neverAnswersAgain: "never-answers-again"
    case .page(let breach): breach.rawValue
    case .view(let breach): breach.rawValue
    case .table(let breach): breach.rawValue
    }
  }

  /// What the server's queues do wrong; `nil`: nothing.
  var breach: QueueBreach? {
    if case .breach(let breach) = self { breach } else { nil }
  }

  /// What the servers of a client view do wrong; `nil`: nothing.
  package var viewBreach: ViewBreach? {
    if case .view(let breach) = self { breach } else { nil }
  }

  /// What the server of tables does wrong; `nil`: nothing.
  package var tableBreach: TableBreach? {
    if case .table(let breach) = self { breach } else { nil }
  }

  /// What the server's pages do wrong; `nil`: nothing.
  package var pageBreach: PageBreach? {
    if case .page(let breach) = self { breach } else { nil }
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
