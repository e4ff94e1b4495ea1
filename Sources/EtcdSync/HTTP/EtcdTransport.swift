import Foundation
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with URLSession: follows no redirection, stores nothing, and uses none of its
/// timeouts.
///
/// Only for encrypted requests. On Linux it is not used at all: see ``EtcdSocket``. Each request
/// has a session of its own, so that a connection that turns out to be closed costs nothing.
final class EtcdTransport: NSObject, URLSessionDataDelegate, Sendable {
  private let exchange: EtcdExchange

  private init(_ exchange: EtcdExchange) { self.exchange = exchange }

  /// URLSession's timeout, in seconds. It never comes.
  static let sessionTime = 2.0 * 3600

  /// Begins a request.
  /// - Parameters:
  ///   - head: the request's fields, without its length.
  ///   - limit: the most bytes of the answer that are kept unread.
  static func begin(
    _ member: EtcdAddress, _ path: String, _ head: [(String, String)], _ body: [UInt8], limit: Int
  ) -> EtcdExchange {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    configuration.timeoutIntervalForRequest = sessionTime
    configuration.timeoutIntervalForResource = sessionTime
    let exchange = EtcdExchange(limit: limit)
    let session = URLSession(
      configuration: configuration, delegate: EtcdTransport(exchange), delegateQueue: nil)
    var request = URLRequest(url: member.url(path))
    request.timeoutInterval = sessionTime
    request.httpMethod = "POST"
    for (name, value) in head { request.setValue(value, forHTTPHeaderField: name) }
    // Only of uploads does every URLSession count the bytes that were sent.
    let task = session.uploadTask(with: request, from: Data(body))
    exchange.begin { task.cancel() }
    task.resume()
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
    if let head = EtcdExchange.Head(response) { exchange.began(head) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    // The rest of the error, with the URL, is private.
    let code = error.map { ($0 as? URLError)?.code ?? .unknown }
    // A body is counted before it is sent, once there is a connection.
    let hasLeft = task.countOfBytesSent > 0 || task.response != nil
    exchange.completed(code, hasLeft: hasLeft)
  }
}

extension EtcdExchange.Head {
  init?(_ response: URLResponse) {
    guard let response = response as? HTTPURLResponse else { return nil }
    self.init(
      status: response.statusCode, type: response.value(forHTTPHeaderField: "Content-Type"),
      retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
      date: response.value(forHTTPHeaderField: "Date"))
  }
}
