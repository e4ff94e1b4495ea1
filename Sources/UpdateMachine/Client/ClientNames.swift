/// Where a client's name at its server comes from. The server counts a client's changes under its
/// name. So the name must be drawn once, kept as long as the saved form, and drawn anew after a
/// log-out.
public enum ClientNames: Hashable, Sendable {
  /// The client draws its names from this number, which must be random, and another at each start.
  /// A name is saved with the user's changes before the first of them leaves. A log-out ends it. It
  /// has at most 53 bits, so that every language can read it as a JSON number.
  case drawn(seed: UInt64)
  /// The app brings the name. It must be random, used with one store only, and kept and erased
  /// together with it. With another name at each start, changes that may have left are set aside
  /// (``RejectionCode/nameLost``). With the old name after a log-out, new changes go on from the
  /// last ID that the snapshot tells; if it tells none, they count as run. With the name of another
  /// client, each takes the other's changes for its own.
  case own(ClientID)
}

extension SyncClient {
  /// The name under which the client registers; `nil`: it was given none.
  public var name: ClientID? {
    switch names {
    case .own(let name): return name
    case .drawn(let seed):
      if let owner = outbox?.client, owner != .nameless { return owner }
      return ClientID(max(1, StateDigest.mixed(seed &+ nameCount) >> 11))
    case nil: return nil
    }
  }
}
