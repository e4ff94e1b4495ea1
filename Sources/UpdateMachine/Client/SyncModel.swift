/// The app's own state, as a value. The app supplies it; the library decides when to build it from
/// a snapshot and which events to apply.
///
/// Equal snapshots and equal events must give equal models. Neither `init(snapshot:)` nor
/// `apply(_:)` may use a clock, chance or anything outside.
///
/// Associated types say what else a model can do. A model that its user changes names its
/// ``Change``, and says whose changes they are and how far they are confirmed. A model that holds
/// only part of the server's data names its ``Lists``.
public protocol SyncModel<Event, Snapshot>: Sendable {
  /// The state that a server gave, atomic with a finger.
  associatedtype Snapshot: Sendable
  /// One change at the server.
  associatedtype Event: Sendable
  /// Why a snapshot or an event was refused. The library then keeps the old model and registers
  /// anew, slowly (`modelRefused`).
  associatedtype Refusal: Error
  /// What the user can do. `Never`, the default: nothing.
  associatedtype Change: Mutation = Never
  /// The lists that the model holds in part. ``NoLists``, the default: it holds everything.
  associatedtype Lists: PartialLists = NoLists

  /// Creates the model of a server's state. If it throws, the client registers anew, slowly.
  init(snapshot: Snapshot) throws(Refusal)

  /// As ``init(snapshot:)``, in place of an older model; `nil`: there is none. Only what the app
  /// takes over here survives the replacement (open lists, what was known formerly). By default
  /// nothing does.
  init(snapshot: Snapshot, replacing old: Self?) throws(Refusal)

  /// Applies one event. Events come in the order of the log, each once. If one throws, the whole
  /// batch is undone, so the model need not restore anything.
  mutating func apply(_ event: Event) throws(Refusal)

  // MARK: The user's changes; supplied where `Change` is `Never`

  /// What a client begins with, so that its user can make changes before the first answer, even
  /// offline. `nil`, the default: changes are taken from the first snapshot on.
  ///
  /// The changes are saved, and sent once a snapshot has come. It takes the place of the beginning,
  /// and must name a ``client``. The beginning itself is never *held*: nothing of it is confirmed.
  /// It usually is empty, and must not differ from one call to the next.
  static var beginning: Self? { get }

  /// The client's name at its server: ``confirmation`` is about its changes. `nil`: no changes are
  /// taken. If an earlier snapshot named a client, one that names none is refused, until the user
  /// has logged out.
  var client: ClientID? { get }

  /// How far this state contains the client's changes.
  var confirmation: MutationConfirmation { get }

  /// The state over which pending changes are replayed.
  var state: Change.State { get }

  /// Returns the partial lists of such a state, so that windows show the user's changes at once.
  /// `nil`, the default: changes do not concern lists, and windows show the confirmed ones. What is
  /// fetched depends on the confirmed lists alone.
  static func lists(in state: Change.State) -> Lists?

  /// Returns the client's change that this event echoes; `nil`, the default: none. If the server
  /// knows no IDs, an event with the client's own name for a change confirms it.
  func echo(in event: Event) -> MutationTicket?

  /// Whether this event, which the state has taken, shows that the server has run a change of the
  /// client that has left. By default none does. It serves servers that know no IDs and name a
  /// change in no event: without it, an accepted change is shown over the server's result until an
  /// answer to a later poll. Where two changes look alike, either may be confirmed.
  func shows(_ change: Change, after event: Event) -> Bool

  /// Whether the state holds what a change of the client has created, under the server's ID for it
  /// (``PushAnswer/created(_:)``). `false`, the default: only the log says so. Without it,
  /// something new that a page brings before its event shows twice: as the change, and as what it
  /// created.
  func holds(_ change: Change, created id: Int64) -> Bool

  /// Whether a change of the client has no effect in this state, for good, although its server has
  /// it. By default none is. Such a change ends as ``MutationState/overruled``, and not as
  /// acknowledged. Asked when a change is confirmed, as long as no earlier one of its object is
  /// pending. Not asked with ``MutationDelivery/exactlyOnce``: there the server refuses what can
  /// have no effect.
  func overrules(_ change: Change) -> Bool

  /// What the server does with a second copy of a change. ``MutationDelivery/exactlyOnce`` by
  /// default.
  static var delivery: MutationDelivery { get }

  /// Whether changes are taken while the client is not connected; by default they are. If not, a
  /// change throws ``MutationError/notConnected`` then.
  static var mutatesOffline: Bool { get }

  /// Why a change cannot be saved; `nil`, the default: it can. Then it is refused when it is made.
  static func objection(toStoring change: Change) -> StoredFormError?

  /// The settings of its outbox. The defaults suit most apps.
  static var outboxSettings: OutboxSettings { get }

  // MARK: Partial lists; supplied where `Lists` is `NoLists`

  /// Its partial lists. The model applies the log's events to them, in order. The client handles
  /// fetches and pages.
  var lists: Lists { get set }

  /// Takes IDs that a page has mended, of which no event will tell: they were in doubt, or the
  /// server had been wrong (``PartialLists/takeMended()``). An ID that is no longer held is gone,
  /// or out of sight. Whatever else the model says about them should become what the lists say. By
  /// default it does nothing, for a model that is only its lists.
  mutating func mended(_ ids: [Lists.ID])

  // MARK: Unloaded rows of its saved form; none by default

  /// Whether any saved rows are not in memory.
  var hasUnloaded: Bool { get }

  /// Returns the rows that must be loaded before these events are applied; none: they may be
  /// applied. Called again after a load, until it returns none.
  func unloaded(under events: [Event]) -> [RowQuery]

  /// Returns the rows to load so that a pending change shows; none: it shows as it can. The change
  /// may be applied before, and is applied again once they are loaded. What is not asked for shows
  /// when it is loaded for another reason.
  func unloaded(under change: Change) -> [RowQuery]

  /// Loads rows that were asked for, and changes nothing else. Rows that are loaded already are
  /// skipped, since they may have changed. Returns whether any row of this range was not loaded. If
  /// it throws, nothing has changed.
  ///
  /// - Parameters:
  ///   - answer: the rows that a query found.
  ///   - isSaved: whether this is the saved state, which may contain nothing that is not on disk.
  @discardableResult
  mutating func load(_ answer: RowAnswer, isSaved: Bool) throws(StoredFormError) -> Bool

  /// Gives up the unloaded rows, which cannot be read. Then only what is loaded is known.
  mutating func forgetUnloaded()
}

extension SyncModel {
  @inlinable
  public init(snapshot: Snapshot, replacing old: Self?) throws(Refusal) {
    try self.init(snapshot: snapshot)
  }

  @inlinable
  public static var beginning: Self? { nil }

  @inlinable
  public static func lists(in state: Change.State) -> Lists? { nil }

  @inlinable
  public func echo(in event: Event) -> MutationTicket? { nil }

  @inlinable
  public func shows(_ change: Change, after event: Event) -> Bool { false }

  @inlinable
  public func holds(_ change: Change, created id: Int64) -> Bool { false }

  @inlinable
  public func overrules(_ change: Change) -> Bool { false }

  @inlinable
  public static var delivery: MutationDelivery { .exactlyOnce }

  @inlinable
  public static var mutatesOffline: Bool { true }

  @inlinable
  public static func objection(toStoring change: Change) -> StoredFormError? { nil }

  @inlinable
  public static var outboxSettings: OutboxSettings { OutboxSettings() }

  @inlinable
  public mutating func mended(_ ids: [Lists.ID]) {}

  @inlinable
  public var hasUnloaded: Bool { false }

  @inlinable
  public func unloaded(under events: [Event]) -> [RowQuery] { [] }

  @inlinable
  public func unloaded(under change: Change) -> [RowQuery] { [] }

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

  /// Nothing: there is no change to replay.
  @inlinable
  public var state: Void { () }
}

/// A model that holds everything.
extension SyncModel where Lists == NoLists {
  /// No lists. What is set is ignored.
  @inlinable
  public var lists: NoLists {
    get { NoLists() }
    set {}
  }
}

/// How far a server has confirmed one client's changes, told with the state that contains them.
public struct MutationConfirmation: Hashable, Sendable {
  /// The server has processed all changes up to this one.
  @usableFromInline package var last: MutationID
  /// The last change that it refused.
  @usableFromInline package var refusal: MutationRefusal?

  /// Creates a confirmation. By default, nothing was refused.
  @inlinable
  public init(last: MutationID, refusal: MutationRefusal? = nil) {
    self.last = last
    self.refusal = refusal
  }
}

/// The answer to a poll: events in the order of the log.
public protocol EventBatch<Event>: Sendable {
  /// One change at the server, as the model applies it.
  associatedtype Event: Sendable

  /// The number of places in the batch, including those without an event for the model.
  var count: Int { get }

  /// The event at `index`, from 0 to ``count`` − 1; `nil` if it has a place in the log but nothing
  /// for the model, like a heartbeat.
  func event(at index: Int) -> Event?
}

/// A server protocol's rules about its log, as pure functions.
public protocol SyncProtocol<Place, Batch>: Sendable {
  /// The protocol's place in a log.
  associatedtype Place: Finger
  /// The protocol's answer to a poll.
  associatedtype Batch: EventBatch

  /// Decides how a batch follows on a finger.
  static func advance(_ finger: Place, over batch: Batch) -> SyncAdvance<Place>

  /// Whether push or pull comes first, if the client's user changes things. By default neither
  /// waits for the other.
  static var order: PushOrder { get }
}

/// Whether push or pull comes first. The protocol decides.
public enum PushOrder: Hashable, Sendable {
  /// Neither waits for the other. Suits a server that holds a poll open until there is news.
  case independent
  /// Push, then pull: once a push was answered, the log is asked at once, so that the pull contains
  /// what was pushed.
  case pushFirst
  /// Pull, then push: a client that is not up to date pushes nothing.
  case pullFirst
}

extension SyncProtocol {
  @inlinable
  public static var order: PushOrder { .independent }
}

/// How a batch follows on a finger.
///
/// A batch is *complete* if the server had nothing beyond it when it was read. The first page of
/// many is not complete, nor is a view from a replica that lags, nor a stream with a hole. Such a
/// batch is applied, but does not prove that the client is up to date: the client asks again soon.
public enum SyncAdvance<Place: Finger>: Equatable, Sendable {
  /// Events from index `first` on are new, and lead to this finger. `isComplete`: the server has
  /// nothing beyond it.
  case next(Place, first: Int, isComplete: Bool = true)
  /// Nothing in it is new, because there is nothing: it is empty, or a repeat.
  case seen
  /// Nothing in it is new, but the server has more, which it does not give yet.
  case incomplete
  /// It does not follow, but it is sound: the server has taken us to be elsewhere. Nothing speaks
  /// against our state, but it cannot be followed on. Handled as an expired log, spread included,
  /// and not reported.
  case lost
  /// It does not follow: another log, or an impossible order. The state must not be trusted.
  case gap
}

/// What a replica holds. *Not loaded*, *nothing* and *an empty model* are three things (SyncBugs
/// 25).
public enum Holding<Model: Sendable>: Sendable {
  /// The saved form has not been read yet.
  case unknown
  /// There is no state: none was saved, or it was erased. A client can have a *view* all the same:
  /// the user's changes over ``SyncModel/beginning``, of which the server knows nothing.
  case nothing
  /// The last state, perhaps empty. ``Freshness`` says how fresh it is.
  case model(Model)
}

extension Holding: Equatable where Model: Equatable {}

/// A replica as it is on disk. Model, finger and outbox are saved as one (SyncBugs 81).
public struct SavedReplica<Model: SyncModel, Place: Finger>: Sendable {
  /// The model as of the finger.
  @usableFromInline package var model: Model
  /// The place up to which the model has taken everything; `nil`: it was given up, and the next
  /// snapshot replaces the server's part of the model.
  @usableFromInline package var finger: Place?
  /// What the server promised with the last snapshot.
  @usableFromInline package var terms: ServerTerms
  /// The user's changes; `nil`: the model takes no changes.
  @usableFromInline package var outbox: Outbox<Model.Change>?
  /// How long before the write the model was last known to equal the server's state; `nil`:
  /// unknown. A span, because no moment of one process means anything to the next.
  @usableFromInline package var upToDateAge: TimeSpan?
  /// Whether the model is only what the client begins with: nothing of it is confirmed.
  @usableFromInline package var isBeginning: Bool

  @inlinable
  package init(
    model: Model, finger: Place?, terms: ServerTerms, outbox: Outbox<Model.Change>? = nil,
    upToDateAge: TimeSpan? = nil, isBeginning: Bool = false
  ) {
    self.isBeginning = isBeginning
    self.model = model
    self.finger = finger
    self.terms = terms
    self.outbox = outbox
    self.upToDateAge = upToDateAge
  }
}

extension SavedReplica: Equatable
where Model: Equatable, Model.Change: Equatable, Model.Change.Refusal: Equatable {}
