public import SyncProtocols
public import UpdateMachine

/// One client's user, who looks at parts of what the server has, and what fetches them: pages, beside
/// the machine's one request.
///
/// The world carries its questions to the server and back, and loses or delays them; it asks after
/// every step whether what is held is right.
public protocol SimulatedReader: Sendable {
  associatedtype Model: SyncModel
  associatedtype Truth: ServerTruth where Truth.Event == Model.Event
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event
  typealias Body = Replica<Model, Sync>

  /// Whether there is anything to read. If so, the model is partial: this judges it, not its checksum.
  static var reads: Bool { get }

  /// How long it may take to read what is looked at, once nothing goes wrong any more and the machine
  /// is level.
  static var bound: TimeSpan { get }

  init()

  /// A process begins. Nothing is looked at yet; what is remembered of what the client holds stays
  /// true, for that may come back from the disk.
  mutating func begin(life: Life)

  /// The replica has changed.
  mutating func look(_ replica: inout Body, at now: Moment) -> ReaderEffects

  /// The user does something.
  mutating func act(
    _ replica: inout Body, _ truth: Truth, at now: Moment, _ choices: inout Choices
  ) -> ReaderEffects

  /// The server has found out what there is to answer a question with.
  mutating func find(_ question: UInt64, in truth: Truth)

  /// The server reads what it found, and answers; wrongly, if a breach is given and the answer can be
  /// wrong in that way. Says whether it is.
  mutating func read(
    _ question: UInt64, in truth: Truth, at position: Int64, breach: PageBreach?
  ) -> Bool

  /// The answer is here.
  mutating func take(_ question: UInt64, _ replica: inout Body, at now: Moment) -> ReaderEffects

  /// There will be none.
  mutating func fail(
    _ question: UInt64, _ failure: SyncFailure, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects

  mutating func fire(_ timer: UInt64, _ replica: inout Body, at now: Moment) -> ReaderEffects

  /// What is wrong with what is held and shown at a position of the server; `nil`: nothing. Asked
  /// after every step of the client.
  mutating func judge(
    _ model: Model, at position: Int64, _ history: [Truth]
  ) -> (oracle: Oracle, expected: String, found: String)?

  // What follows is for worlds whose server has broken its contract, when it keeps it again.

  /// The user looks at everything once more, whatever is known of it.
  mutating func lookAnew(_ replica: inout Body, at now: Moment) -> ReaderEffects

  /// Whether everything that such a look has made doubtful is settled.
  func hasSettled(_ model: Model) -> Bool

  /// What is wrong with what is held after two such looks, and could have been mended; `nil`: nothing.
  func objectionAfterLooks(
    to model: Model, _ truth: Truth
  ) -> (expected: String, found: String)?

  /// How often a page has contradicted what was held, and what came of it.
  var audits: AuditCounts { get }

  /// What is to be seen of what is held, and was not so before: pictures for a conversation.
  mutating func news(of model: Model, _ truth: Truth) -> [String]

  /// Whether everything that is looked at is there.
  func isLevel(with truth: Truth, _ model: Model) -> Bool

  /// A change was committed that leads to a position; a reader may have to know of one that clients
  /// are not told of.
  mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64)

  /// What it wants done as text, for a conversation; `nil`: nothing.
  func words(_ effects: ReaderEffects) -> String?
}

/// What a reader wants done, in this order.
public struct ReaderEffects: Sendable {
  /// Questions whose answers nobody waits for any more.
  public var cancel: [UInt64] = []
  /// A timer that must not fire.
  public var disarm: UInt64?
  /// Questions to send.
  public var ask: [UInt64] = []
  /// A timer, and when it is to fire.
  public var arm: (timer: UInt64, range: MomentRange)?

  public init() {}
}

/// Nobody reads anything: the model holds all there is.
public struct NoReader<Model: SyncModel, Truth: ServerTruth, Sync: SyncProtocol>: SimulatedReader
where Truth.Event == Model.Event, Sync.Batch.Event == Model.Event {
  public typealias Body = Replica<Model, Sync>

  public static var reads: Bool { false }

  public static var bound: TimeSpan { .zero }

  public init() {}

  public mutating func begin(life: Life) {}

  public mutating func look(_ replica: inout Body, at now: Moment) -> ReaderEffects {
    ReaderEffects()
  }

  public mutating func act(
    _ replica: inout Body, _ truth: Truth, at now: Moment, _ choices: inout Choices
  ) -> ReaderEffects { ReaderEffects() }

  public mutating func find(_ question: UInt64, in truth: Truth) {}

  public mutating func read(
    _ question: UInt64, in truth: Truth, at position: Int64, breach: PageBreach?
  ) -> Bool { false }

  public mutating func take(
    _ question: UInt64, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects { ReaderEffects() }

  public mutating func fail(
    _ question: UInt64, _ failure: SyncFailure, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects { ReaderEffects() }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> ReaderEffects { ReaderEffects() }

  public mutating func judge(
    _ model: Model, at position: Int64, _ history: [Truth]
  ) -> (oracle: Oracle, expected: String, found: String)? { nil }

  public mutating func lookAnew(_ replica: inout Body, at now: Moment) -> ReaderEffects {
    ReaderEffects()
  }

  public func hasSettled(_ model: Model) -> Bool { true }

  public func objectionAfterLooks(
    to model: Model, _ truth: Truth
  ) -> (expected: String, found: String)? { nil }

  public var audits: AuditCounts { AuditCounts() }

  public mutating func news(of model: Model, _ truth: Truth) -> [String] { [] }

  public func isLevel(with truth: Truth, _ model: Model) -> Bool { true }

  public mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64) {}

  public func words(_ effects: ReaderEffects) -> String? { nil }
}
