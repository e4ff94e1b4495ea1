/// A budget that refills by one per interval: a leaky bucket kept as one moment (the generic cell
/// rate algorithm, ITU-T I.371).
///
/// The machine has two budgets: the *pace* of requests and the *wakes*. `burst + 1` can be spent at
/// once, then one per interval. So any window *w* sees at most `burst + 1 + w / interval`.
@usableFromInline
package struct TokenBucket: Hashable, Sendable {
  /// When everything spent so far will have been refilled.
  @usableFromInline var level: Moment

  /// A full budget.
  @inlinable
  package init() { level = .distantPast }

  /// A budget that is full again at `level`.
  @inlinable
  init(level: Moment) { self.level = level }

  /// The first moment at which one more may be spent.
  @inlinable
  package func ready(burst: Int64, interval: TimeSpan) -> Moment {
    level - interval * burst
  }

  /// Spends one, even if none is left.
  @inlinable
  package mutating func spend(at now: Moment, interval: TimeSpan) {
    level = max(now, level) + interval
  }

  /// Spends one if one is left; returns whether it did.
  @inlinable
  package mutating func trySpending(at now: Moment, burst: Int64, interval: TimeSpan) -> Bool {
    guard now >= ready(burst: burst, interval: interval) else { return false }
    spend(at: now, interval: interval)
    return true
  }
}
