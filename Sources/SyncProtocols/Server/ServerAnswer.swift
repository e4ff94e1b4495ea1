public import UpdateMachine

/// What the protocol's envelope looks like from outside, after the transport and the JSON parser
/// have done their work: all that is needed to say what an answer means.
public struct ServerAnswer: Hashable, Sendable {
  /// The HTTP status.
  public var status: Int
  /// The JSON object's `result`; `nil` if the body is not such an object: HTML, nothing, half of one.
  public var result: Result?
  /// The JSON object's `code`.
  public var code: String?
  /// The body's `retry-after`, else the header's. Not a number, or a number that makes no sense:
  /// `nil`.
  public var retryAfter: TimeSpan?

  public enum Result: Hashable, Sendable {
    case success
    case error
  }

  @inlinable
  public init(
    status: Int, result: Result?, code: String? = nil, retryAfter: TimeSpan? = nil
  ) {
    self.status = status
    self.result = result
    self.code = code
    self.retryAfter = retryAfter
  }

  /// What an answer means (PROTOCOL.md, Errors); `nil`: it succeeded, and its fields may be read.
  ///
  /// Decided on status and code, never on a message's wording (BUGS 24). An answer without the
  /// envelope is nobody's refusal: a proxy or a portal gave it, whatever its status says, so it is
  /// `serverFault` and costs no finger. Only 429 is believed without one, for it asks for no more
  /// than patience.
  public func failure() -> SyncFailure? {
    if status == 429 { return .rateLimited(after: retryAfter) }
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

/// Why a register was refused before anything was made.
public struct RegisterRefusal: Error, Hashable, Sendable {
  public var answer: ServerAnswer

  @inlinable
  init(answer: ServerAnswer) { self.answer = answer }
}
