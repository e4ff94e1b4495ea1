import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One running request. It ends once, by whichever comes first: its answer, its deadline or its
/// task's cancellation. Then URLSession is told to cancel it. We do not wait for URLSession's own
/// end, since it does not always report one.
final class ZulipExchange: @unchecked Sendable {
  private typealias Waiter = CheckedContinuation<ZulipTransport.Ending, Never>

  private enum State {
    case out(Waiter?)
    case over(ZulipTransport.Ending)
  }

  private let lock = NSLock()
  private let limit: Int
  private let progress: ZulipProgress?
  private var state = State.out(nil)
  private var answer: ZulipAnswer?
  /// Whether the server refused our credentials and asked for others. We have no others, so the
  /// refusal is the answer.
  private var isChallenged = false
  private var task: URLSessionTask?

  init(limit: Int, progress: ZulipProgress?) {
    self.limit = limit
    self.progress = progress
  }

  var key: ObjectIdentifier? { lock.withLock { task.map { ObjectIdentifier($0) } } }

  func begin(_ task: URLSessionTask) { lock.withLock { self.task = task } }

  /// Waits for the end. Call it once.
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

  /// - Parameter isComplete: whether URLSession itself reported the end, so it need not be told.
  /// - Returns: whether this call ended it.
  @discardableResult
  func end(_ ending: ZulipTransport.Ending, isComplete: Bool = false) -> Bool {
    var ending = ending
    let (isFirst, task, continuation): (Bool, URLSessionTask?, Waiter?) = lock.withLock {
      guard case .out(let waiter) = state else { return (false, nil, nil) }
      ending = headed(ending)
      state = .over(ending)
      answer = nil
      return (true, self.task, waiter)
    }
    if !isComplete { task?.cancel() }
    continuation?.resume(returning: ending)
    return isFirst
  }

  /// What the head of a refusal says is known, even if its body breaks or never comes: above all
  /// how long to wait.
  private func headed(_ ending: ZulipTransport.Ending) -> ZulipTransport.Ending {
    guard let answer, answer.status >= ZulipExchange.leastRefusal else { return ending }
    switch ending {
    case .timedOut, .failed: return .answered(answer)
    case .answered, .cancelled: return ending
    }
  }

  /// The lowest status of a refusal or a fault.
  private static let leastRefusal = 400

  // MARK: Reports from URLSession

  func sent(_ count: Int64, of total: Int64) { progress?.sent(count, of: total) }

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

  /// Ends the request with the redirection as its answer.
  /// - Returns: whether URLSession may be told not to follow it. It may not after a cancellation:
  ///   FoundationNetworking traps on both.
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
      date: response.value(forHTTPHeaderField: "Date"),
      remaining: response.value(forHTTPHeaderField: "X-RateLimit-Remaining"))
  }
}

/// The session's delegate, which passes URLSession's reports to their exchanges.
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

  /// Follows no redirection: the key is for one site, and a login page is no answer. The
  /// redirection itself is the answer.
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
      // By default it would wait forever. The answer has arrived in full.
      exchange(task)?.challenged()
      completionHandler(.cancelAuthenticationChallenge, nil)
    #else
      completionHandler(.performDefaultHandling, nil)
    #endif
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData count: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend total: Int64
  ) {
    exchange(task)?.sent(totalBytesSent, of: total)
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
    // The rest of the error, with the URL, is private.
    let code = error.map { ZulipExchanges.code(of: $0) }
    exchange(task)?.completed(code, task.response, sent(task))
  }

  /// FoundationNetworking has no code for a bad certificate. Only libcurl's words tell of it: "SSL
  /// certificate problem: self-signed certificate".
  static func code(of error: any Error) -> URLError.Code {
    guard let error = error as? URLError else { return .unknown }
    let isNameless = error.code == .unknown
    return isNameless && error.localizedDescription.contains("certificate")
      ? .serverCertificateUntrusted : error.code
  }

  /// A body is requested once there is a connection, and counted before it is sent.
  private func sent(_ task: URLSessionTask) -> ZulipTransport.Sent {
    if task.countOfBytesSent > 0 || task.response != nil { return .something }
    return task.countOfBytesExpectedToSend > 0 ? .nothing : .unknown
  }
}
