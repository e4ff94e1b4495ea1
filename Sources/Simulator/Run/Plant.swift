public import SyncProtocols

/// A server that breaks its contract in one way. Clients cannot survive it, and an oracle must see
/// it: that is what plants are for.
public enum Plant: Hashable, Sendable {
  /// The server's queues do something wrong.
  case breach(QueueBreach)
  /// From some moment on, nobody is answered any more.
  case neverAnswersAgain
  /// The server's pages are wrong; in the world of messages only.
  case page(PageBreach)
  /// A client view's servers do something wrong; in the world of the ledger only.
  case view(ViewBreach)

  /// Every plant that any app's server can have, in the order of the command line's list.
  public static var all: [Plant] { QueueBreach.allCases.map { .breach($0) } + [.neverAnswersAgain] }

  /// Those of the world of messages, whose server gives pages.
  public static var ofPages: [Plant] { PageBreach.allCases.map { .page($0) } }

  /// Those of the world of the ledger.
  public static var ofViews: [Plant] { ViewBreach.allCases.map { .view($0) } }

  /// Every plant that there is.
  public static var known: [Plant] { all + ofPages + ofViews }

  /// The plant of this name; `nil`: there is none.
  public init?(name: String) {
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
    }
  }

  /// What the server's queues do; `nil`: nothing wrong.
  var breach: QueueBreach? {
    if case .breach(let breach) = self { breach } else { nil }
  }

  /// What a client view's servers do; `nil`: nothing wrong.
  public var viewBreach: ViewBreach? {
    if case .view(let breach) = self { breach } else { nil }
  }

  /// What its pages do; `nil`: nothing wrong.
  public var pageBreach: PageBreach? {
    if case .page(let breach) = self { breach } else { nil }
  }
}

/// How a server's page breaks the contract.
public enum PageBreach: String, CaseIterable, Hashable, Sendable {
  /// It leaves a message out.
  case missesOne = "page-misses-one"
  /// It says that nothing is newer, though something is.
  case falseFoundNewest = "false-found-newest"
  /// It says that nothing is older, though something is.
  case falseFoundOldest = "false-found-oldest"
  /// It is of another narrow than was asked for.
  case ofAnotherNarrow = "page-of-another-narrow"
}
