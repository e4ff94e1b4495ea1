/// A moment of the wall clock, in milliseconds since the start of 1970 (UTC).
public struct WallTime: BitwiseCopyable, Hashable, Sendable {
  /// Milliseconds since the start of 1970 (UTC).
  public var milliseconds: Int64

  /// Takes milliseconds since the start of 1970 (UTC).
  @inlinable
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Returns how long ago `earlier` was; `nil` if it lies ahead, because the clock went back.
  package func age(of earlier: WallTime) -> TimeSpan? {
    guard earlier.milliseconds <= milliseconds else { return nil }
    return Moment(milliseconds: milliseconds) - Moment(milliseconds: earlier.milliseconds)
  }
}
