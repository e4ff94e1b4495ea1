/// A moment of the wall clock, in milliseconds since 1970 began (UTC).
public struct WallTime: BitwiseCopyable, Hashable, Comparable, Sendable {
  /// Since 1970 began (UTC).
  public var milliseconds: Int64

  /// So many milliseconds after 1970 began (UTC).
  @inlinable
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  @inlinable
  public static func < (one: WallTime, other: WallTime) -> Bool {
    one.milliseconds < other.milliseconds
  }

  /// How long ago `earlier` was; `nil` if it is yet to come, for then the clock went back.
  public func age(of earlier: WallTime) -> TimeSpan? {
    guard earlier <= self else { return nil }
    return Moment(milliseconds: milliseconds) - Moment(milliseconds: earlier.milliseconds)
  }
}
