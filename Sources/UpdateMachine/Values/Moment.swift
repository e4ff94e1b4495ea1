// Values: the lowest room. It owns the vocabulary of every other room: moments and spans of time,
// identifiers, budgets, backoffs, a hash and a generator. Everything here is a plain value and
// knows nothing of servers. It imports nothing.
//
// Values may use: no other room.

/// A point on one process's own clock, in whole milliseconds.
///
/// The clock never jumps and counts sleep (`CLOCK_BOOTTIME`, `ContinuousClock`). Its zero has no
/// meaning. A moment may be negative: the moment when a restored state was written usually is.
/// Arithmetic saturates, so no number from a server can trap.
public struct Moment: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// Milliseconds since the clock's zero; negative before it.
  public var milliseconds: Int64

  /// Creates the moment at which the clock shows this many milliseconds.
  @inlinable
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Earlier than every moment that a clock shows.
  @inlinable
  package static var distantPast: Moment { Moment(milliseconds: .min) }

  @inlinable
  public static func < (one: Moment, other: Moment) -> Bool {
    one.milliseconds < other.milliseconds
  }

  /// Returns the moment that is a span later, or the last one there is.
  @inlinable
  public static func + (moment: Moment, span: TimeSpan) -> Moment {
    Moment(milliseconds: moment.milliseconds.addingSaturated(span.milliseconds))
  }

  @inlinable
  package static func - (moment: Moment, span: TimeSpan) -> Moment {
    Moment(milliseconds: moment.milliseconds.subtractingSaturated(span.milliseconds))
  }

  /// The time from `earlier` to `later`; negative if they are swapped.
  @inlinable
  public static func - (later: Moment, earlier: Moment) -> TimeSpan {
    TimeSpan(milliseconds: later.milliseconds.subtractingSaturated(earlier.milliseconds))
  }
}

/// A range of moments, both ends included. The host draws one from it; the machine itself draws
/// nothing (TheMachine §1).
public struct MomentRange: BitwiseCopyable, Hashable, Sendable {
  /// The first moment that may be drawn.
  public var earliest: Moment
  /// The last moment that may be drawn; not before ``earliest``.
  public var latest: Moment

  @inlinable
  package init(from earliest: Moment, to latest: Moment) {
    self.earliest = earliest
    self.latest = latest
  }

  @inlinable
  package init(at moment: Moment) { self.init(from: moment, to: moment) }
}

extension Int64 {
  @inlinable
  internal func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  @inlinable
  internal func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  @inlinable
  internal func multipliedSaturated(_ other: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}

extension Moment: CustomStringConvertible {
  /// Whole milliseconds: "60000".
  public var description: String { "\(milliseconds)" }
}

extension MomentRange {
  /// Returns how long until then, as seen at `now`: "in 60 s"; "in (0, 0.8 s]" if any moment after
  /// now will do; "in [54.37 s, 59.8 s]".
  package func text(at now: Moment) -> String {
    let last = latest - now
    guard earliest != latest else { return "in \(last)" }
    guard earliest - now != .milliseconds(1) else { return "in (0, \(last)]" }
    return "in [\(earliest - now), \(last)]"
  }
}
