public import SyncProtocols
public import UpdateMachine

/// The user of one client: what they do, and what is owed to them.
///
/// A user looks at the client and says what they do next; the world does it, whatever runs the client. After
/// every input the world asks whether what the client holds is right. A user is one for all lives of a
/// client: what is remembered of what was on the disk may be needed again.
public protocol SimulatedUser: Sendable {
  associatedtype Model: SyncModel
  associatedtype Truth: ServerTruth where Truth.Event == Model.Event
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event
  /// What is known of what is on the disk.
  associatedtype Memory: Sendable
  typealias Body = SyncClient<Model, Sync>
  typealias Saved = SavedReplica<Model, Sync.Place>
  typealias Action = UserAction<Model, Sync>
  /// What the client's process left on its disk until it is needed.
  typealias RowReader = (RowQuery) -> [(key: StoredKey, value: [UInt8])]

  /// Whether there is anything that the user does.
  static var acts: Bool { get }

  /// Up to how long it takes until a user does something: at first, and then as a multiple of the time
  /// from one event to the next.
  static var pause: (first: Int64, times: Int64) { get }

  /// How long it may take, once nothing goes wrong any more and the machine is level, until all is there
  /// that is looked at, and all is confirmed that was changed.
  static var bound: TimeSpan { get }

  init()

  /// Noted with what is written, and given back with what is read.
  var memory: Memory { get set }

  /// What is remembered before anything was written.
  static var blank: Memory { get }

  /// What is remembered when an older saved form comes back, with what was noted with it then. What has
  /// become of all that this user knows besides, nobody can tell.
  func memory(of saved: Saved, _ old: Memory) -> Memory

  /// A process begins.
  mutating func begin()

  // MARK: What the user does

  /// What the user does next.
  mutating func act(_ client: Body, _ truth: Truth, _ choices: inout Choices) -> [Action]

  /// After the faults: the user sees to it that everything can be sent.
  mutating func tidy(_ client: Body) -> [Action]

  /// After the faults, where the server has broken its contract: the user looks at everything once more,
  /// whatever is known of it.
  mutating func lookAnew(_ client: Body) -> [Action]

  /// What the user did was done.
  mutating func acted(_ action: Action, from before: Body, to after: Body, at now: Moment)

  // MARK: What happens

  /// The client is about to take an input.
  mutating func look(before input: Body.Input, _ client: Body, reading rows: RowReader)

  /// The client has taken an input (`nil`: a user's action), and this is what it led to.
  mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: RowReader,
    at now: Moment)

  /// A change was committed that leads to a position; a user may have to know of one that clients are
  /// not told of.
  mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64)

  /// A page was read at a position of the server, and has come. Told before the client takes it.
  mutating func note(
    _ page: Model.Lists.Page, for request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>,
    _ id: RequestID, readAt position: Int64)

  // MARK: What is owed

  /// What is wrong with a push that leaves; `nil`: nothing. `disk`: what is durable.
  func objection(
    toSending push: Outbox<Model.Change>.Push, disk: Saved?
  ) -> UserObjection?

  /// What is wrong with what the client holds; `nil`: nothing. Asked after every step of the client.
  ///
  /// - Parameters:
  ///   - client: what is held.
  ///   - truth: the server's present state.
  ///   - position: of the server's state that the finger stands for; −1: there is no finger.
  ///   - history: the truth at every position, for users of partial models.
  ///   - disk: what is durable.
  ///   - rows: what the client holds, too, but has not loaded.
  mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: RowReader
  ) -> UserObjection?

  /// Whether all is there that is looked at, and nothing is left to be sent.
  func isLevel(_ client: Body, with truth: Truth) -> Bool

  /// Whether everything that a look made doubtful is settled.
  func hasSettled(_ model: Model) -> Bool

  /// What is wrong with what is held after two such looks, and could have been mended; `nil`: nothing.
  func objectionAfterLooks(
    to model: Model, _ truth: Truth, reading rows: RowReader
  ) -> UserObjection?

  /// How often a page has contradicted what was held, and what came of it.
  var audits: AuditCounts { get }

  // MARK: Words

  /// What is held besides the model, for the hash of the run.
  func fold(_ client: Body, into digest: inout Digest)

  /// What is to be seen of what is held, and was not so before: pictures for a conversation.
  mutating func news(of client: Body, _ truth: Truth) -> [String]

  /// What is held besides the model, in one line.
  func words(_ client: Body) -> String
}

/// What a user does.
public enum UserAction<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  public typealias Body = SyncClient<Model, Sync>

  case mutates(Model.Change)
  /// Has a word on one that they have made.
  case says(Body.MutationWord)
  case opens(Model.Lists.Narrow, ListWindow<Model.Lists.ID>)
  case changes(Body.WindowChange)
  case tends(Body.ListChange)
  case signals(AppSignal)
}

extension UserAction: CustomStringConvertible {
  /// "mutates add", "discarded #3", "opens a window".
  public var description: String {
    switch self {
    case .mutates(let change): "mutates \(change.name)"
    case .says(.retried(let ticket)): "retries \(ticket)"
    case .says(.edited(let ticket, let change)): "makes \(change.name) of \(ticket)"
    case .says(.discarded(let ticket)): "discards \(ticket)"
    case .opens(_, let window): "opens a window about \(window.anchor)"
    case .changes(.moved(let id, let window)): "moves window \(id.number) to \(window.anchor)"
    case .changes(.closed(let id)): "closes window \(id.number)"
    case .tends(.dropped(let id)): "drops \(id)"
    case .tends(.closed): "closes a list"
    case .tends(.reconsidered): "reconsiders a list"
    case .signals(let signal): "says \(signal)"
    }
  }
}

/// Who objects to what a client holds, and why.
public struct UserObjection: Hashable, Sendable {
  public var oracle: Oracle
  public var expected: String
  public var found: String

  public init(_ oracle: Oracle, _ expected: String, _ found: String) {
    self.oracle = oracle
    self.expected = expected
    self.found = found
  }
}

/// What most users have nothing to say of.
extension SimulatedUser {
  public static var acts: Bool { true }
  public static var pause: (first: Int64, times: Int64) { (5000, 1) }
  public static var bound: TimeSpan { .zero }
  public mutating func begin() {}
  public mutating func act(
    _ client: Body, _ truth: Truth, _ choices: inout Choices
  ) -> [Action] { [] }
  public mutating func tidy(_ client: Body) -> [Action] { [] }
  public mutating func lookAnew(_ client: Body) -> [Action] { [] }
  public mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {}
  public mutating func look(before input: Body.Input, _ client: Body, reading rows: RowReader) {}
  public mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: RowReader,
    at now: Moment
  ) {}
  public mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64) {}
  public mutating func note(
    _ page: Model.Lists.Page, for request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>,
    _ id: RequestID, readAt position: Int64
  ) {}
  public func objection(
    toSending push: Outbox<Model.Change>.Push, disk: Saved?
  ) -> UserObjection? { nil }
  public mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: RowReader
  ) -> UserObjection? { nil }
  public func isLevel(_ client: Body, with truth: Truth) -> Bool { true }
  public func hasSettled(_ model: Model) -> Bool { true }
  public func objectionAfterLooks(
    to model: Model, _ truth: Truth, reading rows: RowReader
  ) -> UserObjection? { nil }
  public var audits: AuditCounts { AuditCounts() }
  public func fold(_ client: Body, into digest: inout Digest) {}
  public mutating func news(of client: Body, _ truth: Truth) -> [String] { [] }
  public func words(_ client: Body) -> String { "" }
}

extension SimulatedUser where Memory == Void {
  public var memory: Void {
    get { () }
    set {}
  }
  public static var blank: Void { () }
  public func memory(of saved: Saved, _ old: Void) {}
}

/// A user who changes nothing, of a client that holds everything.
public struct PassiveUser<Model: SyncModel, Truth: ServerTruth, Sync: SyncProtocol>: SimulatedUser
where Truth.Event == Model.Event, Sync.Batch.Event == Model.Event {
  public typealias Memory = Void

  public static var acts: Bool { false }

  public init() {}
}
