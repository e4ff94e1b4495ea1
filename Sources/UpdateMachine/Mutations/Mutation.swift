// Mutations: the room of local changes, which the server has not confirmed yet. It owns the outbox,
// the view (confirmed state with pending mutations replayed over it) and the queries that an app
// makes of the view. It imports nothing.
//
// Mutations may use: Machine, Stored, Values, VersionedMap.

/// A local change as intent: a name and its arguments, not its effects. Usually an enum of the app.
///
///     enum Edit: Mutation {
///       case rename(Item, String)
///       case reserve(Hour)
///       …
///     }
///
/// It runs when the user makes it, and again over every newer confirmed state while it is pending.
/// The server runs its own mutation of the same name, and the server's result counts. Two runs may
/// do different things: an hour that was free when it was reserved may be taken later. But the same
/// mutation over the same state must have the same effect. So it reads no clock, no random numbers
/// and nothing outside the state. Such values are among its arguments.
///
/// Source: the mutators of Replicache's design document ("Conflicts").
public protocol Mutation<State>: Sendable {
  /// The state that it changes. Made of ``VersionedMap`` values, so that a fork costs nothing.
  associatedtype State: Sendable
  /// The result for the app that made it.
  associatedtype Value: Sendable
  /// The reason why it cannot be done.
  associatedtype Refusal: Error & Sendable

  /// The name that the server knows; also for logs.
  var name: String { get }

  /// Its contribution to the outbox's size, in the app's own measure (bytes, say). Clamped to
  /// 0…2⁴⁰. By default 0: only the number of mutations is bounded.
  var size: Int64 { get }

  /// What names the thing that a mutation is about.
  associatedtype Object: Hashable & Sendable = Never

  /// The one thing that it is about; `nil`, the default: none, or several. Mutations of different
  /// things must have the same effect in either order. Then two of one thing can be coalesced
  /// though others stand between them.
  var object: Object? { get }

  /// Notes in the mutation what its maker sees, for example how far this state is confirmed, or
  /// which of the client's mutations it is. Called once when the user makes it, and at each edit,
  /// before it is applied. By default it does nothing.
  ///
  /// - Parameters:
  ///   - state: what its maker sees.
  ///   - ticket: counts up over all mutations of the outbox. An edited mutation keeps its ticket.
  ///   - old: the mutation that an edit replaces, if a later one of the same ``object`` is in the
  ///     outbox, which its user made over this one. Or this one itself, as it was made first, if it
  ///     was undone before it left, and is redone: its ticket is a new one. Otherwise `nil`.
  mutating func stamp(from state: State, ticket: MutationTicket, inPlaceOf old: Self?)

  /// Makes the change. It sees its own writes. If it throws, it has no effect: its copy of the
  /// state is thrown away.
  func apply(to state: inout State) throws(Refusal) -> Value

  /// Whether a second copy does no harm at a server that recognises none
  /// (``MutationDelivery/atMostOnce``). Then a mutation without an answer is sent again, and not
  /// uncertain: setting a flag twice is setting it once, sending a letter twice is not. A copy that
  /// comes late may bring back what was changed since. By default `false`. Not asked with other
  /// deliveries.
  var isIdempotent: Bool { get }

  /// The ID above which the server will number what this change creates: the greatest in this
  /// state. `nil`, the default: what it creates cannot be found again.
  ///
  /// Asked when the change is about to leave, with ``MutationDelivery/atMostOnce``. If it then ends
  /// without an answer, its source is asked to find what it has created
  /// (``PushRequest/seeksAbove``), before the app is told that it is uncertain.
  func createsAbove(in state: State) -> Int64?

  /// Whether a value of this type can exist. False for `Never`, the mutation of a model without
  /// changes.
  static var isPossible: Bool { get }

  /// Whether the confirmed state has made it pointless, if it throws this in a replay: what it
  /// would change was deleted, say, and the deletion wins. Then it leaves the outbox for good, as
  /// ``MutationState/overruled``. By default `false`: it is set aside, and may pass later.
  func isOverruled(by refusal: Refusal) -> Bool

  /// Returns one mutation with the effect of this one followed by `later`; `nil` (the default)
  /// keeps both. Asked only while neither has been sent: for the last mutation made, or for any of
  /// the same ``object``. From then on they are one, in the place of the earlier: an edit or a
  /// discard of either applies to both.
  func coalesced(with later: Self) -> Self?

  /// Returns the change that undoes this one; `nil`, the default: this one cannot be undone, or had
  /// no effect. What counts is its effect, which led from `before` to `after`, and not what was
  /// meant.
  ///
  /// It is made later, when others may have changed the same thing. So it carries what it expects
  /// to find, and throws if it finds something else: *the title was "Milk"; make it "Eggs" again if
  /// it still is "Bread"*. Then nobody's later work is undone. Its own inverse is the redo. The
  /// server runs it as any mutation, and keeps the same condition.
  func inverse(from before: State, to after: State) -> Self?
}

extension Mutation {
  @inlinable
  public var size: Int64 { 0 }

  @inlinable
  public static var isPossible: Bool { true }

  @inlinable
  public mutating func stamp(from state: State, ticket: MutationTicket, inPlaceOf old: Self?) {}

  @inlinable
  public var isIdempotent: Bool { false }

  @inlinable
  public func createsAbove(in state: State) -> Int64? { nil }

  @inlinable
  public func isOverruled(by refusal: Refusal) -> Bool { false }

  @inlinable
  public func coalesced(with later: Self) -> Self? { nil }

  @inlinable
  public func inverse(from before: State, to after: State) -> Self? { nil }

  /// Clamped so that millions of them can be added without overflow.
  @inlinable
  var boundedSize: Int64 { min(max(size, 0), 1 << 40) }
}

/// A mutation that names no object.
extension Mutation where Object == Never {
  /// None: it is coalesced only with the last mutation made.
  @inlinable
  public var object: Never? { nil }
}

/// How often a mutation takes effect at the server, if nothing refuses it. That depends on what the
/// server does with a second copy, because an answer can always be lost.
public enum MutationDelivery: Hashable, Sendable {
  /// The server counts each client's IDs, runs each ID once, and says in its state which was the
  /// last (``MutationConfirmation``). A mutation without an answer is sent again.
  case exactlyOnce
  /// A second copy has no effect, even if it comes late, after later mutations. A mutation without
  /// an answer is sent again. Once accepted, it leaves the outbox with an answer to a poll or a
  /// register that was sent later.
  case atLeastOnce
  /// The server would run a second copy. Mutations are sent one at a time. One without an answer is
  /// uncertain, unless the server is found to have it (``Mutation/createsAbove(in:)``). It is sent
  /// again only if the app says so, or if it is idempotent (``Mutation/isIdempotent``). Once
  /// accepted, it leaves the outbox with its echo (``SyncModel/echo(in:)``), or with an answer to a
  /// poll or a register that was sent later. One that is refused or uncertain holds back those of
  /// the same ``Mutation/object`` only, or all if either names none.
  case atMostOnce
}

/// The mutation of a model that has no local changes.
extension Never: Mutation {
  @inlinable
  public static var isPossible: Bool { false }

  public var name: String { switch self {} }

  public func apply(to state: inout Void) throws(Never) {}
}

/// The app's handle on one of its mutations. An outbox counts its tickets up from 1 and never
/// reuses one. A mutation that is edited or retried keeps its ticket.
public struct MutationTicket: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The place in the order in which the mutations were made. 1 is the first.
  public var number: UInt64

  /// Creates a ticket from a saved or echoed number.
  @inlinable
  public init(_ number: UInt64) { self.number = number }

  @inlinable
  public static func < (one: MutationTicket, other: MutationTicket) -> Bool {
    one.number < other.number
  }
}

/// A mutation's number at the server. Each client counts them up from 1 without holes, in the order
/// of sending. So the last ID alone tells which mutations the server has run.
///
/// Numbers above 2⁶² are clamped to it. No client counts that far, and whatever ID a server
/// reports, there are IDs above it.
public struct MutationID: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The place in the order of sending, from 1 on; 0 precedes the first.
  public let number: UInt64

  /// Creates an ID; a number above 2⁶² becomes 2⁶².
  @inlinable
  public init(_ number: UInt64) { self.number = Swift.min(number, 1 << 62) }

  @inlinable
  init(counting number: UInt64) { self.number = number }

  /// Precedes the first ID.
  @inlinable
  package static var none: MutationID { MutationID(0) }

  @inlinable
  package var next: MutationID { MutationID(counting: number + 1) }

  /// Not defined for ``none``.
  @inlinable
  var previous: MutationID { MutationID(counting: number - 1) }

  @inlinable
  public static func < (one: MutationID, other: MutationID) -> Bool { one.number < other.number }
}

/// A count of the outbox's changes that must be durable before something is sent. A saved form is
/// the outbox as of one version.
@usableFromInline
package struct OutboxVersion: BitwiseCopyable, Hashable, Comparable, Sendable {
  @usableFromInline package var number: UInt64

  @inlinable
  package init(_ number: UInt64) { self.number = number }

  @inlinable
  package static func < (one: OutboxVersion, other: OutboxVersion) -> Bool {
    one.number < other.number
  }
}

/// A mutation that the server will never run, and the reason code.
public struct MutationRefusal: Hashable, Sendable {
  /// The refused mutation.
  @usableFromInline package var id: MutationID
  /// The refuser's reason; an empty one if it gave none.
  @usableFromInline package var code: RejectionCode

  /// Creates the refusal of a mutation, by default without a code.
  @inlinable
  public init(_ id: MutationID, _ code: RejectionCode = .none) {
    self.id = id
    self.code = code
  }
}

extension MutationTicket: CustomStringConvertible {
  public var description: String { "#\(number)" }
}

extension MutationID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension ClientID: CustomStringConvertible {
  public var description: String { "client \(number)" }
}

extension OutboxVersion: CustomStringConvertible {
  @usableFromInline package var description: String { "v\(number)" }
}

extension MutationRefusal: CustomStringConvertible {
  public var description: String {
    code.text.isEmpty ? "refused \(id)" : "refused \(id) (\(code.text))"
  }
}
