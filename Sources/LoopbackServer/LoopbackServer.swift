// LoopbackServer: a small HTTP/1.1 server for tests and demonstrations. It may use the system's C
// library, and none of our modules.

/// An HTTP/1.1 server on the loopback address that answers with a closure, and can inject faults
/// into answers, byte by byte.
///
/// **Where.** It listens on one address: 127.0.0.1, or ::1 on request. Clients that connect to
/// `localhost` may try the other address first, where nothing listens, and must then try this one.
///
/// **Answers.** The closure runs once for each request: concurrently for different connections, in
/// order on one connection. If the client goes away, its answer's task is cancelled: a long poll
/// must not outlive its client. A closure that ignores cancellation keeps the connection's place,
/// and ``stop()`` waits for it.
///
/// **Supported.** Bodies with a `Content-Length` or in chunks, `Expect: 100-continue`, persistent
/// connections and pipelined requests. It refuses malformed requests, and all that could be read in
/// two ways (RFC 9112, 11.2). TLS, HTTP/2, compression, upgrades, trailers and multipart forms are
/// not supported.
///
/// **Bounds.** ``Settings`` limits the memory, connections and time that clients can use.
///
/// **Threads.** One thread waits for all sockets. It never blocks one of Swift's threads. It prints
/// nothing.
public final class LoopbackServer: Sendable {
  /// Answers one request.
  public typealias Answer = @Sendable (Request) async -> Response

  /// The address family that it listens on.
  public let family: Family
  /// The port that it listens on; never 0.
  public let port: UInt16
  private let orderQueue: OrderQueue
  private let thread: OwnThread

  /// Starts the server. Clients can connect when this returns.
  ///
  /// - Parameters:
  ///   - family: the address family to listen on.
  ///   - port: 0 picks any free port; ``port`` tells which.
  ///   - settings: the limits. Numbers below 1 trap.
  ///   - answer: answers each request.
  public init(
    on family: Family = .ipv4, port: UInt16 = 0, settings: Settings = Settings(),
    answer: @escaping Answer
  ) throws(LoopbackServerError) {
    precondition(
      min(settings.headLimit, settings.bodyLimit, settings.connectionLimit) > 0,
      "a limit below 1: \(settings)")
    let (listener, port) = try Socket.listen(on: family, port: port)
    var made: OrderQueue?
    do throws(LoopbackServerError) {
      let orderQueue = try OrderQueue()
      made = orderQueue
      thread = try OwnThread {
        EventLoop(listener: listener, orderQueue: orderQueue, settings: settings, answer: answer)
          .run()
      }
      self.orderQueue = orderQueue
      self.family = family
      self.port = port
    } catch {
      made?.close()
      Socket.close(listener)
      throw error
    }
  }

  /// A server that is released without `stop()` stops by itself, some time later.
  deinit { orderQueue.send(.stop(nil)) }

  /// Runs a server while `body` runs, and returns when it has stopped.
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

  /// The counters as they are now.
  public var counters: Counters { orderQueue.counters }

  /// Waits until the counters satisfy `isRight`, for `time` at most, and returns them.
  public func counters(
    within time: Duration, until isRight: @escaping @Sendable (Counters) -> Bool
  ) async -> Counters {
    let deadline = ContinuousClock().now + time
    return await withCheckedContinuation { continuation in
      let observer = Observer(isSatisfied: isRight, deadline: deadline, continuation: continuation)
      if !orderQueue.send(.observe(observer)) { continuation.resume(returning: counters) }
    }
  }

  /// Changes how connections are accepted from now on.
  public func welcome(_ welcome: Welcome) { orderQueue.send(.welcome(welcome)) }

  /// Closes the listener and every connection, and cancels every answer. Returns when all have
  /// ended, and no thread or descriptor is left. A second call does nothing. An answer must not
  /// call this: it would wait for itself.
  public func stop() async {
    await withCheckedContinuation { continuation in
      if !orderQueue.send(.stop(continuation)) { continuation.resume() }
    }
    thread.join()  // The thread has already announced its end: this blocks for microseconds.
  }
}
