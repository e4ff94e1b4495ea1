public import UpdateMachine

/// The true state of a server, which clients follow, as a value.
///
/// The server half of every protocol is generic over it, so an app can simulate *its* server.
public protocol ServerTruth<Event, Snapshot>: Sendable {
  /// What clients are told of a change.
  associatedtype Event: Sendable
  /// What a client that registers starts from.
  associatedtype Snapshot: Sendable
  /// A change on the server. By default it is also the event that clients get. Use a separate type
  /// if clients get less, or nothing.
  associatedtype Change: Sendable = Event

  /// The snapshot for a client that registers now.
  var snapshot: Snapshot { get }

  /// A hash of the state: different states have different numbers, except by chance. It is read
  /// after every event, so keep it up to date, rather than compute it, where speed matters. By
  /// default it is the hash of `description`, and differences that `description` omits go
  /// unnoticed.
  var checksum: UInt64 { get }

  /// Commits one change. It cannot fail: only possible changes are committed.
  mutating func apply(_ change: Change)

  /// The event that clients get for a change that is about to be applied; `nil`: none. By default
  /// the change itself.
  func announcement(of change: Change) -> Event?

  /// Addresses a snapshot to one client. By default all clients get the same.
  static func addressed(_ snapshot: Snapshot, to client: ClientID) -> Snapshot

  /// Returns the change that a client's pushed mutation makes; throws if the mutation can never be
  /// made as it is. The default is `nil`: this server takes no pushes.
  func change(
    by mutation: NamedMutation, of client: ClientID
  ) throws(ChangeRefusal) -> Change?

  /// The ID of what a change creates, with which the server answers the push of it
  /// (`PushAnswer.created`); `nil`, the default: it only says that it has taken the push.
  func created(by change: Change) -> Int64?

  /// Merges two events, `pending` first, into one with the same effect; `nil`, the default: the
  /// server does not merge them. Zulip merges changes of the same flag in the same direction.
  static func merged(_ pending: Event, _ newer: Event) -> Event?

  /// Whether the event deletes something. The plant `forgotten-deletion` does not announce such
  /// events. By default none does, and the plant does nothing.
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

  public func created(by change: Change) -> Int64? { nil }

  public static func merged(_ pending: Event, _ newer: Event) -> Event? { nil }

  public static func isDeletion(_ event: Event) -> Bool { false }
}

extension ServerTruth where Self: CustomStringConvertible {
  public var checksum: UInt64 {
    var digest = StateDigest()
    digest.fold(description)
    return digest.value
  }
}
