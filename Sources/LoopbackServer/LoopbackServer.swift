// LoopbackServer: a small HTTP/1.1 server for tests and demonstrations. It may use the system's C
// library, and nothing of ours.

/// Answers HTTP/1.1 requests of this computer, and of no other, with a closure; and does wrong, byte by
/// byte, whatever it is asked to do wrong.
///
/// **Where.** On one address: 127.0.0.1, or ::1 if it is told so. Clients that are given the name
/// `localhost` may try the other one first, where nobody listens, and must then try this one.
///
/// **Answers.** The closure is run for each request, those of different connections at the same time,
/// and in order on one connection. If the client goes away, the task that answers it is cancelled: a
/// long poll must not outlive its client. A closure that does not end when it is cancelled keeps the
/// connection's place, and ``stop()`` waits for it.
///
/// **What it understands.** Bodies with a `Content-Length` or in chunks, `Expect: 100-continue`,
/// connections that are kept and requests that come before the last was answered. It refuses what is
/// malformed, and all that could be read in two ways (RFC 9112, 11.2). TLS, HTTP/2, compression,
/// upgrades, trailers and multipart forms are beyond it.
///
/// **Bounds.** ``Settings`` says what a client may take of memory, connections and time.
///
/// **Threads.** One, which waits for all sockets; none of Swift's is ever blocked. It prints nothing.
public final class LoopbackServer: Sendable {
  /// Answers one request.
  public typealias Answer = @Sendable (Request) async -> Response

  /// Where it listens.
  public let family: Family
  public let port: UInt16
  private let mailbox: Mailbox
  private let thread: OwnThread

  /// Starts it: when this returns, a client can connect.
  ///
  /// - Parameters:
  ///   - family: of the address on which it listens.
  ///   - port: 0 is any that is free; ``port`` tells which.
  ///   - settings: what is allowed at most. Numbers below 1 trap.
  ///   - answer: gives an answer to each request.
  public init(
    on family: Family = .ipv4, port: UInt16 = 0, settings: Settings = Settings(),
    answer: @escaping Answer
  ) throws(LoopbackServerError) {
    precondition(
      min(settings.headLimit, settings.bodyLimit, settings.connectionLimit) > 0,
      "a limit below 1: \(settings)")
    let (listener, port) = try Socket.listen(on: family, port: port)
    var made: Mailbox?
    do throws(LoopbackServerError) {
      let mailbox = try Mailbox()
      made = mailbox
      thread = try OwnThread {
        EventLoop(listener: listener, mailbox: mailbox, settings: settings, answer: answer).run()
      }
      self.mailbox = mailbox
      self.family = family
      self.port = port
    } catch {
      made?.close()
      Socket.close(listener)
      throw error
    }
  }

  /// One that nobody holds any more stops by itself, some time later.
  deinit { mailbox.send(.stop(nil)) }

  /// Runs a server for as long as something is done with it, and returns when it has stopped.
  public static func serving<Result>(
    on family: Family = .ipv4, port: UInt16 = 0, settings: Settings = Settings(),
    answer: @escaping Answer, while body: (LoopbackServer) async throws -> Result
  ) async throws -> Result {
    let server = try LoopbackServer(on: family, port: port, settings: settings, answer: answer)
    do {
      let result = try await body(server)
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }

  /// `http://127.0.0.1:PORT` or `http://[::1]:PORT`.
  public var address: String {
    switch family {
    case .ipv4: "http://127.0.0.1:\(port)"
    case .ipv6: "http://[::1]:\(port)"
    }
  }

  /// What has happened until now.
  public var counters: Counters { mailbox.counters }

  /// Waits until the counters are as they should be, for so long at most, and returns them.
  public func counters(
    within time: Duration, until isRight: @escaping @Sendable (Counters) -> Bool
  ) async -> Counters {
    let deadline = ContinuousClock().now + time
    return await withCheckedContinuation { continuation in
      let observer = Observer(isSatisfied: isRight, deadline: deadline, continuation: continuation)
      if !mailbox.send(.observe(observer)) { continuation.resume(returning: counters) }
    }
  }

  /// From now on connections are let in like this.
  public func welcome(_ welcome: Welcome) { mailbox.send(.welcome(welcome)) }

  /// Closes the listener and every connection, cancels every answer, and returns when all have ended
  /// and no thread and no descriptor is left. To stop again is nothing. An answer must not do it, for
  /// it would wait for itself.
  public func stop() async {
    await withCheckedContinuation { continuation in
      if !mailbox.send(.stop(continuation)) { continuation.resume() }
    }
    thread.join()  // Its last act was to say so: this blocks for microseconds.
  }
}
