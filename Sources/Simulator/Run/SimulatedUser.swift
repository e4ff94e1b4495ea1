public import SyncProtocols
public import UpdateMachine

/// The user of one client: what they do, and what they are owed.
///
/// A user looks at the client and chooses the next action. The world performs it, whatever engine
/// runs the client. After every input the world asks the user whether the client's state is right.
/// One user outlives all of a client's processes: facts about an older saved form may be needed
/// again.
public protocol SimulatedUser<Model, Truth, Sync>: Sendable {
  /// The model that the client holds.
  associatedtype Model: SyncModel
  /// The server's state, which the user's client follows.
  associatedtype Truth: ServerTruth where Truth.Event == Model.Event
  /// The protocol that the client speaks.
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Model.Event
  /// The user's knowledge of the saved form on the disk.
  associatedtype Memory: Sendable
  /// The client that the user looks at.
  typealias Body = SyncClient<Model, Sync>
  /// The client's saved form.
  typealias Saved = SavedReplica<Model, Sync.Place>
  /// What the user may do.
  typealias Action = UserAction<Model, Sync>
  /// Reads rows that the client's process left on its disk.
  typealias ReadRows = (RowQuery) -> [(key: StoredKey, value: [UInt8])]

  /// Whether the user ever does anything.
  static var acts: Bool { get }

  /// The longest pause before an action: at first, and later as a multiple of the time between two
  /// events.
  static var pause: (first: Int64, times: Int64) { get }

  /// The longest time, once the faults have stopped and the machine is up to date, until everything
  /// in view is loaded and all changes are confirmed.
  static var bound: TimeSpan { get }

  /// Creates a user of a client that has never run.
  init()

  /// Stored with each write, and restored with each read.
  var memory: Memory { get set }

  /// The memory before the first write.
  static var blank: Memory { get }

  /// The memory when an older saved form comes back. `old` was stored with that form. Everything
  /// else that this user knows is uncertain from then on.
  func memory(of saved: Saved, _ old: Memory) -> Memory

  /// A process begins.
  mutating func begin()

  // MARK: What the user does

  /// Chooses the user's next actions.
  mutating func act(_ client: Body, _ truth: Truth, _ choices: inout Choices) -> [Action]

  /// Called after the faults: makes sure that everything can be sent.
  mutating func tidy(_ client: Body) -> [Action]

  /// Called after the faults, if the server broke its contract: looks at everything once more, even
  /// at what is known.
  mutating func lookAnew(_ client: Body) -> [Action]

  /// Called when an action was performed.
  mutating func acted(_ action: Action, from before: Body, to after: Body, at now: Moment)

  // MARK: What happens

  /// Called before the client takes an input.
  mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows)

  /// Called after the client has taken an input (`nil`: a user's action), with what it led to.
  mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment)

  /// Called when a change that leads to a position was committed. Some users need the changes that
  /// clients are not told of. Not called for what clients push.
  mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64)

  /// Called when a page that was read at a position of the server arrives, before the client takes
  /// it.
  mutating func note(
    _ page: Model.Lists.Page, for request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>,
    _ id: RequestID, readAt position: Int64)

  // MARK: Obligations

  /// Returns the objection to a push that is being sent; `nil`: none. `disk`: the durable state.
  func objection(
    toSending push: PushRequest<Model.Change>, disk: Saved?
  ) -> UserObjection?

  /// Returns the objection to the client's state; `nil`: none. Called after every step of the
  /// client.
  ///
  /// - Parameters:
  ///   - client: what the client holds.
  ///   - truth: the server's present state.
  ///   - position: the position of the finger's state; −1: there is no finger.
  ///   - history: the truth at every position, for users of partial models.
  ///   - disk: what is durable.
  ///   - rows: what the client has on its disk and not in memory.
  mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection?

  /// Whether everything in view is loaded, and nothing is left to send.
  func isLevel(_ client: Body, with truth: Truth) -> Bool

  /// Whether all doubts that a look raised are settled.
  func hasSettled(_ model: Model) -> Bool

  /// Returns the objection to an error that remains after two such looks although it could have
  /// been repaired; `nil`: none.
  func objectionAfterLooks(
    to model: Model, _ truth: Truth, reading rows: ReadRows
  ) -> UserObjection?

  /// How often pages contradicted what was held, and how that ended.
  var audits: AuditCounts { get }

  // MARK: Texts

  /// Adds what the client holds besides its model to the hash of the run.
  func fold(_ client: Body, into digest: inout StateDigest)

  /// Descriptions of what the client newly shows, for a conversation.
  mutating func news(of client: Body, _ truth: Truth) -> [String]

  /// What the client holds besides its model, on one line.
  func words(_ client: Body) -> String
}

/// An action of a user.
public enum UserAction<Model: SyncModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  /// The client that the action is done to.
  public typealias Body = SyncClient<Model, Sync>

  /// Makes a change through the outbox.
  case mutates(Model.Change)
  /// Undoes the newest change that can be undone.
  case undoes
  /// Redoes the newest that was undone.
  case redoes
  /// Decides about one of the user's own mutations.
  case decides(Body.MutationDecision)
  /// Opens a window on the list of a narrow.
  case opens(Model.Lists.Narrow, ListWindow<Model.Lists.ID>)
  /// Moves or closes a window.
  case changes(Body.WindowChange)
  /// Changes a list itself: drops an item, closes or reconsiders it.
  case changesLists(Body.ListChange)
  /// Gives the machine a signal of the app.
  case signals(AppSignal)
}

extension UserAction {
  /// The name of a change, or of what is done to one; `nil`: the action changes nothing on the
  /// server.
  var change: String? {
    switch self {
    case .mutates(let change): change.name
    case .undoes: "undo"
    case .redoes: "redo"
    case .decides(.retried): "retry"
    case .decides(.edited): "edit"
    case .decides(.discarded): "discard"
    case .opens, .changes, .changesLists, .signals: nil
    }
  }
}

extension UserAction {
  var isRedo: Bool {
    if case .redoes = self { true } else { false }
  }
}

extension UserAction: CustomStringConvertible {
  /// A text like "mutates add", "discards #3" or "opens a window".
  public var description: String {
    switch self {
    case .mutates(let change): "mutates \(change.name)"
    case .undoes: "undoes"
    case .redoes: "redoes"
    case .decides(.retried(let ticket)): "retries \(ticket)"
    case .decides(.edited(let ticket, let change)): "makes \(change.name) of \(ticket)"
    case .decides(.discarded(let ticket)): "discards \(ticket)"
    case .opens(_, let window): "opens a window about \(window.anchor)"
    case .changes(.moved(let id, let window)): "moves window \(id.number) to \(window.anchor)"
    case .changes(.closed(let id)): "closes window \(id.number)"
    case .changesLists(.dropped(let id)): "drops \(id)"
    case .changesLists(.closed): "closes a list"
    case .changesLists(.reconsidered): "reconsiders a list"
    case .signals(let signal): "says \(signal)"
    }
  }
}

/// An objection to what a client holds, and the oracle that raises it.
public struct UserObjection: Hashable, Sendable {
  /// The oracle that objects.
  public var oracle: Oracle
  /// What had to hold.
  public var expected: String
  /// What was there instead.
  public var found: String

  /// Creates an objection from the oracle, what it expected and what it found.
  public init(_ oracle: Oracle, _ expected: String, _ found: String) {
    self.oracle = oracle
    self.expected = expected
    self.found = found
  }
}

/// Defaults for most users.
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
  public mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows) {}
  public mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {}
  public mutating func note(_ change: Truth.Change, from truth: Truth, at position: Int64) {}
  public mutating func note(
    _ page: Model.Lists.Page, for request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>,
    _ id: RequestID, readAt position: Int64
  ) {}
  public func objection(
    toSending push: PushRequest<Model.Change>, disk: Saved?
  ) -> UserObjection? { nil }
  public mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? { nil }
  public func isLevel(_ client: Body, with truth: Truth) -> Bool { true }
  public func hasSettled(_ model: Model) -> Bool { true }
  public func objectionAfterLooks(
    to model: Model, _ truth: Truth, reading rows: ReadRows
  ) -> UserObjection? { nil }
  public var audits: AuditCounts { AuditCounts() }
  public func fold(_ client: Body, into digest: inout StateDigest) {}
  public mutating func news(of client: Body, _ truth: Truth) -> [String] { [] }
  public func words(_ client: Body) -> String { "" }
}

extension SimulatedUser where Memory == Void {
  /// Nothing: this user remembers nothing.
  public var memory: Void {
    get { () }
    set {}
  }
  /// Nothing: this user remembers nothing.
  public static var blank: Void { () }
  /// Does nothing: this user remembers nothing.
  public func memory(of saved: Saved, _ old: Void) {}
}

/// A user who changes nothing, for a client that holds everything.
public struct PassiveUser<Model: SyncModel, Truth: ServerTruth, Sync: SyncProtocol>: SimulatedUser
where Truth.Event == Model.Event, Sync.Batch.Event == Model.Event {
  public typealias Memory = Void

  public static var acts: Bool { false }

  public init() {}
}

extension OutboxSettings {
  /// Settings with bounds that a user of a world meets: of one push, and of what can be undone.
  static var ofWorlds: OutboxSettings {
    var settings = OutboxSettings()
    settings.batchMaximum = 4
    settings.undoMaximum = 4
    return settings
  }
}
