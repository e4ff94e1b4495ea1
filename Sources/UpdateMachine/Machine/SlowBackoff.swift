/// The backoff of failures that cost the server much: refused state, lost logs, failed registers.
///
/// Only time resets it (MACHINE §5, *nS*): not a snapshot, not a poll, for a server that gives good
/// snapshots and then refuses what follows would be stormed. Story: a quick poll is good, then an
/// event is refused, for ever: 1,041 requests in ten minutes without this rule, 44 with it.
public struct SlowBackoff: Hashable, Sendable {
  @usableFromInline var backoff = Backoff()
  /// When the last slow failure was, and how long a wait it got.
  @usableFromInline var lastFailure: Moment?
  @usableFromInline var lastWait: TimeSpan = .zero

  @inlinable
  public init() {}

  /// A slow failure at `now`: the wait it gets. Short again if the last one was longer ago than the
  /// healthy time and the wait that this one would get.
  @inlinable
  public mutating func take(at now: Moment, settings: MachineSettings) -> TimeSpan {
    let next = backoff.next(first: settings.slowFirst, cap: settings.slowCap)
    if let lastFailure, now - lastFailure > settings.healthy + next { backoff.reset() }
    lastFailure = now
    lastWait = backoff.take(first: settings.slowFirst, cap: settings.slowCap)
    return lastWait
  }

  /// What is left of the last wait, whatever was drawn from it; zero or less if it is over.
  @inlinable
  public func left(at now: Moment) -> TimeSpan {
    guard let lastFailure else { return .zero }
    return lastFailure + lastWait - now
  }
}
