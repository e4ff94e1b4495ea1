// Values: the lowest room. It owns the vocabulary of every other room: moments and spans of time,
// identifiers, budgets, backoffs, and a hash. Everything here is a plain value and knows nothing of
// servers. It imports nothing.
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

/// A length of time in whole milliseconds. Arithmetic saturates.
public struct TimeSpan: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// The length in milliseconds; negative if it leads back.
  public var milliseconds: Int64

  @inlinable
  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Returns a span of this many milliseconds.
  @inlinable
  public static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(milliseconds: count) }

  /// Returns a span of this many seconds, or the longest one there is.
  @inlinable
  public static func seconds(_ count: Int64) -> TimeSpan {
    TimeSpan(milliseconds: count.multipliedSaturated(1000))
  }

  /// Returns a span of this many minutes, or the longest one there is.
  @inlinable
  package static func minutes(_ count: Int64) -> TimeSpan {
    TimeSpan(milliseconds: count.multipliedSaturated(60_000))
  }

  /// No time at all.
  @inlinable
  package static var zero: TimeSpan { TimeSpan(milliseconds: 0) }

  /// Longer than any wait.
  @inlinable
  package static var forever: TimeSpan { TimeSpan(milliseconds: .max) }

  @inlinable
  public static func < (one: TimeSpan, other: TimeSpan) -> Bool {
    one.milliseconds < other.milliseconds
  }

  @inlinable
  package static func + (one: TimeSpan, other: TimeSpan) -> TimeSpan {
    TimeSpan(milliseconds: one.milliseconds.addingSaturated(other.milliseconds))
  }

  @inlinable
  package static func * (span: TimeSpan, count: Int64) -> TimeSpan {
    TimeSpan(milliseconds: span.milliseconds.multipliedSaturated(count))
  }

  /// This span doubled `times` times, but never more than `cap`.
  @inlinable
  package func doubled(times: Int64, cap: TimeSpan) -> TimeSpan {
    let factor = Int64(1) << Swift.min(Swift.max(times, 0), 62)
    return Swift.min(cap, self * factor)
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

extension TimeSpan: CustomStringConvertible {
  /// Seconds with as many decimals as needed: "0.8 s", "60 s".
  public var description: String {
    guard milliseconds != .max else { return "forever" }
    let magnitude = milliseconds.magnitude
    let sign = milliseconds < 0 ? "-" : ""
    var fraction = magnitude % 1000
    guard fraction != 0 else { return "\(sign)\(magnitude / 1000) s" }
    var digits = 3
    while fraction % 10 == 0 {
      fraction /= 10
      digits -= 1
    }
    var text = "\(fraction)"
    while text.utf8.count < digits { text = "0" + text }
    return "\(sign)\(magnitude / 1000).\(text) s"
  }
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
