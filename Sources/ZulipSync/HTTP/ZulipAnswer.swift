import Foundation
import HTTPSync
import SyncProtocols
import UpdateMachine

/// An HTTP answer as received, with as much of its body as is allowed.
struct ZulipAnswer: Sendable {
  var status: Int
  var contentType: String?
  var retryAfter: String?
  /// The `Date` header: when the server answered.
  var date: String?
  /// The `X-RateLimit-Remaining` header.
  var remaining: String?
  var body = Data()
  /// Whether the body was longer than is allowed.
  var isTooLarge = false

  /// Returns the fields of a success. Anything else is a failure, which ``ServerAnswer``
  /// classifies.
  /// - Parameter wallTime: the current date, for an answer without a `Date`.
  func fields(at wallTime: WallTime) throws(ZulipFailure) -> ZulipFields {
    let fields = isJSON && !isTooLarge ? (try? ZulipValue(json: body))?.fields : nil
    let answer = ServerAnswer(
      status: status, result: ZulipAnswer.result(fields), code: fields?["code"]?.text,
      retryAfter: ZulipAnswer.wait(fields?["retry-after"])
        ?? RetryAfter.wait(retryAfter, answeredAt: date, or: wallTime))
    let failure = answer.failure()
    if let fields, failure == nil { return fields }
    // The server would repeat an answer that is too long: only another request can help.
    if isTooLarge, isJSON, (200..<300).contains(status) {
      throw ZulipFailure(.malformed, .tooLarge, status: status)
    }
    var refusal = ZulipFailure(failure ?? .serverFault, reason(answer), status: status)
    refusal.words = fields?["msg"]?.text ?? ""
    throw refusal
  }

  /// How many more requests the server allows now; `nil`: it has not said.
  var left: Int? { remaining.flatMap { Int($0) } }

  private func reason(_ answer: ServerAnswer) -> ZulipFailure.Reason {
    if isTooLarge { return .tooLarge }
    if (300..<400).contains(status), status != 304 { return .redirected }
    return answer.result == nil ? .noEnvelope : .refused(RejectionCode(answer.code ?? ""))
  }

  private static func result(_ fields: ZulipFields?) -> ServerAnswer.Result? {
    switch fields?["result"]?.text {
    case "success": .success
    case "error": .error
    default: nil
    }
  }

  /// Whether the answer claims to be JSON. Otherwise it is not from the Zulip server, whatever it
  /// holds.
  private var isJSON: Bool {
    guard let type = contentType?.prefix(while: { $0 != ";" }) else { return false }
    return type.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
  }
}

extension ZulipAnswer {
  /// The wait that the body asks for, in seconds.
  static func wait(_ value: ZulipValue?) -> TimeSpan? {
    switch value {
    case .number(let seconds): TimeSpan(wholeOrNotSeconds: Double(seconds))
    case .fraction(let seconds): TimeSpan(wholeOrNotSeconds: seconds)
    case nil, .null, .bool, .text, .list, .fields: nil
    }
  }
}
