/// What an app may tell its user about the state it shows (MACHINE §6): a pure function of what the
/// machine knows and of the time.
public struct Freshness: Hashable, Sendable {
  /// What may be said at the moment that was asked about.
  public var claim: Claim
  /// The latest moment at which the state is known to have been the server's; `nil`: never.
  public var levelAsOf: Moment?

  /// What an app may tell its user.
  public enum Claim: Hashable, Sendable {
    /// The saved form has not been read yet: nothing is known, not even that there is nothing.
    case unknown
    /// Only the app can go on.
    case halted(MachineStatus.Halt)
    /// Nothing is wanted of the server for now.
    case resting
    /// Level, or so recently that nobody needs to hear of it.
    case connected
    /// Not level since then, and trying.
    case connecting(since: Moment)
    /// Not level since then, and an attempt has failed.
    case unreachable(since: Moment)
  }

  @inlinable
  public init(_ claim: Claim, levelAsOf: Moment?) {
    self.claim = claim
    self.levelAsOf = levelAsOf
  }
}

extension Freshness: CustomStringConvertible {
  /// "connecting since 300, as of none".
  public var description: String {
    let asOf = levelAsOf.map { "\($0)" } ?? "none"
    return "\(claim), as of \(asOf)"
  }
}

extension Freshness.Claim: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknown: "unknown"
    case .halted(let halt): "halted(\(halt))"
    case .resting: "resting"
    case .connected: "connected"
    case .connecting(let since): "connecting since \(since)"
    case .unreachable(let since): "unreachable since \(since)"
    }
  }
}

/// The bookkeeping behind ``Freshness``: when we were last level, and the outage that is going on.
public struct Outage: Hashable, Sendable {
  /// The latest moment at which the model is known to have been the server's state.
  public var levelAsOf: Moment?
  /// Since when we cannot vouch for the model; `nil` while we can. Set once per outage, so that the
  /// claim does not flicker between two attempts.
  public var lostSince: Moment?
  /// Whether an attempt failed since then.
  public var hasFailed = false

  @inlinable
  public init() {}

  /// Something happened after which we cannot vouch for the model. An outage that is going on goes
  /// on from where it began.
  @inlinable
  public mutating func lose(at moment: Moment) {
    if lostSince == nil { lostSince = moment }
  }

  /// The user comes back: the outage is counted from here.
  @inlinable
  public mutating func restart(at moment: Moment) {
    lostSince = moment
    hasFailed = false
  }

  /// An attempt failed: we cannot vouch for the model, and the user may hear why.
  @inlinable
  public mutating func fail(at moment: Moment) {
    lose(at: moment)
    hasFailed = true
  }

  /// An answer proved that the model was the server's state at `moment`.
  @inlinable
  public mutating func recover(levelAsOf moment: Moment) {
    levelAsOf = moment
    lostSince = nil
    hasFailed = false
  }
}
