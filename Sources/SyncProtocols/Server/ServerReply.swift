public import UpdateMachine

/// A server's answer as the transport delivers it. A client half classifies it.
public enum ServerReply<Snapshot: Sendable, Sync: SyncProtocol>: Sendable {
  /// A register succeeded: the snapshot, the first finger, and the server's terms.
  case registered(Snapshot, Sync.Place, ServerTerms)
  /// A poll succeeded. The batch may be empty.
  case batch(Sync.Batch)
  /// The release succeeded.
  case released
  /// Anything but a success.
  case refused(ServerAnswer)
}

extension ServerReply {
  /// The failure that the reply means to a client; `nil`: it is a success.
  @inlinable
  public func failure() -> SyncFailure? {
    switch self {
    case .registered, .batch, .released: nil
    case .refused(let answer): answer.failure()
    }
  }
}

/// The end of a wait at a server.
public struct EndedWait<Snapshot: Sendable, Sync: SyncProtocol>: Sendable {
  /// The token that was given with the poll.
  public var waiter: UInt64
  /// The answer to the poll.
  public var reply: ServerReply<Snapshot, Sync>

  @inlinable
  package init(waiter: UInt64, reply: ServerReply<Snapshot, Sync>) {
    self.waiter = waiter
    self.reply = reply
  }
}
