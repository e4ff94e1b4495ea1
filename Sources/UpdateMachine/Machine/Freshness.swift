/// What an app may tell its user about how fresh the shown state is (TheMachine §6). A pure
/// function of the machine and the time. ``sentence(at:locale:)`` says it in the user's language.
public struct Freshness: Hashable, Sendable {
  /// The claim for the moment that was asked about.
  public var claim: Claim
  /// The latest moment at which the state is known to have equalled the server's; `nil`: unknown. A
  /// state that an earlier process has saved keeps it, as far as the wall clock tells how long ago
  /// that was. Such a moment is usually negative.
  public var upToDateAsOf: Moment?
  /// When the next attempt is due, while the client waits to register or to poll: "next try in 8
  /// s". `nil`: it does not wait. A driver's states tell the moment that was drawn; other hosts get
  /// the end of the range that they draw from.
  public var nextAttempt: Moment?

  /// What an app may tell its user.
  public enum Claim: Hashable, Sendable {
    /// The saved form has not been read yet, so nothing is known, not even that there is no state.
    case unknown
    /// Only the app can go on.
    case halted(MachineStatus.Halt)
    /// The client wants nothing from the server for now.
    case resting
    /// Up to date, or lost so recently that the user need not know.
    case connected
    /// Not up to date since then, and trying.
    case connecting(since: Moment)
    /// Not up to date since then, and an attempt has failed.
    case unreachable(since: Moment)
  }

  /// Creates a claim, and the moment at which the state was last up to date. By default, no attempt
  /// is due.
  @inlinable
  public init(_ claim: Claim, upToDateAsOf: Moment?, nextAttempt: Moment? = nil) {
    self.claim = claim
    self.upToDateAsOf = upToDateAsOf
    self.nextAttempt = nextAttempt
  }
}

extension Freshness: CustomStringConvertible {
  /// "connecting since 300, as of none".
  public var description: String {
    let asOf = upToDateAsOf.map { "\($0)" } ?? "none"
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

/// The bookkeeping behind ``Freshness``: when we were last up to date, and the current outage.
@usableFromInline
package struct Outage: Hashable, Sendable {
  /// The latest moment at which the model is known to have equalled the server's state.
  @usableFromInline package var upToDateAsOf: Moment?
  /// Since when we cannot vouch for the model; `nil` while we can. Set once per outage, so that the
  /// claim does not flicker between attempts.
  @usableFromInline package var lostSince: Moment?
  /// Whether an attempt (a request, or a write that the machine waits for) has failed since then. A
  /// snapshot, even a slow one that ends no outage, clears it.
  @usableFromInline package var hasFailed = false
  /// Whether nothing has failed since then but that the server lost everybody's logs. The client
  /// returns with the herd (TheMachine §5), and its own connection works.
  @usableFromInline package var isHerd = false

  @inlinable
  package init() {}

  /// Notes that we cannot vouch for the model from `moment` on. A current outage keeps its
  /// beginning.
  @inlinable
  package mutating func lose(at moment: Moment) {
    if lostSince == nil { lostSince = moment }
  }

  /// Restarts the outage at `moment`, when the user comes back.
  @inlinable
  package mutating func restart(at moment: Moment) {
    lostSince = moment
    hasFailed = false
    isHerd = false
  }

  /// Notes a failed attempt: we cannot vouch for the model, and the user may hear why.
  @inlinable
  package mutating func fail(at moment: Moment) {
    lose(at: moment)
    hasFailed = true
    isHerd = false
  }

  /// Notes an answer which proves that the model equalled the server's state at `moment`.
  @inlinable
  package mutating func recover(upToDateAsOf moment: Moment) {
    upToDateAsOf = moment
    lostSince = nil
    hasFailed = false
    isHerd = false
  }
}
