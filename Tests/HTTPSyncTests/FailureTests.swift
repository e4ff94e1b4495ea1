import Foundation
import HTTPSync
import Testing
import UpdateMachine

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What errors and statuses mean, row by row.
@Suite struct FailureTests {
  private static let site = URL(string: "http://example.org/push")!

  @Test(
    arguments: [
      (.timedOut, .timedOut),
      (.cannotParseResponse, .serverFault), (.dataLengthExceedsMaximum, .serverFault),
      (.httpTooManyRedirects, .serverFault),
      (.notConnectedToInternet, .unreachable), (.cannotFindHost, .unreachable),
      (.cannotConnectToHost, .unreachable), (.networkConnectionLost, .unreachable),
      (.serverCertificateUntrusted, .unreachable), (.cancelled, .unreachable),
      (.unknown, .unreachable),
    ] as [(URLError.Code, SyncFailure)])
  func `an error of URLSession`(code: URLError.Code, failure: SyncFailure) {
    #expect(SyncFailure(URLError(code)) == failure)
    #expect(PushFailure(URLError(code), sending: URLRequest(url: FailureTests.site)).hasLeft)
  }

  @Test(
    arguments: [
      (.notConnectedToInternet, false), (.internationalRoamingOff, false), (.callIsActive, false),
      (.dataNotAllowed, false), (.cannotFindHost, true), (.cannotConnectToHost, true),
      (.networkConnectionLost, true), (.timedOut, true), (.cancelled, true),
    ] as [(URLError.Code, Bool)])
  func `a request has certainly not left only without a network`(
    code: URLError.Code, hasLeft: Bool
  ) {
    func failure(at url: URL) -> PushFailure {
      let error = URLError(code, userInfo: [NSURLErrorFailingURLErrorKey: url])
      return PushFailure(error, sending: URLRequest(url: FailureTests.site))
    }
    #expect(failure(at: FailureTests.site).hasLeft == hasLeft)
    // After a redirection.
    #expect(failure(at: URL(string: "http://example.org/other")!).hasLeft)
  }

  @Test func `any other error`() throws {
    struct Other: Error {}
    #expect(SyncFailure(SyncFailure.expired) == .expired)
    let request = URLRequest(url: FailureTests.site)
    #expect(PushFailure(SyncFailure.expired, sending: request) == PushFailure(.expired))
    #expect(SyncFailure(CancellationError()) == .unreachable)
    #expect(SyncFailure(Other()) == .serverFault)
    let error = try #require(
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode([Int].self, from: Data("{".utf8))
      })
    #expect(SyncFailure(error) == .malformed)
  }

  @Test(
    arguments: [
      (200, nil), (204, nil), (299, nil),
      (100, .serverFault), (302, .serverFault), (304, .serverFault),
      (400, .rejected(RejectionCode("400"))), (401, .unauthorized),
      (403, .rejected(RejectionCode("403"))), (404, .rejected(RejectionCode("404"))),
      (407, .serverFault), (408, .timedOut), (410, .expired),
      (413, .rejected(RejectionCode("413"))), (421, .serverFault), (425, .serverFault),
      (426, .unsupported), (429, .rateLimited(after: nil)),
      (500, .serverFault), (502, .serverFault), (503, .serverFault), (504, .serverFault),
      (511, .serverFault), (0, .serverFault), (-1, .serverFault), (600, .serverFault),
    ] as [(Int, SyncFailure?)])
  func `a status`(status: Int, failure: SyncFailure?) {
    #expect(SyncFailure(status: status) == failure)
  }

  @Test(
    arguments: [
      ("3", nil, .seconds(3)), (" 0.5 ", nil, .milliseconds(500)), ("0", nil, .seconds(0)),
      ("-1", nil, nil), ("soon", nil, nil), ("", nil, nil),
      ("Sun, 06 Nov 1994 08:49:37 GMT", nil, nil),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", .seconds(30)),
      ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT", .seconds(0)),
    ] as [(String, String?, TimeSpan?)])
  func `a time to wait`(text: String, date: String?, wait: TimeSpan?) {
    #expect(SyncFailure(status: 429, retryAfter: text, date: date) == .rateLimited(after: wait))
    let failure = SyncFailure(status: 503, retryAfter: text, date: date)
    #expect(failure == wait.map { .rateLimited(after: $0) } ?? .serverFault)
    #expect(SyncFailure(status: 401, retryAfter: text, date: date) == .unauthorized)
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
  ])
  func `dates are seconds since the epoch`(text: String, seconds: Int64) {
    #expect(RetryAfter.seconds(ofDate: text) == seconds)
  }

  @Test(
    arguments: [
      (200, "application/json", nil), (200, "Application/JSON; charset=utf-8", nil),
      (204, nil, nil), (410, nil, .expired), (200, nil, .serverFault),
      (200, "text/html", .serverFault), (200, "application/problem+json", .serverFault),
      (401, "text/html", .serverFault), (404, "text/html", .serverFault),
      (410, "text/html; charset=utf-8", .serverFault),
      (410, "application/problem+json", .expired),
      (429, "text/html", .rateLimited(after: .seconds(9))),
      (503, "text/html", .rateLimited(after: .seconds(9))), (502, "text/html", .serverFault),
    ] as [(Int, String?, SyncFailure?)])
  func `an answer of another type is not the server's`(
    status: Int, type: String?, failure: SyncFailure?
  ) throws {
    var headers = ["Retry-After": "9"]
    headers["Content-Type"] = type
    let response = try #require(
      HTTPURLResponse(
        url: FailureTests.site, statusCode: status, httpVersion: nil, headerFields: headers))
    #expect(SyncFailure(response) == failure)
  }

  @Test func `an answer that is no HTTP is a fault, and the type can be another`() throws {
    let file = URLResponse(
      url: FailureTests.site, mimeType: "application/json", expectedContentLength: 0,
      textEncodingName: nil)
    #expect(SyncFailure(file) == .serverFault)
    let response = try #require(
      HTTPURLResponse(
        url: FailureTests.site, statusCode: 200, httpVersion: nil,
        headerFields: ["Content-Type": "application/cbor"]))
    #expect(SyncFailure(response) == .serverFault)
    #expect(SyncFailure(response, type: "application/cbor") == nil)
  }

  /// Most proxies say so with a page of theirs. Taken for a passing fault, the same push would be
  /// made for ever.
  @Test(arguments: [413, 400, 200])
  func `a push that is too large is known by its status alone`(status: Int) throws {
    let response = try #require(
      HTTPURLResponse(
        url: FailureTests.site, statusCode: status, httpVersion: nil,
        headerFields: ["Content-Type": "text/html"]))
    #expect(PushAnswer(response) == (status == 413 ? .tooLarge : nil))
  }
}
