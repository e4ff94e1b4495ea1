import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests by URLSession: follows nothing, keeps nothing, and believes none of its times.
///
/// Where FoundationNetworking is otherwise than Apple's, what is said of it here was seen with
/// Swift 6.3, and is tested.
final class ZulipTransport: Sendable {
  /// How a request ended.
  enum Ending: Sendable {
    case answered(ZulipAnswer)
    case cancelled
    case timedOut
    case failed(URLError.Code, Sent)
  }

  /// What went out of a request that failed.
  enum Sent: Sendable {
    /// Certainly nothing: it has a body, and not even that body's first byte was asked for.
    case nothing
    /// A part of its body at least.
    case something
    /// It has no body, so nobody can tell.
    case unknown
  }

  /// How many sessions of it there are.
  let sessions = ZulipCount()
  private let session: URLSession
  private let delegate: ZulipExchanges
  private let isPlain: Bool

  private static let timers = DispatchQueue(label: "ZulipTransport.timers")
  /// No request is out for longer. URLSession's own times are twice that.
  private static let deadlineMaximum: TimeSpan = .minutes(60)
  /// In seconds; it never comes.
  static let sessionTime = 2.0 * 3600

  init(isPlain: Bool) {
    self.isPlain = isPlain
    (session, delegate) = ZulipTransport.open(isPlain: isPlain, sessions)
  }

  /// Every connection is closed. Nothing is out: whoever waits for a request holds this.
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
    // Longer than any deadline of ours: one that ends a request is enough.
    configuration.timeoutIntervalForRequest = sessionTime
    configuration.timeoutIntervalForResource = sessionTime
    // What is not encrypted goes through nobody's hands.
    if isPlain { configuration.connectionProxyDictionary = [:] }
    let delegate = ZulipExchanges(sessions)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    return (session, delegate)
  }

  /// Sends it and waits for the whole answer, for no longer than the deadline. When the task is
  /// cancelled, or the deadline has come, the connection is closed.
  /// - Parameter limit: of the body, in bytes.
  func send(_ request: URLRequest, limit: Int, within deadline: TimeSpan) async -> Ending {
    var (session, delegate) = (session, delegate)
    var isOwn = false
    #if canImport(FoundationNetworking)
      // It sends a body a second time, or waits for ever to do so, when a connection that it had kept
      // turns out to be closed. What is sent twice may happen twice. A new connection was never kept.
      if request.httpBody != nil {
        (session, delegate) = ZulipTransport.open(isPlain: isPlain, sessions)
        isOwn = true
      }
    #endif
    let exchange = ZulipExchange(limit: limit)
    delegate.begin(exchange, ZulipTransport.task(for: request, in: session))
    if isOwn { session.finishTasksAndInvalidate() }
    // A timer that is gone when it is cancelled: a task that sleeps leaves one behind, for as long as it
    // would have slept.
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
    return ending
  }

  /// Of an upload every URLSession counts what it sends; of other tasks with a body not each does.
  private static func task(for request: URLRequest, in session: URLSession) -> URLSessionTask {
    guard let body = request.httpBody, !body.isEmpty else { return session.dataTask(with: request) }
    var request = request
    request.httpBody = nil
    return session.uploadTask(with: request, from: body)
  }
}

/// One request that is out. It ends once, by whoever comes first: its answer, its deadline, its task's
/// cancellation. Then URLSession is told to give it up, and not waited for: it does not always say so.
final class ZulipExchange: @unchecked Sendable {
  private typealias Waiter = CheckedContinuation<ZulipTransport.Ending, Never>

  private enum State {
    case out(Waiter?)
    case over(ZulipTransport.Ending)
  }

  private let lock = NSLock()
  private let limit: Int
  private var state = State.out(nil)
  private var answer: ZulipAnswer?
  /// A server that refuses our credentials asks for others. There are none, so that is its answer.
  private var isChallenged = false
  private var task: URLSessionTask?

  init(limit: Int) { self.limit = limit }

  var key: ObjectIdentifier? { lock.withLock { task.map { ObjectIdentifier($0) } } }

  func begin(_ task: URLSessionTask) { lock.withLock { self.task = task } }

  /// Asked once.
  func ending() async -> ZulipTransport.Ending {
    await withCheckedContinuation { continuation in
      let ending: ZulipTransport.Ending? = lock.withLock {
        switch state {
        case .out:
          state = .out(continuation)
          return nil
        case .over(let ending): return ending
        }
      }
      if let ending { continuation.resume(returning: ending) }
    }
  }

  /// - Parameter isComplete: URLSession has said so itself, and need not be told.
  /// - Returns: whether it was not over before.
  @discardableResult
  func end(_ ending: ZulipTransport.Ending, isComplete: Bool = false) -> Bool {
    let (isFirst, task, continuation): (Bool, URLSessionTask?, Waiter?) = lock.withLock {
      guard case .out(let waiter) = state else { return (false, nil, nil) }
      state = .over(ending)
      answer = nil
      return (true, self.task, waiter)
    }
    if !isComplete { task?.cancel() }
    continuation?.resume(returning: ending)
    return isFirst
  }

  // MARK: What URLSession says

  func began(_ response: URLResponse) {
    let isTooLarge = lock.withLock {
      note(response)
      return response.expectedContentLength > Int64(limit)
    }
    if isTooLarge { endTooLarge() }
  }

  func received(_ data: Data, of response: URLResponse?) {
    let isTooLarge = lock.withLock {
      guard case .out = state else { return false }
      if answer == nil, let response { note(response) }
      guard let count = answer?.body.count, data.count <= limit - count else { return true }
      answer?.body.append(data)
      return false
    }
    if isTooLarge { endTooLarge() }
  }

  /// The server sends us elsewhere, and that is its answer.
  /// - Returns: whether URLSession may be told where to go. Not if it was told to give the request up:
  ///   FoundationNetworking traps if it is told both.
  func redirected(_ response: HTTPURLResponse) -> Bool {
    let answer: ZulipAnswer? = lock.withLock {
      guard case .out = state else { return nil }
      note(response)
      return self.answer
    }
    return answer.map { end(.answered($0), isComplete: true) } ?? false
  }

  func challenged() { lock.withLock { isChallenged = true } }

  func completed(
    _ error: URLError.Code?, _ response: URLResponse?, _ sent: ZulipTransport.Sent
  ) {
    let ending: ZulipTransport.Ending = lock.withLock {
      if answer == nil, let response { note(response) }
      if let error, !isChallenged { return .failed(error, sent) }
      return answer.map { .answered($0) } ?? .failed(error ?? .badServerResponse, sent)
    }
    end(ending, isComplete: true)
  }

  private func endTooLarge() {
    let cut: ZulipAnswer? = lock.withLock {
      answer?.isTooLarge = true
      return answer
    }
    end(cut.map { .answered($0) } ?? .failed(.dataLengthExceedsMaximum, .something))
  }

  private func note(_ response: URLResponse) {
    guard let response = response as? HTTPURLResponse else { return }
    answer = ZulipAnswer(
      status: response.statusCode,
      contentType: response.value(forHTTPHeaderField: "Content-Type"),
      retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
      date: response.value(forHTTPHeaderField: "Date"))
  }
}

/// Tells each exchange what URLSession says of it.
final class ZulipExchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var exchanges: [ObjectIdentifier: ZulipExchange] = [:]
  private let sessions: ZulipCount

  init(_ sessions: ZulipCount) {
    self.sessions = sessions
    sessions.add(1)
  }

  deinit { sessions.add(-1) }

  func begin(_ exchange: ZulipExchange, _ task: URLSessionTask) {
    exchange.begin(task)
    lock.withLock { exchanges[ObjectIdentifier(task)] = exchange }
    task.resume()
  }

  func forget(_ exchange: ZulipExchange) {
    guard let key = exchange.key else { return }
    lock.withLock { exchanges[key] = nil }
  }

  private func exchange(_ task: URLSessionTask) -> ZulipExchange? {
    lock.withLock { exchanges[ObjectIdentifier(task)] }
  }

  /// Nowhere: the key is for one site, and a page to log in is no answer. The redirection itself is.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    if exchange(task)?.redirected(response) == true { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler:
      @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(FoundationNetworking)
      // By default it would wait for ever. The answer is here in full.
      exchange(task)?.challenged()
      completionHandler(.cancelAuthenticationChallenge, nil)
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    exchange(dataTask)?.began(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(dataTask)?.received(data, of: dataTask.response)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    // All else that the error has, such as the URL, is nobody's business.
    let code = error.map { ($0 as? URLError)?.code ?? .unknown }
    exchange(task)?.completed(code, task.response, sent(task))
  }

  /// A body is asked for when there is a connection, and counted before it is sent.
  private func sent(_ task: URLSessionTask) -> ZulipTransport.Sent {
    if task.countOfBytesSent > 0 || task.response != nil { return .something }
    return task.countOfBytesExpectedToSend > 0 ? .nothing : .unknown
  }
}

/// How many there are of something, whichever threads make and end them. A session that is lost is not
/// seen otherwise: with it go a queue, a delegate and descriptors.
final class ZulipCount: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  var value: Int { lock.withLock { count } }

  func add(_ difference: Int) { lock.withLock { count += difference } }
}
