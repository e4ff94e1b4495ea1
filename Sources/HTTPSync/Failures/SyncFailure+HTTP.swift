// Failures: the room of what the end of an HTTP request means to a client: an error of URLSession,
// and a status with its headers. So no source has to find that out again.
//
// Failures may use: no other room.

public import UpdateMachine

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension SyncFailure {
  /// Classifies what was thrown while a request was made and its answer was decoded.
  ///
  ///     do {
  ///       let (data, response) = try await session.data(from: url)
  ///       if let failure = SyncFailure(response) { throw failure }
  ///       return try JSONDecoder().decode(Answer.self, from: data)
  ///     } catch {
  ///       throw SyncFailure(error)
  ///     }
  ///
  /// | error | failure |
  /// | --- | --- |
  /// | a `SyncFailure` | itself |
  /// | `URLError`: timed out | `timedOut` |
  /// | `URLError`: the answer is no HTTP, is too large, or redirects for ever | `serverFault` |
  /// | any other `URLError`: no network, host or trust, a broken connection | `unreachable` |
  /// | cancelled (`URLError`, `CancellationError`) | `unreachable` |
  /// | `DecodingError`, `EncodingError` | `malformed` |
  /// | anything else | `serverFault` |
  public init(_ error: any Error) {
    switch error {
    case let failure as SyncFailure: self = failure
    case let error as URLError: self = ConnectionFault(error.code).failure
    case is DecodingError, is EncodingError: self = .malformed
    case is CancellationError: self = .unreachable
    default: self = .serverFault
    }
  }

  /// Classifies an answer by its status and headers; `nil`: it succeeded, and its body is of the
  /// type that is wanted.
  ///
  /// An answer of another type is not the app's server's, whatever its status says: a proxy's page,
  /// or a hotel's. It is `serverFault`, so that a 404 or 401 of theirs costs the client nothing.
  /// Only a request for patience is believed of anybody.
  ///
  /// An answer without a `Content-Type` is judged by its status, as in
  /// ``init(status:retryAfter:date:)``. If it is a success, it must be 204 or 205.
  ///
  /// - Parameters:
  ///   - response: the answer.
  ///   - type: the media type of the server's answers, in lower case, without parameters. For
  ///     `application/json`, a failure may also have a type that ends in `+json`.
  public init?(_ response: URLResponse, type: String = "application/json") {
    guard let response = response as? HTTPURLResponse else {
      self = .serverFault
      return
    }
    let status = response.statusCode
    let failure = SyncFailure(
      status: status, retryAfter: response.value(forHTTPHeaderField: "Retry-After"),
      date: response.value(forHTTPHeaderField: "Date"))
    if let failure, case .rateLimited = failure {
      self = failure
      return
    }
    let isOurs: Bool
    if let found = response.value(forHTTPHeaderField: "Content-Type") {
      let name = found.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
      let isProblem = failure != nil && type == "application/json" && name.hasSuffix("+json")
      isOurs = name == type || isProblem
    } else {
      isOurs = failure != nil || status == 204 || status == 205
    }
    guard let failure = isOurs ? failure : .serverFault else { return nil }
    self = failure
  }

  /// Classifies a status; `nil`: it is a success (2xx).
  ///
  /// | status | failure | |
  /// | --- | --- | --- |
  /// | 401 | `unauthorized` | the user must log in again |
  /// | 403 | `rejected` | the user is known, and may not. A new log-in would not help |
  /// | 407, 511 | `serverFault` | a proxy or a portal, and not the server |
  /// | 408 | `timedOut` | |
  /// | 410 | `expired` | the server no longer has what comes after the client's place |
  /// | 413 and all other 4xx | `rejected` | with the status as its code |
  /// | 421, 425 | `serverFault` | the request may succeed if it is made again |
  /// | 426 | `unsupported` | the app must be updated |
  /// | 429 | `rateLimited` | |
  /// | 503 with `Retry-After` | `rateLimited` | |
  /// | all other 5xx | `serverFault` | |
  /// | 1xx, 3xx, no HTTP status | `serverFault` | a redirection that was not followed |
  ///
  /// - Parameters:
  ///   - status: the HTTP status.
  ///   - retryAfter: the `Retry-After` header: seconds, or a date.
  ///   - date: the `Date` header, from which a date is counted. Without it, such a date is ignored.
  public init?(status: Int, retryAfter: String? = nil, date: String? = nil) {
    let wait = RetryAfter.wait(retryAfter, answeredAt: date)
    switch status {
    case 200..<300: return nil
    case 401: self = .unauthorized
    case 407, 421, 425: self = .serverFault
    case 408: self = .timedOut
    case 410: self = .expired
    case 426: self = .unsupported
    case 429: self = .rateLimited(after: wait)
    case 400..<500: self = .rejected(RejectionCode("\(status)"))
    case 503: self = wait.map { .rateLimited(after: $0) } ?? .serverFault
    default: self = .serverFault
    }
  }
}

extension PushAnswer {
  /// The answer that a status alone gives: `tooLarge` if it is 413; `nil`: any other. It is
  /// believed of anybody, because mostly it is a proxy that bounds the bodies of requests. Ask for
  /// it before `SyncFailure.init?(_:type:)`, which would take a proxy's page for a fault that may
  /// pass.
  public init?(_ response: URLResponse) {
    guard (response as? HTTPURLResponse)?.statusCode == 413 else { return nil }
    self = .tooLarge
  }
}

extension PushFailure {
  /// Classifies what was thrown while changes were sent, as `SyncFailure.init(_:)` does.
  ///
  /// It says that the request has not left the device only if there was no network, or none that
  /// may be used, and the error names the request's own URL. In all other cases the server may have
  /// it: an unknown host, and a connection that was refused, may also come after a redirection, and
  /// the server that redirects may have read the request.
  ///
  /// - Parameters:
  ///   - error: what was thrown.
  ///   - request: the request that was made.
  public init(_ error: any Error, sending request: URLRequest) {
    let failure = SyncFailure(error)
    guard let known = error as? URLError, let url = known.failingURL?.absoluteString else {
      self.init(failure)
      return
    }
    switch known.code {
    case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      self.init(failure, hasLeft: url != request.url?.absoluteString)
    default: self.init(failure)
    }
  }
}
