import Foundation
import HTTPSync
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One running request, whose answer is read as it comes: whole, or line by line.
///
/// It ends once: by the end of its answer, by an error, or because nobody wants it any more. Then
/// URLSession is told to cancel it, and nothing is waited for. One task reads at a time.
final class EtcdExchange: @unchecked Sendable {
  /// How the answer ended.
  enum Ending: Sendable {
    /// It came whole.
    case whole
    case failed(URLError.Code, hasLeft: Bool)
    /// More came than is allowed.
    case tooLarge
    /// Nobody wants it any more.
    case cancelled
  }

  /// The next line of an answer, or why there is none.
  enum Line: Sendable {
    case line(Data)
    /// None has come until the deadline. The answer goes on.
    case silent
    case ended(Ending)
  }

  /// The beginning of an answer.
  struct Head: Hashable, Sendable {
    var status: Int
    var type: String?
    var retryAfter: String?
    var date: String?

    /// Whether it claims to be JSON, as all of etcd's answers are.
    var isJSON: Bool {
      guard let name = type?.prefix(while: { $0 != ";" }) else { return false }
      return name.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
    }
  }

  private let lock = NSLock()
  private let limit: Int
  private var head: Head?
  private var buffer = Data()
  /// How much of the buffer has no line's end in it.
  private var searched = 0
  private var ending: Ending?
  /// Wakes the task that reads.
  private var reader: CheckedContinuation<Void, Never>?
  private var task: URLSessionTask?

  private static let timers = DispatchQueue(label: "EtcdExchange.timers")
  /// The longest wait. URLSession's own timeouts are longer.
  private static let waitMaximum: TimeSpan = .minutes(60)

  /// - Parameter limit: the most bytes that are kept unread.
  init(limit: Int) { self.limit = limit }

  func begin(_ task: URLSessionTask) {
    lock.withLock { self.task = task }
    task.resume()
  }

  // MARK: Reading

  /// Waits for the end of the answer. At the deadline, or when the task is cancelled, the request
  /// is ended, and there is no ending but that.
  func whole(within span: TimeSpan) async -> (head: Head?, body: Data, ending: Ending) {
    let isOver = await wait(within: span) { $0.ending != nil }
    if !isOver { end(Task.isCancelled ? .cancelled : .failed(.timedOut, hasLeft: true)) }
    return lock.withLock { (head, buffer, ending ?? .cancelled) }
  }

  /// Waits for the next line, without its end. An answer's rest is a line, too.
  func line(within span: TimeSpan) async -> Line {
    _ = await wait(within: span) { $0.ending != nil || $0.hasLine() }
    if Task.isCancelled { end(.cancelled) }
    return lock.withLock {
      if hasLine() { return .line(takeLine()) }
      return ending.map { .ended($0) } ?? .silent
    }
  }

  /// What is known of the answer's beginning.
  var beginning: Head? { lock.withLock { head } }

  /// The rest of an answer that is no stream.
  var rest: Data { lock.withLock { buffer } }

  private func hasLine() -> Bool {
    let start = buffer.startIndex
    if let index = buffer[(start + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
      searched = index - start
      return true
    }
    searched = buffer.count
    return false
  }

  /// Only if there is one.
  private func takeLine() -> Data {
    let end = buffer.startIndex + searched
    let line = Data(buffer[buffer.startIndex..<end])
    buffer = Data(buffer[(end + 1)...])
    searched = 0
    return line
  }

  /// Waits until something is so. Returns `false` if it is not at the deadline, or when the task is
  /// cancelled.
  private func wait(
    within span: TimeSpan, until isSo: @escaping @Sendable (EtcdExchange) -> Bool
  ) async -> Bool {
    let milliseconds = min(max(span, .zero), EtcdExchange.waitMaximum).milliseconds
    let expired = EtcdFlag()
    let timer = DispatchSource.makeTimerSource(queue: EtcdExchange.timers)
    timer.schedule(deadline: .now() + .milliseconds(Int(milliseconds)))
    timer.setEventHandler {
      expired.set()
      self.wake()
    }
    timer.activate()
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      while true {
        if lock.withLock({ isSo(self) }) { return true }
        if expired.isSet || Task.isCancelled { return false }
        await withCheckedContinuation { continuation in
          let isDue = lock.withLock {
            guard !isSo(self), !expired.isSet, !Task.isCancelled else { return true }
            reader = continuation
            return false
          }
          if isDue { continuation.resume() }
        }
      }
    } onCancel: {
      self.wake()
    }
  }

  private func wake() {
    let reader = lock.withLock {
      let reader = self.reader
      self.reader = nil
      return reader
    }
    reader?.resume()
  }

  // MARK: Ending

  /// Ends the request, if it has not ended. The connection is closed.
  func end(_ ending: Ending) {
    let task: URLSessionTask? = lock.withLock {
      guard self.ending == nil else { return nil }
      self.ending = ending
      return self.task
    }
    task?.cancel()
    wake()
  }

  // MARK: Reports from URLSession

  fileprivate func began(_ response: URLResponse) {
    lock.withLock { note(response) }
  }

  fileprivate func received(_ data: Data, of response: URLResponse?) {
    let isTooLarge = lock.withLock {
      guard ending == nil else { return false }
      if head == nil, let response { note(response) }
      guard data.count <= limit - buffer.count else { return true }
      buffer.append(data)
      return false
    }
    if isTooLarge { end(.tooLarge) } else { wake() }
  }

  fileprivate func completed(
    _ error: URLError.Code?, _ response: URLResponse?, hasLeft: Bool
  ) {
    lock.withLock {
      if head == nil, let response { note(response) }
      guard ending == nil else { return }
      ending = error.map { .failed($0, hasLeft: hasLeft) } ?? .whole
    }
    wake()
  }

  private func note(_ response: URLResponse) {
    guard let response = response as? HTTPURLResponse else { return }
    head = Head(
      status: response.statusCode, type: response.value(forHTTPHeaderField: "Content-Type"),
      retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
      date: response.value(forHTTPHeaderField: "Date"))
  }
}

/// A thread-safe, one-way flag.
private final class EtcdFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var value = false

  var isSet: Bool { lock.withLock { value } }

  func set() { lock.withLock { value = true } }
}

/// Sends requests with URLSession: follows no redirection, stores nothing, and uses none of its
/// timeouts.
///
/// Each request has a session of its own. On Linux, if a kept connection turns out to be closed,
/// FoundationNetworking sends a body twice, or waits forever to do so (Swift 6.3); and every
/// request to etcd has a body.
final class EtcdTransport: NSObject, URLSessionDataDelegate, Sendable {
  private let exchange: EtcdExchange

  private init(_ exchange: EtcdExchange) { self.exchange = exchange }

  /// URLSession's timeout, in seconds. It never comes.
  static let sessionTime = 2.0 * 3600

  /// Begins a request.
  /// - Parameters:
  ///   - isPlain: whether it is unencrypted, and so goes through no proxy.
  ///   - limit: the most bytes of the answer that are kept unread.
  static func begin(_ request: URLRequest, isPlain: Bool, limit: Int) -> EtcdExchange {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    configuration.timeoutIntervalForRequest = sessionTime
    configuration.timeoutIntervalForResource = sessionTime
    if isPlain { configuration.connectionProxyDictionary = [:] }
    let exchange = EtcdExchange(limit: limit)
    let session = URLSession(
      configuration: configuration, delegate: EtcdTransport(exchange), delegateQueue: nil)
    var request = request
    let body = request.httpBody ?? Data()
    request.httpBody = nil
    // Only of uploads does every URLSession count the bytes that were sent.
    exchange.begin(session.uploadTask(with: request, from: body))
    session.finishTasksAndInvalidate()
    return exchange
  }

  /// Follows no redirection: password and token are for one cluster.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // FoundationNetworking traps if it is told not to follow after a cancellation. So the request
    // is ended, and nothing is answered.
    exchange.end(.failed(.httpTooManyRedirects, hasLeft: true))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // By default it would wait forever. The answer has arrived in full.
      completionHandler(.cancelAuthenticationChallenge, nil)
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    exchange.began(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange.received(data, of: dataTask.response)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    // The rest of the error, with the URL, is private.
    let code = error.map { ($0 as? URLError)?.code ?? .unknown }
    // A body is counted before it is sent, once there is a connection.
    let hasLeft = task.countOfBytesSent > 0 || task.response != nil
    exchange.completed(code, task.response, hasLeft: hasLeft)
  }
}
