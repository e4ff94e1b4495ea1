/// The app's own state, as a value. The app supplies it; the library decides when to build it from
/// a snapshot and which events to apply.
///
/// Same snapshot and same events, same model: neither function may look at a clock, at chance or
/// at anything outside.
///
/// What a model can do besides, its types say. One that its user changes names its ``Change``, and then
/// says whose changes they are and how far they are confirmed. One that holds a part of what the server
/// has names its ``Lists``.
public protocol SyncModel: Sendable {
  /// The state that a server gave, atomic with a finger.
  associatedtype Snapshot: Sendable
  /// One change at the server.
  associatedtype Event: Sendable
  /// Why a snapshot or an event could not be taken. The library then keeps the model that it had
  /// and registers anew, slowly (`modelRefused`).
  associatedtype Refusal: Error
  /// What its user can do. `Never`, the default: nothing.
  associatedtype Change: Mutation = Never
  /// The lists of which it holds a part. ``NoLists``, the default: it holds everything.
  associatedtype Lists: PartialLists = NoLists

  init(snapshot: Snapshot) throws(Refusal)

  /// As ``init(snapshot:)``, in place of an older model. What an app keeps across the change (lists
  /// that are open, what was known formerly) is taken over here, and nothing else. By default nothing
  /// is. `nil`: there is no older one.
  init(snapshot: Snapshot, replacing old: Self?) throws(Refusal)

  /// Applies one event. Events come in the order of the log, each once. If one throws, the whole
  /// batch is undone, so the model need not tidy up.
  mutating func apply(_ event: Event) throws(Refusal)

  // MARK: What its user changes; supplied where `Change` is `Never`

  /// Names the client to its server: whose changes ``confirmation`` speaks of. `nil`: no changes are
  /// taken. A snapshot that names nobody where an earlier one named somebody is refused,
  /// until the user has logged out.
  var client: ClientID? { get }

  /// How far the client's changes are in this state.
  var confirmation: MutationConfirmation { get }

  /// What pending changes are replayed over.
  var state: Change.State { get }

  /// The client's change of which this event is the echo; `nil`, the default: of none. Where the
  /// server knows no IDs, an event that has the client's own name for a change confirms it.
  func echo(in event: Event) -> MutationTicket?

  /// Whether its server knows a change again by its ID (``Outbox/isIdempotent``). By default it does.
  static var knowsMutationsAgain: Bool { get }

  /// The numbers of its outbox. By default right for most.
  static var outboxSettings: OutboxSettings { get }

  // MARK: What it holds a part of; supplied where `Lists` is `NoLists`

  /// Its partial lists. The model applies the log's events to them, in their order; fetches and pages
  /// are the client's.
  var lists: Lists { get set }

  /// A page has told of these IDs what no event will tell: what was in doubt, or that the server had
  /// been wrong (``PartialLists/takeMended()``). One that is not held any more is gone, or out of
  /// sight. What else the model says of them should become what the lists say. By default nothing: the
  /// lists are all there is.
  mutating func mended(_ ids: [Lists.ID])

  // MARK: Rows of its saved form that are not loaded; by default all are

  /// Whether something of it is saved and not in memory.
  var hasUnloaded: Bool { get }

  /// Which rows must be loaded before these events are applied; none: they may be. Asked again after
  /// those were loaded, until none is left.
  func unloaded(under events: [Event]) -> [RowQuery]

  /// Rows that were asked for: they are in memory from here on. Otherwise nothing changes. Rows that
  /// are loaded already are passed over, for they may have changed since. Returns whether anything of
  /// this range was not loaded. If it throws, nothing has changed.
  ///
  /// - Parameters:
  ///   - answer: what a question found.
  ///   - isSaved: whether this is the state that is saved: nothing may be in it that is not on the disk.
  @discardableResult
  mutating func load(_ answer: RowAnswer, isSaved: Bool) throws(StoredFormError) -> Bool

  /// What is not loaded cannot be read: it is given up, and no more is known than what is loaded.
  mutating func forgetUnloaded()
}

extension SyncModel {
  @inlinable
  public init(snapshot: Snapshot, replacing old: Self?) throws(Refusal) {
    try self.init(snapshot: snapshot)
  }

  @inlinable
  public func echo(in event: Event) -> MutationTicket? { nil }

  @inlinable
  public static var knowsMutationsAgain: Bool { true }

  @inlinable
  public static var outboxSettings: OutboxSettings { OutboxSettings() }

  @inlinable
  public mutating func mended(_ ids: [Lists.ID]) {}

  @inlinable
  public var hasUnloaded: Bool { false }

  @inlinable
  public func unloaded(under events: [Event]) -> [RowQuery] { [] }

  @inlinable
  @discardableResult
  public mutating func load(
    _ answer: RowAnswer, isSaved: Bool
  ) throws(StoredFormError) -> Bool { false }

  @inlinable
  public mutating func forgetUnloaded() {}
}

/// A model that its user does not change.
extension SyncModel where Change == Never {
  @inlinable
  public var client: ClientID? { nil }

  @inlinable
  public var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }

  @inlinable
  public var state: Void { () }
}

/// A model that holds everything.
extension SyncModel where Lists == NoLists {
  @inlinable
  public var lists: NoLists {
    get { NoLists() }
    set {}
  }
}

/// What a server has confirmed of one client's changes, told with the state that it is of.
public struct MutationConfirmation: Hashable, Sendable {
  /// The server has seen to them up to here.
  public var last: MutationID
  /// The last of them that it refused.
  public var refusal: MutationRefusal?

  @inlinable
  public init(last: MutationID, refusal: MutationRefusal? = nil) {
    self.last = last
    self.refusal = refusal
  }
}

/// What a server answered to a poll: events in the order of its log.
public protocol EventBatch: Sendable {
  associatedtype Event: Sendable

  var count: Int { get }

  /// The event at `index`, from 0 to ``count`` − 1; `nil` if it has a place in the log but nothing
  /// for the model, as a heartbeat has.
  func event(at index: Int) -> Event?
}

/// A server protocol's rules about its log, as pure functions.
public protocol SyncProtocol: Sendable {
  associatedtype Place: Finger
  associatedtype Batch: EventBatch

  /// Says how a batch follows on a finger.
  static func advance(_ finger: Place, over batch: Batch) -> Advance<Place>

  /// Which comes first where the client's user changes things, push or pull. By default neither
  /// waits for the other.
  static var order: PushOrder { get }
}

/// Which comes first, push or pull: the protocol's to say.
public enum PushOrder: Hashable, Sendable {
  /// Each goes its own way, as where the server holds a poll open until there is news.
  case independent
  /// Push, then pull: once a push was answered the log is asked without waiting for its turn, so that
  /// what is pulled has in it what was pushed.
  case pushFirst
  /// Pull, then push: nothing is pushed by a client that is not level.
  case pullFirst
}

extension SyncProtocol {
  @inlinable
  public static var order: PushOrder { .independent }
}

/// How a batch follows on a finger.
public enum Advance<Place: Finger>: Equatable, Sendable {
  /// The events from index `first` on are new, and lead to this finger.
  case next(Place, first: Int)
  /// Nothing in it is new: empty, or given before.
  case seen
  /// It does not follow: another log, or an order that no log has. The state must not be trusted.
  case gap
}

/// What a replica holds. Not loaded yet, nothing, and an empty model are three things (BUGS 25).
public enum Holding<Model: Sendable>: Sendable {
  /// The saved form has not been read yet.
  case unknown
  /// There is no state: none was saved, or it was erased.
  case nothing
  /// The last state there was, perhaps empty. How fresh it is, ``Freshness`` says.
  case model(Model)
}

extension Holding: Equatable where Model: Equatable {}

/// A replica as it is on disk. Model, finger and outbox are one thing there, too (BUGS 81).
public struct SavedReplica<Model: SyncModel, Place: Finger>: Sendable {
  /// The model as of the finger.
  public var model: Model
  /// The place up to which the model has taken everything; `nil`: it was given up, and the next
  /// snapshot replaces what the model has of the server.
  public var finger: Place?
  /// What the server promised with the last snapshot.
  public var terms: Terms
  /// What the user changed; `nil`: the model takes no changes.
  public var outbox: Outbox<Model.Change>?

  @inlinable
  public init(
    model: Model, finger: Place?, terms: Terms, outbox: Outbox<Model.Change>? = nil
  ) {
    self.model = model
    self.finger = finger
    self.terms = terms
    self.outbox = outbox
  }
}

extension SavedReplica: Equatable
where Model: Equatable, Model.Change: Equatable, Model.Change.Refusal: Equatable {}
