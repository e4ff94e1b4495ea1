/// A moment of the wall clock, in milliseconds since the start of 1970 (UTC).
public struct WallTime: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// Milliseconds since the start of 1970 (UTC).
  public var milliseconds: Int64

  /// Takes milliseconds since the start of 1970 (UTC).
  @inlinable
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  @inlinable
  public static func < (one: WallTime, other: WallTime) -> Bool {
    one.milliseconds < other.milliseconds
  }

  /// Returns how long ago `earlier` was; `nil` if it lies ahead, because the clock went back.
  package func age(of earlier: WallTime) -> TimeSpan? {
    guard earlier <= self else { return nil }
    return Moment(milliseconds: milliseconds) - Moment(milliseconds: earlier.milliseconds)
  }
}
