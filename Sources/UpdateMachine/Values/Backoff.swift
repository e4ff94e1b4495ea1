/// How long to wait after the next failure: doubles from `first` to `cap`. The machine decides when
/// to reset it (TheMachine §5, *nT* and *nS*).
///
/// With the transient default (100 ms, 10 s) the waits are 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10,
/// 10 … s; with the slow one (1 s, 60 s) they are 1, 2, 4, 8, 16, 32, 60, 60 … s.
@usableFromInline
package struct Backoff: Hashable, Sendable {
  /// The largest exponent. More would never matter (2²⁰ × 100 ms is 29 hours) and could only
  /// overflow (SyncBugs 3).
  @inlinable
  package static var exponentMaximum: UInt8 { 20 }

  /// How many waits were taken since the last reset, up to ``exponentMaximum``.
  @inlinable
  package var exponent: UInt8 { count }

  @usableFromInline var count: UInt8

  @inlinable
  package init() { self.init(exponent: 0) }

  @inlinable
  package init(exponent: UInt8) { count = Swift.min(exponent, Backoff.exponentMaximum) }

  /// Returns what the next wait would be: from `first`, never more than `cap`.
  @inlinable
  package func next(first: TimeSpan, cap: TimeSpan) -> TimeSpan {
    first.doubled(times: Int64(count), cap: cap)
  }

  /// Returns the next wait, and doubles the one after it.
  @inlinable
  package mutating func take(first: TimeSpan, cap: TimeSpan) -> TimeSpan {
    let wait = next(first: first, cap: cap)
    lengthen()
    return wait
  }

  /// Counts one more failure.
  @inlinable
  package mutating func lengthen() {
    count = Swift.min(count + 1, Backoff.exponentMaximum)
  }

  @inlinable
  package mutating func reset() { count = 0 }
}
