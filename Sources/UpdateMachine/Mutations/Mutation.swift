// Mutations: the room of the local changes: what the user changed and the server has not
// confirmed. It owns the outbox, the view (confirmed state with what is pending replayed over it)
// and the questions that an app asks of the view. It imports nothing.
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
/// It is run when the user makes it, and again over every newer confirmed state for as long as it is
/// pending; the server runs its own of the same name. It may do something else each time: an hour
/// that was free when it was reserved may be taken by then. What the server makes of it is what holds
/// in the end. Same state and same mutation, same effect: it looks at no clock, at no chance and at
/// nothing outside; what it needs of them is among its arguments.
///
/// Source: the mutators of Replicache's design document ("Conflicts").
public protocol Mutation: Sendable {
  /// What it changes: the confirmed state. Values of ``VersionedMap``, so that forking one costs
  /// nothing.
  associatedtype State: Sendable
  /// What it tells the app that made it.
  associatedtype Value: Sendable
  /// Why it cannot be done.
  associatedtype Refusal: Error & Sendable

  /// What the server knows it by; also for logs.
  var name: String { get }

  /// What it adds to the size of an outbox, in the app's own measure (bytes, say). By default 0: only
  /// the number of mutations is bounded. Below 0 counts as 0, and above 2⁴⁰ as that.
  var size: Int64 { get }

  /// Makes the change. It sees what it has written itself. If it throws, it has had no effect: the
  /// state that it was given is thrown away.
  func apply(to state: inout State) throws(Refusal) -> Value

  /// Whether there can be one at all: not of `Never`, the mutation of a model that takes no changes.
  static var isPossible: Bool { get }

  /// One mutation with the effect of both, `later` coming right after this; `nil`: they stay two.
  /// By default they do. Asked only while neither has been sent. From then on they are one: whoever
  /// edits or discards either does it to both.
  func coalesced(with later: Self) -> Self?
}

extension Mutation {
  @inlinable
  public var size: Int64 { 0 }

  @inlinable
  public static var isPossible: Bool { true }

  @inlinable
  public func coalesced(with later: Self) -> Self? { nil }

  /// Of these millions can be added.
  @inlinable
  var boundedSize: Int64 { min(max(size, 0), 1 << 40) }
}

/// The mutation of a model that its user does not change.
extension Never: Mutation {
  @inlinable
  public static var isPossible: Bool { false }

  public var name: String { switch self {} }

  public func apply(to state: inout Void) throws(Never) {}
}

/// The app's handle on one of its mutations. Tickets of one outbox count up from 1, for ever, and
/// are never used again; a mutation that is edited or tried again keeps its own.
public struct MutationTicket: BitwiseCopyable, Hashable, Comparable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }

  @inlinable
  public static func < (one: MutationTicket, other: MutationTicket) -> Bool {
    one.number < other.number
  }
}

/// Names one mutation of one client to its server. They count up from 1 without holes, in the order
/// in which mutations are sent; so what the server has run is told by the last.
///
/// Numbers above 2⁶² become that: so far nobody counts, and however far a server says that it has
/// come, there are more.
public struct MutationID: BitwiseCopyable, Hashable, Comparable, Sendable {
  public let number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = Swift.min(number, 1 << 62) }

  @inlinable
  init(counting number: UInt64) { self.number = number }

  /// Before the first.
  @inlinable
  public static var none: MutationID { MutationID(0) }

  @inlinable
  public var next: MutationID { MutationID(counting: number + 1) }

  /// Not for the first.
  @inlinable
  var previous: MutationID { MutationID(counting: number - 1) }

  @inlinable
  public static func < (one: MutationID, other: MutationID) -> Bool { one.number < other.number }
}

/// Names an outbox to its server. Drawn once, when the outbox is made, and saved with it: two that
/// had the same would take each other's mutations for their own.
public struct ClientID: BitwiseCopyable, Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// Counts the changes of an outbox that must be durable before something is sent. What is saved is
/// the outbox as of one of these.
public struct OutboxVersion: BitwiseCopyable, Hashable, Comparable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }

  @inlinable
  public static func < (one: OutboxVersion, other: OutboxVersion) -> Bool {
    one.number < other.number
  }
}

/// A mutation that the server will never run, and why.
public struct MutationRefusal: Hashable, Sendable {
  public var id: MutationID
  public var code: RejectionCode

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
  public var description: String { "v\(number)" }
}

extension MutationRefusal: CustomStringConvertible {
  public var description: String {
    code.text.isEmpty ? "refused \(id)" : "refused \(id) (\(code.text))"
  }
}
