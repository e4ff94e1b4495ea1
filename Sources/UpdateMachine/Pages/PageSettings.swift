/// How eagerly pages are fetched.
public struct PageSettings: Hashable, Sendable {
  /// So many fetches at once: more compete with each other, and with the machine's own request.
  public var fetchesMaximum = 4
  /// After so long without an answer a fetch has failed.
  public var deadline = TimeSpan.seconds(30)
  /// Waits after failures, from half a second to a minute; what a server's retry-after is clamped to; and
  /// the pace: 16 fetches at once, then one every half second. Of a page nothing is slow, nobody pays for a
  /// wake, and the deadline does not double.
  public var retry: RetrySettings = {
    var retry = RetrySettings()
    retry.transientFirst = .milliseconds(500)
    retry.transientCap = .seconds(60)
    retry.retryAfterFloor = .milliseconds(500)
    retry.paceBurst = 15
    retry.paceInterval = .milliseconds(500)
    return retry
  }()
  /// What an answer did not help is asked again after this, then after twice as long, up to a minute.
  public var repeatFirst = TimeSpan.seconds(1)
  /// How long after an item became suspect it is read a second time.
  public var secondReadingAfter = TimeSpan.seconds(10)

  @inlinable
  public init() {}
}

/// Names one window. They count up from 1.
public struct WindowID: BitwiseCopyable, Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}
