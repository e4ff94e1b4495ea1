import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with URLSession: follows no redirection, stores nothing, and uses none of its
/// timeouts.
///
/// Where FoundationNetworking differs from Apple's, the remarks here were observed with Swift 6.3,
/// and are tested.
final class ZulipTransport: Sendable {
  /// The end of a request.
  enum Ending: Sendable {
    case answered(ZulipAnswer)
    case cancelled
    case timedOut
    case failed(URLError.Code, Sent)
  }

  /// The part of a failed request that was sent.
  enum Sent: Sendable {
    /// Certainly nothing: URLSession did not ask even for the first byte of its body.
    case nothing
    /// At least a part of its body.
    case something
    /// Unknown, because the request has no body.
    case unknown
  }

  /// The number of this transport's sessions.
  let sessions = ZulipCount()
  private let session: URLSession
  private let delegate: ZulipExchanges
  private let isPlain: Bool

  private static let timers = DispatchQueue(label: "ZulipTransport.timers")
  /// The longest time for a request. URLSession's own timeouts are twice as long.
  private static let deadlineMaximum: TimeSpan = .minutes(60)
  /// URLSession's timeout, in seconds. It never comes.
  static let sessionTime = 2.0 * 3600

  init(isPlain: Bool) {
    self.isPlain = isPlain
    (session, delegate) = ZulipTransport.open(isPlain: isPlain, sessions)
  }

  /// Closes every connection. No request is running: each of them holds this transport.
  deinit { session.finishTasksAndInvalidate() }

  private static func open(
    isPlain: Bool, _ sessions: ZulipCount
  ) -> (URLSession, ZulipExchanges) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    // Longer than all our deadlines, so that a request has only one timeout.
    configuration.timeoutIntervalForRequest = sessionTime
    configuration.timeoutIntervalForResource = sessionTime
    // Unencrypted requests go through no proxy.
    if isPlain { configuration.connectionProxyDictionary = [:] }
    let delegate = ZulipExchanges(sessions)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    return (session, delegate)
  }

  /// Sends a request and waits for the whole answer, until the deadline at most. At the deadline,
  /// or when the task is cancelled, the connection is closed.
  /// - Parameters:
  ///   - limit: the most bytes of the answer's body.
  ///   - progress: hears how much of the request's body was sent, until this returns.
  func send(
    _ request: URLRequest, limit: Int, within deadline: TimeSpan, progress: ZulipProgress? = nil
  ) async -> Ending {
    var (session, delegate) = (session, delegate)
    var isOwn = false
    #if canImport(FoundationNetworking)
      // If a kept connection turns out to be closed, FoundationNetworking sends the body a second
      // time, or waits forever to do so. A request that is sent twice may be performed twice. So a
      // request with a body gets a new session, whose connection is new.
      if request.httpBody != nil {
        (session, delegate) = ZulipTransport.open(isPlain: isPlain, sessions)
        isOwn = true
      }
    #endif
    let exchange = ZulipExchange(limit: limit, progress: progress)
    delegate.begin(exchange, ZulipTransport.task(for: request, in: session))
    if isOwn { session.finishTasksAndInvalidate() }
    // A timer is freed when it is cancelled. A sleeping task would stay for its whole time.
    let timer = DispatchSource.makeTimerSource(queue: ZulipTransport.timers)
    let milliseconds = min(max(deadline, .zero), ZulipTransport.deadlineMaximum).milliseconds
    timer.schedule(deadline: .now() + .milliseconds(Int(milliseconds)))
    timer.setEventHandler { exchange.end(.timedOut) }
    timer.activate()
    let ending = await withTaskCancellationHandler {
      await exchange.ending()
    } onCancel: {
      exchange.end(.cancelled)
    }
    timer.cancel()
    delegate.forget(exchange)
    progress?.close()
    return ending
  }

  /// Makes an upload task for a request with a body. Only for uploads does every URLSession count
  /// the bytes sent.
  private static func task(for request: URLRequest, in session: URLSession) -> URLSessionTask {
    guard let body = request.httpBody, !body.isEmpty else { return session.dataTask(with: request) }
    var request = request
    request.httpBody = nil
    return session.uploadTask(with: request, from: body)
  }
}

/// A thread-safe count. Tests count sessions with it, because nothing else shows that a session
/// leaks, with its queue, its delegate and its descriptors.
final class ZulipCount: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  var value: Int { lock.withLock { count } }

  func add(_ difference: Int) { lock.withLock { count += difference } }
}
