import SyncProtocols
import UpdateMachine

/// How a request ended, without the details, so that a table can name it.
enum Outcome: String, CaseIterable, Hashable {
  case success, expired, rejected, malformed, unsupported, unauthorized, rateLimited
  case serverFault, timedOut, unreachable, modelRefused

  init(_ reply: DecodedReply) {
    guard case .failed(let failure) = reply else {
      self = .success
      return
    }
    switch failure {
    case .unreachable: self = .unreachable
    case .timedOut: self = .timedOut
    case .serverFault: self = .serverFault
    case .rateLimited: self = .rateLimited
    case .unauthorized: self = .unauthorized
    case .unsupported: self = .unsupported
    case .expired: self = .expired
    case .rejected: self = .rejected
    case .malformed: self = .malformed
    case .modelRefused: self = .modelRefused
    }
  }
}

/// What answers mean according to ZulipServer, as a table. It is written independently of the
/// classifier, so that the two can be compared.
enum Expectation {
  struct Row {
    var statuses: ClosedRange<Int>
    var envelope: Envelope
    /// `nil` stands for any code, or none.
    var code: String?
    var means: Outcome
  }

  enum Envelope {
    case absent
    case says(ServerAnswer.Result)
  }

  /// The first row that fits counts.
  static let rows = [
    Row(statuses: 429...429, envelope: .says(.error), means: .rateLimited),
    Row(statuses: 429...429, envelope: .absent, means: .rateLimited),
    Row(statuses: 100...599, envelope: .absent, means: .serverFault),
    Row(statuses: 200...299, envelope: .says(.success), means: .success),
    Row(
      statuses: 400...400, envelope: .says(.error), code: "BAD_EVENT_QUEUE_ID", means: .expired),
    Row(statuses: 401...401, envelope: .says(.error), means: .unauthorized),
    Row(statuses: 400...499, envelope: .says(.error), means: .rejected),
    Row(statuses: 500...599, envelope: .says(.error), means: .serverFault),
  ]

  /// The codes that ZulipServer shows with only one status.
  static let statusOfCode = [
    "AUTHENTICATION_FAILED": 401, "BAD_EVENT_QUEUE_ID": 400, "RATE_LIMIT_HIT": 429,
    "UNAUTHORIZED": 401,
  ]

  /// What an answer means; `nil` if no row fits. The protocol has no answer whose status
  /// contradicts its envelope, such as a 200 with an error.
  static func outcome(status: Int, result: ServerAnswer.Result?, code: String?) -> Outcome? {
    if let code, let proper = statusOfCode[code], proper != status { return nil }
    return rows.first { row in
      guard row.statuses.contains(status), row.code == nil || row.code == code else { return false }
      switch row.envelope {
      case .absent: return result == nil
      case .says(let expected): return result == expected
      }
    }?.means
  }

  /// What an exchange must be classified as.
  static func outcome(of exchange: Exchange) -> Outcome? {
    switch exchange.response {
    case .transportError(let text):
      return text.contains("Timeout") ? .timedOut : .unreachable
    case .answer(let status, _, let body):
      let outcome = outcome(status: status, result: body?.result, code: body?.code)
      guard outcome == .success else { return outcome }
      switch exchange.request.kind {
      case .register: return body?.queue == nil || body?.lastEventID == nil ? .malformed : .success
      case .poll: return body?.events == nil ? .malformed : .success
      case .release, .other: return .success
      }
    }
  }

  /// How many seconds a client must wait after a refusal for its rate. The body's number counts
  /// before the header's.
  static func retryAfter(of exchange: Exchange) -> Double? {
    guard case .answer(_, let headers, let body) = exchange.response else { return nil }
    return body?.retryAfter
      ?? DecodedReply.header("retry-after", in: headers).flatMap { Double($0) }
  }

  /// Where an outcome leads (TheMachine §4–5).
  enum End: Hashable {
    case live
    case pollFailed
    case registerFailed
    /// The machine registers, or waits to register.
    case withoutFinger
    case haltedForCredentials
    case haltedAsUnsupported

    func allows(_ status: MachineStatus) -> Bool {
      switch self {
      case .live: status.isLive
      case .pollFailed: status == .pollFailed
      case .registerFailed: status == .registerFailed
      case .withoutFinger:
        switch status {
        case .registering, .registerFailed: true
        case .stale, .idle, .live, .pollFailed, .halted: false
        }
      case .haltedForCredentials: status == .halted(.credentials)
      case .haltedAsUnsupported: status == .halted(.unsupported)
      }
    }

    /// Whether the finger is kept, if there was one.
    var keepsFinger: Bool {
      switch self {
      case .live, .pollFailed, .haltedForCredentials: true
      case .registerFailed, .withoutFinger, .haltedAsUnsupported: false
      }
    }
  }

  static func end(after outcome: Outcome, isRegister: Bool) -> End {
    switch outcome {
    case .success: .live
    case .unauthorized: .haltedForCredentials
    case .unsupported: .haltedAsUnsupported
    case .expired, .rejected, .malformed, .modelRefused:
      isRegister ? .registerFailed : .withoutFinger
    case .rateLimited, .serverFault, .timedOut, .unreachable:
      isRegister ? .registerFailed : .pollFailed
    }
  }

  /// Whether the machine lets the queue go by itself (TheMachine §5, `release`).
  static func releases(after outcome: Outcome, isRegister: Bool) -> Bool {
    switch outcome {
    case .rejected, .malformed, .modelRefused, .unsupported: !isRegister
    case .success, .expired, .unauthorized, .rateLimited, .serverFault, .timedOut, .unreachable:
      false
    }
  }
}

extension Expectation.End: CustomStringConvertible {
  var description: String {
    switch self {
    case .live: "live"
    case .pollFailed: "pollFailed"
    case .registerFailed: "registerFailed"
    case .withoutFinger: "registering or registerFailed"
    case .haltedForCredentials: "halted(credentials)"
    case .haltedAsUnsupported: "halted(unsupported)"
    }
  }
}
