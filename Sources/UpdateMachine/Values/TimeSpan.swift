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
