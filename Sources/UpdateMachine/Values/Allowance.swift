/// A budget that refills by one every so often: the generic cell rate algorithm (ITU-T I.371),
/// which is a leaky bucket kept as one moment.
///
/// Both budgets of the machine are one of these: the *pace* of requests and the *wake-ups*.
/// `burst + 1` can be spent at once, then one per interval; so in any window *w* at most
/// `burst + 1 + w / interval`.
public struct Allowance: Hashable, Sendable {
  /// When everything spent so far will have been refilled.
  @usableFromInline var level: Moment

  /// Full.
  @inlinable
  public init() { level = .distantPast }

  /// With everything that was spent refilled by then.
  @inlinable
  init(level: Moment) { self.level = level }

  /// The first moment at which one more may be spent.
  @inlinable
  public func ready(burst: Int64, interval: TimeSpan) -> Moment {
    level - interval * burst
  }

  /// Spends one, whether or not there is one.
  @inlinable
  public mutating func spend(at now: Moment, interval: TimeSpan) {
    level = max(now, level) + interval
  }

  /// Spends one if there is one; says whether it did.
  @inlinable
  public mutating func trySpending(at now: Moment, burst: Int64, interval: TimeSpan) -> Bool {
    guard now >= ready(burst: burst, interval: interval) else { return false }
    spend(at: now, interval: interval)
    return true
  }
}
