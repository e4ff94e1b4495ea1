import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

@Suite("What an answer means")
struct AnswerTests {
  private static let now = WallTime(milliseconds: 784_111_777_000)

  private func failure(_ change: (inout ZulipAnswer) -> Void) -> ZulipFailure? {
    var answer = ZulipAnswer(status: 200, contentType: "application/json")
    answer.body = Data(#"{"result":"success","msg":""}"#.utf8)
    change(&answer)
    do throws(ZulipFailure) {
      _ = try answer.fields(at: AnswerTests.now)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    "application/json", "application/json; charset=utf-8", "Application/JSON ;x=y",
  ])
  func `a body with a JSON content type is read`(type: String) {
    #expect(failure { $0.contentType = type } == nil)
  }

  @Test(arguments: [
    nil, "text/html", "text/plain", "application/jsonp", "text/html; application/json",
  ])
  func `a body with another content type has no envelope, whatever it contains`(type: String?) {
    let failure = failure { $0.contentType = type }
    #expect(failure == ZulipFailure(.serverFault, .noEnvelope, status: 200))
  }

  @Test(arguments: [
    "", "{", "null", "[]", "{}", #"{"result":"success""#, #"{"result":1}"#, #"{"result":"maybe"}"#,
    "<html></html>", #"{"msg":""}"#,
  ])
  func `an answer without an envelope is a server's fault`(body: String) {
    let failure = failure { $0.body = Data(body.utf8) }
    #expect(failure == ZulipFailure(.serverFault, .noEnvelope, status: 200))
  }

  @Test(arguments: [
    (301, ZulipFailure.Reason.redirected), (302, .redirected), (307, .redirected),
    (304, .refused(RejectionCode(""))), (500, .refused(RejectionCode(""))),
  ])
  func `no status but 200 is a success`(status: Int, reason: ZulipFailure.Reason) {
    #expect(failure { $0.status = status } == ZulipFailure(.serverFault, reason, status: status))
  }

  @Test(arguments: [
    ("54", 54_000), ("54.3141", 54_315), (" 7 ", 7000), ("0", 0), ("1e3", 1_000_000),
    ("1e9", 1_000_000_000_000), ("1e300", Int64.max), ("Sun, 06 Nov 1994 08:50:37 GMT", 60_000),
    ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
  ])
  func `retry-after is a number of seconds or a date`(text: String, milliseconds: Int64) {
    let failure = failure {
      ($0.status, $0.contentType, $0.retryAfter) = (429, "text/html", text)
    }
    #expect(failure?.failure == .rateLimited(after: .milliseconds(milliseconds)))
  }

  @Test(arguments: [
    "", " ", "-1", "nan", "inf", "-inf", "1e400", "soon", "Sun, 06 Nov 1994", "1;2",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
  ])
  func `an invalid retry-after is ignored`(text: String) {
    let failure = failure { ($0.status, $0.retryAfter) = (429, text) }
    #expect(failure?.failure == .rateLimited(after: nil))
  }

  @Test func `the body's retry-after takes precedence over the header's, if it is valid`() {
    func wait(_ body: String) -> SyncFailure? {
      failure {
        ($0.status, $0.retryAfter) = (429, "3")
        $0.body = Data(#"{"result":"error","code":"RATE_LIMIT_HIT","retry-after":\#(body)}"#.utf8)
      }?.failure
    }
    #expect(wait("54.5") == .rateLimited(after: .milliseconds(54_500)))
    #expect(wait("2") == .rateLimited(after: .seconds(2)))
    for nonsense in ["-1", "\"5\"", "null", "[]", "-1e300"] {
      #expect(wait(nonsense) == .rateLimited(after: .seconds(3)), "\(nonsense)")
    }
  }

  @Test func `a date is compared with the server's own, if it has one`() {
    let failure = failure {
      ($0.status, $0.retryAfter) = (429, "Fri, 01 Mar 2024 00:00:10 GMT")
      $0.date = "Wed, 28 Feb 2024 23:59:50 GMT"
    }
    #expect(failure?.failure == .rateLimited(after: .seconds(86_420)))
  }

  @Test func `a too large success is malformed, another too large answer is a server's fault`() {
    #expect(failure { $0.isTooLarge = true }?.failure == .malformed)
    #expect(
      failure { ($0.isTooLarge, $0.contentType) = (true, "text/html") }?.failure == .serverFault)
    #expect(failure { ($0.isTooLarge, $0.status) = (true, 502) }?.failure == .serverFault)
    #expect(failure { $0.isTooLarge = true }?.reason == .tooLarge)
  }
}
