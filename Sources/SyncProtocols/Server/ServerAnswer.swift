public import UpdateMachine

/// The envelope of an answer, after the transport and the JSON parser have done their work. It has
/// all that is needed to classify the answer.
public struct ServerAnswer: Hashable, Sendable {
  /// The HTTP status.
  public var status: Int
  /// The JSON object's `result`; `nil` if the body is not such an object: HTML, empty, or
  /// truncated.
  public var result: Result?
  /// The JSON object's `code`.
  public var code: String?
  /// The body's `retry-after`, else the header's; `nil` if it is not a number, or not a sensible
  /// one.
  public var retryAfter: TimeSpan?

  /// What the JSON object says of its request.
  public enum Result: Hashable, Sendable {
    /// The request succeeded.
    case success
    /// The request failed; `code` may say why.
    case error
  }

  /// Creates an answer's envelope; by default it has no code and no time to wait.
  @inlinable
  public init(
    status: Int, result: Result?, code: String? = nil, retryAfter: TimeSpan? = nil
  ) {
    self.status = status
    self.result = result
    self.code = code
    self.retryAfter = retryAfter
  }

  /// Classifies the answer (ZulipServer §5); `nil`: it succeeded, and its fields may be read.
  ///
  /// Only status and code decide, never a message's wording (SyncBugs 24). An answer without the
  /// envelope is not the server's. A proxy or a portal sent it, whatever its status, so it is
  /// `serverFault` and does not cost the finger. Only 429, and 503 that says until when, are
  /// believed without the envelope, because all they ask for is patience. With the envelope the
  /// code says so too, whatever status a proxy made of the answer.
  public func failure() -> SyncFailure? {
    let isLimited = status == 429 || result == .error && code == "RATE_LIMIT_HIT"
    if isLimited || status == 503 && retryAfter != nil { return .rateLimited(after: retryAfter) }
    guard let result else { return .serverFault }
    switch status {
    case 200..<300 where result == .success: return nil
    case 401: return .unauthorized
    case 200..<300, 400..<500:
      return code == "BAD_EVENT_QUEUE_ID" ? .expired : .rejected(RejectionCode(code ?? ""))
    default: return .serverFault
    }
  }
}

/// A register that was refused before anything was made.
public struct RegisterRefusal: Error, Hashable, Sendable {
  /// The answer that the client gets.
  public var answer: ServerAnswer

  @inlinable
  init(answer: ServerAnswer) { self.answer = answer }
}
