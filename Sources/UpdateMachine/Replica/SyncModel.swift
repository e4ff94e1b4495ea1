// Replica: the room where an app's model, its place in the server's log and the machine are one
// value, so that they change together or not at all. It may use Machine and Values; it imports
// nothing.

/// The app's own state, as a value. The app supplies it; the library decides when to build it from
/// a snapshot and which events to apply.
///
/// Same snapshot and same events, same model: neither function may look at a clock, at chance or
/// at anything outside.
public protocol SyncModel: Sendable {
  /// The state that a server gave, atomic with a finger.
  associatedtype Snapshot: Sendable
  /// One change.
  associatedtype Event: Sendable
  /// Why a snapshot or an event could not be taken. The library then keeps the model that it had
  /// and registers anew, slowly (`modelRefused`).
  associatedtype Refusal: Error

  init(snapshot: Snapshot) throws(Refusal)

  /// As ``init(snapshot:)``, in place of an older model. What an app keeps across the change (lists
  /// that are open, what was known formerly) is taken over here, and nothing else. By default nothing
  /// is. `nil`: there is no older one.
  init(snapshot: Snapshot, replacing old: Self?) throws(Refusal)

  /// Applies one event. Events come in the order of the log, each once. If one throws, the whole
  /// batch is undone, so the model need not tidy up.
  mutating func apply(_ event: Event) throws(Refusal)

  /// Whether it wants to hear of polls, by ``asked()`` and ``answered()``. By default it does not.
  static var hearsOfPolls: Bool { get }

  /// A poll has left.
  mutating func asked()

  /// The poll's answer has been applied, all of it, as the server made it; it may have been empty.
  mutating func answered()

  /// The snapshot that it was just made from was asked for at `sent`: what a server had said before that
  /// it has is in it. Told before anybody sees the model. By default it is nothing to it.
  mutating func snapshotWasAsked(at sent: Moment)

  /// It was read from the saved form of an earlier life: what was out then is answered no more.
  mutating func restored()

  /// Whether it is saved though it has no finger any more: it holds what is nowhere else, as what its
  /// user changed is. By default it is not: the next snapshot brings all of it.
  static var isSavedWithoutFinger: Bool { get }
}

extension SyncModel {
  @inlinable
  public init(snapshot: Snapshot, replacing old: Self?) throws(Refusal) {
    try self.init(snapshot: snapshot)
  }

  @inlinable
  public static var hearsOfPolls: Bool { false }

  @inlinable
  public mutating func asked() {}

  @inlinable
  public mutating func answered() {}

  @inlinable
  public mutating func snapshotWasAsked(at sent: Moment) {}

  @inlinable
  public mutating func restored() {}

  @inlinable
  public static var isSavedWithoutFinger: Bool { false }
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

/// A replica as it is on disk. Model and finger are one thing there, too (BUGS 81).
public struct SavedReplica<Model: SyncModel, Place: Finger>: Sendable {
  /// The model as of the finger.
  public var model: Model
  /// The place up to which the model has taken everything; `nil`: it was given up, and the next
  /// snapshot replaces what the model has of the server.
  public var finger: Place?
  /// What the server promised with the last snapshot.
  public var terms: Terms

  @inlinable
  public init(model: Model, finger: Place?, terms: Terms) {
    self.model = model
    self.finger = finger
    self.terms = terms
  }
}

extension SavedReplica: Equatable where Model: Equatable {}
