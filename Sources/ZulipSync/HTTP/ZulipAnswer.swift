import Foundation
import SyncProtocols
package import UpdateMachine

/// An HTTP answer as received, with as much of its body as is allowed.
struct ZulipAnswer: Sendable {
  var status: Int
  var contentType: String?
  var retryAfter: String?
  /// The `Date` header: when the server answered.
  var date: String?
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
        ?? ZulipAnswer.wait(retryAfter, answeredAt: date, or: wallTime))
    let failure = answer.failure()
    if let fields, failure == nil { return fields }
    // The server would repeat an answer that is too long: only another request can help.
    if isTooLarge, isJSON, (200..<300).contains(status) {
      throw ZulipFailure(.malformed, .tooLarge, status: status)
    }
    throw ZulipFailure(failure ?? .serverFault, reason(answer), status: status)
  }

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

// MARK: How long to wait

extension ZulipAnswer {
  /// The wait that the body asks for, in seconds.
  static func wait(_ value: ZulipValue?) -> TimeSpan? {
    switch value {
    case .number(let seconds): TimeSpan(wholeOrNotSeconds: Double(seconds))
    case .fraction(let seconds): TimeSpan(wholeOrNotSeconds: seconds)
    case nil, .null, .bool, .text, .list, .fields: nil
    }
  }

  /// The wait that the header asks for: seconds, whole or not, or a date. A date in the past means
  /// no wait.
  static func wait(
    _ text: String?, answeredAt date: String?, or wallTime: WallTime
  ) -> TimeSpan? {
    guard let text = text?.trimmingCharacters(in: .whitespaces), let first = text.utf8.first
    else { return nil }
    if first >= UInt8(ascii: "A") {
      guard let then = seconds(ofDate: text) else { return nil }
      let now = date.flatMap { seconds(ofDate: $0) } ?? wallTime.milliseconds / 1000
      return max(.zero, .seconds(then - now))
    }
    return Double(text).flatMap { TimeSpan(wholeOrNotSeconds: $0) }
  }

  /// Parses "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7) to seconds since the epoch. The two
  /// older formats are no longer in use.
  static func seconds(ofDate text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = number(words[1], in: 1...31),
      let month = months.firstIndex(of: String(words[2])),
      let year = number(words[3], in: 1970...9999)
    else { return nil }
    let time = words[4].split(separator: ":")
    guard time.count == 3, let hour = number(time[0], in: 0...23),
      let minute = number(time[1], in: 0...59), let second = number(time[2], in: 0...60)
    else { return nil }
    // Counts days in a calendar whose years begin in March: a leap day is then the year's last day.
    let shifted = month < 2 ? year - 1 : year
    let months = Int64((month + 10) % 12)
    let days =
      shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (months * 153 + 2) / 5 + day
    return (days - 719_469) * 86_400 + hour * 3600 + minute * 60 + second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ text: Substring, in range: ClosedRange<Int64>) -> Int64? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int64(text).flatMap { range.contains($0) ? $0 : nil }
  }
}

extension TimeSpan {
  /// Converts seconds with a fraction, rounded up to the millisecond: a server that says 54.3147 s
  /// refuses requests after 54.314 s. Returns `nil` for a negative or non-finite number.
  package init?(wholeOrNotSeconds seconds: Double) {
    guard seconds.isFinite, seconds >= 0 else { return nil }
    let milliseconds = (seconds * 1000).rounded(.up)
    self = milliseconds < 9e18 ? .milliseconds(Int64(milliseconds)) : .forever
  }
}
