extension LoopbackServer {
  /// The server's limits. Everything that a client could let grow is bounded:
  ///
  /// | | by default | beyond it |
  /// | --- | --- | --- |
  /// | ``headLimit`` | 64 KiB | 431 |
  /// | ``bodyLimit`` | 1 MiB | 413 |
  /// | ``connectionLimit`` | 256 | others wait in the kernel's queue |
  /// | ``requestTime`` | 10 s | 408 |
  /// | ``idleTime`` | 30 s | the connection is closed |
  /// | ``sendTime`` | 30 s | the connection is closed |
  /// | ``drainTime`` | 1 s | the connection is closed |
  /// | ``delayTime`` | 60 s | the answer, or the next of its drips, is sent |
  ///
  /// With the defaults, clients can make the server hold at most 256 × (1 MiB + 3 × 64 KiB) = 304
  /// MiB, plus the closure's answers.
  public struct Settings: Equatable, Sendable {
    /// The most bytes of a request's line and headers, and of a chunked body's trailers. Also the
    /// most bytes of later requests that are kept while one is answered.
    public var headLimit = 64 << 10
    /// The most bytes of a request's body.
    public var bodyLimit = 1 << 20
    /// The most connections that are open, or whose cancelled answers have not ended.
    public var connectionLimit = 256
    /// The time to send a whole request. It begins when the connection is accepted, and for later
    /// requests with their first byte.
    public var requestTime: Duration = .seconds(10)
    /// The time that a connection stays open between two requests.
    public var idleTime: Duration = .seconds(30)
    /// The time that a client may take none of the bytes sent to it.
    public var sendTime: Duration = .seconds(30)
    /// The time for a client to close after the server has sent everything.
    public var drainTime: Duration = .seconds(1)
    /// The longest delay of an answer, and the longest pause between two drips.
    public var delayTime: Duration = .seconds(60)

    /// Creates the defaults, which the table above lists.
    public init() {}
  }

  /// One of this computer's two loopback addresses.
  public enum Family: Sendable {
    /// 127.0.0.1.
    case ipv4
    /// ::1.
    case ipv6
  }

  /// How connections are accepted.
  public enum Welcome: Equatable, Sendable {
    /// Each connection is accepted as soon as it arrives.
    case atOnce
    /// The first connection waits in the kernel's queue for this long; later ones are accepted with
    /// it. Its client is connected, but gets no answer.
    case after(Duration)
    /// Each connection is closed as soon as it is accepted.
    case refusing
  }

  /// Counts of what has happened, for tests.
  public struct Counters: Equatable, Sendable {
    /// Connections that are open now.
    public var open = 0
    /// The most that were open at one time.
    public var openMaximum = 0
    /// All accepted connections, refused ones included.
    public var accepted = 0
    /// Connections closed at once because of ``Welcome/refusing``.
    public var refused = 0
    /// Requests passed to the closure.
    public var requests = 0
    /// Answers in progress, cancelled ones included.
    public var answering = 0
    /// Answers cancelled because their client was gone.
    public var cancelled = 0

    /// Creates counters that are all 0.
    public init() {}
  }
}
