extension LoopbackServer {
  /// What the server allows at most. Everything that a client could let grow is bounded:
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
  /// With these, clients can make it hold at most 256 × (1 MiB + 3 × 64 KiB) = 304 MiB, beside what
  /// the closure answers.
  public struct Settings: Equatable, Sendable {
    /// Bytes of a request's line and headers; of a chunked body's trailers; and how many bytes of the
    /// next requests are kept while one is answered.
    public var headLimit = 64 << 10
    /// Bytes of a request's body.
    public var bodyLimit = 1 << 20
    /// Connections that are open, or whose cancelled answers have not ended.
    public var connectionLimit = 256
    /// How long a connection may take to send a request: its first from when it was accepted, a later
    /// one from its first byte.
    public var requestTime: Duration = .seconds(10)
    /// How long a connection stays between two requests.
    public var idleTime: Duration = .seconds(30)
    /// How long a client may take none of the bytes that are sent to it.
    public var sendTime: Duration = .seconds(30)
    /// How long a client may take to close a connection on which the server has said all.
    public var drainTime: Duration = .seconds(1)
    /// How long an answer waits that was delayed, and a drip for the next one.
    public var delayTime: Duration = .seconds(60)

    public init() {}
  }

  /// Which of this computer's own addresses.
  public enum Family: Sendable {
    /// 127.0.0.1.
    case ipv4
    /// ::1.
    case ipv6
  }

  /// How connections are let in.
  public enum Welcome: Equatable, Sendable {
    case atOnce
    /// The first that comes waits in the kernel's queue for so long, and those that come meanwhile are
    /// let in with it. To its client it is connected, and not answered.
    case after(Duration)
    /// It is closed as soon as it is accepted.
    case refusing
  }

  /// What has happened, for tests.
  public struct Counters: Equatable, Sendable {
    /// Connections that are open now.
    public var open = 0
    /// The most that were open at one time.
    public var openMaximum = 0
    /// Connections that were ever accepted, those that were refused too.
    public var accepted = 0
    /// Connections that were closed at once, as ``Welcome/refusing`` has it.
    public var refused = 0
    /// Requests that the closure was asked to answer.
    public var requests = 0
    /// Answers that the closure is at work on, cancelled ones too.
    public var answering = 0
    /// Answers that were cancelled, because nobody would have heard them.
    public var cancelled = 0

    public init() {}
  }
}
