public import UpdateMachine

/// What a server is the truth about: the state that clients keep up with, as a value.
///
/// The server half of every protocol is generic over it, so that an app can simulate *its* server.
public protocol ServerTruth: Sendable {
  associatedtype Event: Sendable
  associatedtype Snapshot: Sendable
  /// What happens on the server. By default it is what clients are told; where they are told less, or
  /// nothing, it is a type of its own.
  associatedtype Change: Sendable = Event

  /// What a client that registers now is given.
  var snapshot: Snapshot { get }

  /// A number that differs where two states differ, but for chance. Asked after every event, so it
  /// should be kept, not computed, where speed matters. By default that of the `description`: what
  /// that does not tell is then not compared.
  var checksum: UInt64 { get }

  /// Commits one change. Never fails: only what can happen is committed.
  mutating func apply(_ change: Change)

  /// What clients are told of a change that is about to be applied; `nil`: nothing. By default the
  /// change itself.
  func announcement(of change: Change) -> Event?

  /// A snapshot for the client of this name. By default the same for everybody.
  static func addressed(_ snapshot: Snapshot, to client: ClientID) -> Snapshot

  /// What a mutation that a client pushes changes here; throws if it never will, as it is. `nil`, the
  /// default: nobody pushes anything to this server.
  func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> Change?

  /// One event that does what these two do, `pending` first; `nil` if the server does not merge
  /// such events, which is the default. Zulip merges flag changes of one flag and one direction.
  static func merged(_ pending: Event, _ newer: Event) -> Event?

  /// Whether the event takes something away, for the server that forgets to say so (the plant
  /// `forgotten-deletion`). By default none does, and that plant has nothing to forget.
  static func isDeletion(_ event: Event) -> Bool
}

extension ServerTruth where Change == Event {
  public func announcement(of change: Change) -> Event? { change }
}

extension ServerTruth {
  public static func addressed(_ snapshot: Snapshot, to client: ClientID) -> Snapshot { snapshot }

  public func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> Change? { nil }

  public static func merged(_ pending: Event, _ newer: Event) -> Event? { nil }

  public static func isDeletion(_ event: Event) -> Bool { false }
}

extension ServerTruth where Self: CustomStringConvertible {
  public var checksum: UInt64 {
    var digest = Digest()
    digest.fold(description)
    return digest.value
  }
}
