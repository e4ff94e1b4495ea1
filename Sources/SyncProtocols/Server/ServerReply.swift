public import UpdateMachine

/// An answer of the server, still as the transport brings it: a client half has to classify it.
public enum ServerReply<Snapshot: Sendable, Sync: SyncProtocol>: Sendable {
  case registered(Snapshot, Sync.Place, Terms)
  case batch(Sync.Batch)
  /// The release was done.
  case released
  /// Anything but a success.
  case refused(ServerAnswer)
}

extension ServerReply {
  /// What the client half makes of it; `nil`: a success.
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
  /// The token that the poll was given with.
  public var waiter: UInt64
  /// What it is answered with.
  public var reply: ServerReply<Snapshot, Sync>

  @inlinable
  public init(waiter: UInt64, reply: ServerReply<Snapshot, Sync>) {
    self.waiter = waiter
    self.reply = reply
  }
}
