/// How eagerly pages are fetched.
public struct PageSettings: Hashable, Sendable {
  /// So many fetches at once: more compete with each other, and with the machine's own request.
  public var fetchesMaximum = 4
  /// After so long without an answer a fetch has failed.
  public var deadline = TimeSpan.seconds(30)
  /// The waits after failures double from here …
  public var retryFirst = TimeSpan.milliseconds(500)
  /// … to here.
  public var retryMaximum = TimeSpan.seconds(60)
  /// No server keeps us waiting for longer.
  public var retryAfterMaximum = TimeSpan.seconds(600)
  /// What an answer did not help is asked again after this, then after twice as long …
  public var repeatFirst = TimeSpan.seconds(1)
  /// `burst + 1` fetches at once, then one an interval: in any window *w* at most
  /// `burst + 1 + w / interval`.
  public var burst: Int64 = 15
  public var interval = TimeSpan.milliseconds(500)
  /// How long after a message became suspect it is read a second time.
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
