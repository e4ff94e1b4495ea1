/// How eagerly pages are fetched.
@usableFromInline package struct PageSettings: Hashable, Sendable {
  /// The most fetches at once. More would compete with each other and with the machine's request.
  @usableFromInline package var fetchesMaximum = 4
  /// A fetch that has no answer after this time has failed.
  @usableFromInline package var deadline = TimeSpan.seconds(30)
  /// Waits after failures, from half a second to a minute; the bounds of a server's retry-after;
  /// and the pace: 16 fetches at once, then one every half second. Pages have no slow backoff and
  /// no wakes, and their deadline does not double.
  @usableFromInline package var retry: RetrySettings = {
    var retry = RetrySettings()
    retry.transientFirst = .milliseconds(500)
    retry.transientCap = .seconds(60)
    retry.retryAfterFloor = .milliseconds(500)
    retry.paceBurst = 15
    retry.paceInterval = .milliseconds(500)
    return retry
  }()
  /// The wait before a request is repeated whose answer did not help. It doubles each time, up to
  /// a minute.
  @usableFromInline package var repeatFirst = TimeSpan.seconds(1)
  /// How long after an item became suspect it is read again.
  @usableFromInline package var secondReadingAfter = TimeSpan.seconds(10)
  /// How many lists are kept that no window shows, so that what they know is there when the user
  /// comes back. Beyond it the list that was left first is closed.
  @usableFromInline package var unwatchedMaximum = 200

  /// Creates the defaults, which suit most servers.
  @inlinable
  package init() {}
}

/// The name of one window. Windows count up from 1.
public struct WindowID: BitwiseCopyable, Hashable, Sendable {
  @usableFromInline package var number: UInt64

  @inlinable
  package init(_ number: UInt64) { self.number = number }
}
