import Foundation
import LoopbackServer
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

@testable import ZulipSync

/// Tests what a client learns of each way in which a request can go wrong, through a real
/// URLSession.
@Suite(.timeLimit(.minutes(3))) struct ClassificationOverHTTPTests {
  /// A wrong answer, and what it means.
  struct Case: CustomTestStringConvertible {
    var name: String
    var response: Response
    var failure: SyncFailure
    var reason: ZulipFailure.Reason?

    init(
      _ name: String, _ response: Response, _ failure: SyncFailure,
      _ reason: ZulipFailure.Reason? = nil
    ) {
      (self.name, self.response, self.failure, self.reason) = (name, response, failure, reason)
    }

    var testDescription: String { name }
  }

  private static let html = "<!DOCTYPE html><title>Log in</title>"

  private static func with(_ response: Response, _ name: String, _ value: String) -> Response {
    var response = response
    response.headers[name] = value
    return response
  }

  private static func redirect(_ status: Int, to place: String) -> Response {
    with(.text(html, status: status, type: "text/html"), "Location", place)
  }

  static let answers: [Case] = [
    Case("a proxy's page", .text(html, type: "text/html"), .serverFault, .noEnvelope),
    Case("a proxy's 502", .badGateway, .serverFault, .noEnvelope),
    Case("HTML with 404", .text(html, status: 404, type: "text/html"), .serverFault, .noEnvelope),
    Case("HTML with 401", .text(html, status: 401, type: "text/html"), .serverFault, .noEnvelope),
    Case("JSON as text", .text(#"{"result":"success","events":[]}"#), .serverFault, .noEnvelope),
    Case("an empty body", Response(headers: ["Content-Type": "application/json"]), .serverFault),
    Case("204", Response(status: 204), .serverFault, .noEnvelope),
    Case("304", Response(status: 304, headers: ["ETag": "x"]), .serverFault, .noEnvelope),
    Case("half a JSON object", .json(#"{"result":"success","eve"#), .serverFault, .noEnvelope),
    Case("a success without events", .success(), .malformed),
    Case(
      "events that are none", .success(#""events":{}"#), .malformed,
      .malformed(.malformed(path: "events"))),
    Case("an event without an ID", .events(#"{"type":"message"}"#), .malformed),
    Case("a page to log in", redirect(302, to: "/login/?next=/api"), .serverFault, .redirected),
    Case("another site", redirect(307, to: "https://evil.example/"), .serverFault, .redirected),
    Case("a file", redirect(301, to: "file:///etc/passwd"), .serverFault, .redirected),
    Case("nowhere", Response(status: 302), .serverFault, .redirected),
    Case(
      "an expired queue", .error(400, "BAD_EVENT_QUEUE_ID"), .expired,
      .refused(RejectionCode("BAD_EVENT_QUEUE_ID"))),
    Case("401", .error(401, "UNAUTHORIZED"), .unauthorized),
    Case("a bad key", .error(401, "INVALID_API_KEY"), .unauthorized),
    Case(
      "401 with a challenge",
      with(.error(401, "UNAUTHORIZED"), "WWW-Authenticate", #"Basic realm="zulip""#),
      .unauthorized, .refused(RejectionCode("UNAUTHORIZED"))),
    Case(
      "HTML with a challenge",
      with(.text(html, status: 401, type: "text/html"), "WWW-Authenticate", "Negotiate, Digest"),
      .serverFault, .noEnvelope),
    Case("a bad narrow", .error(400, "BAD_NARROW"), .rejected(RejectionCode("BAD_NARROW"))),
    Case(
      "no right to", .error(400, "UNAUTHORIZED_PRINCIPAL"),
      .rejected(RejectionCode("UNAUTHORIZED_PRINCIPAL"))),
    Case("405", .json(#"{"result":"error","msg":""}"#, status: 405), .rejected(.none)),
    Case("500", .json(#"{"result":"error","msg":""}"#, status: 500), .serverFault),
    Case(
      "429 with a float", .error(429, "RATE_LIMIT_HIT", #""retry-after":54.37"#),
      .rateLimited(after: .milliseconds(54_370))),
    Case(
      "429 of a proxy", with(.text(html, status: 429, type: "text/html"), "Retry-After", "7"),
      .rateLimited(after: .seconds(7))),
    Case(
      "429 with a date",
      with(
        with(.text(html, status: 429), "Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"), "Date",
        "Sun, 06 Nov 1994 08:49:30 GMT"), .rateLimited(after: .seconds(7))),
    Case(
      "429 for ever", with(.text("", status: 429), "Retry-After", "1e300"),
      .rateLimited(after: .forever)),
    Case(
      "429 for less than nothing", with(.error(429, "RATE_LIMIT_HIT"), "Retry-After", "-5"),
      .rateLimited(after: nil)),
    Case(
      "a rate limit without its status", .error(400, "RATE_LIMIT_HIT", #""retry-after":3"#),
      .rateLimited(after: .seconds(3)), .refused(RejectionCode("RATE_LIMIT_HIT"))),
    Case(
      "429 for no number", with(.error(429, "RATE_LIMIT_HIT"), "Retry-After", "nan"),
      .rateLimited(after: nil)),
  ]

  static let faults: [Case] = [
    Case("a body cut in the middle", .events().with(.cut(after: 100)), .unreachable, .broken),
    Case("less than was said", .events().with(.contentLength(1000)), .unreachable, .broken),
    Case("a head cut in the middle", .events().with(.cut(after: 10)), .unreachable, .broken),
    Case("nothing", .events().with(.cut(after: 0)), .unreachable, .broken),
    Case(
      "429 with a body cut in the middle",
      with(.error(429, "RATE_LIMIT_HIT").with(.contentLength(1000)), "Retry-After", "7"),
      .rateLimited(after: .seconds(7))),
    Case(
      "503 with a body cut in the middle",
      with(.text(html, status: 503).with(.contentLength(1000)), "Retry-After", "8"),
      .rateLimited(after: .seconds(8))),
    Case(
      "500 with a body cut in the middle",
      .json(#"{"result":"error","msg":""}"#, status: 500).with(.contentLength(1000)), .serverFault),
    Case("a reset", .events().with(.reset(after: 0)), .unreachable, .broken),
    Case("a late reset", .events().with(.reset(after: 100)), .unreachable, .broken),
    Case(
      "a cut between chunks",
      Response(
        headers: ["Content-Type": "application/json"], body: Array(#"{"result":"x"}"#.utf8),
        chunk: 4
      ).with(.cut(after: 100)), .unreachable, .broken),
    Case("more than was said", .events().with(.contentLength(12)), .serverFault, .noEnvelope),
    Case(
      "no HTTP", .events().with(.garbage(Array("\u{16}\u{3}\u{1}\u{2}".utf8))), .serverFault,
      .notHTTP),
  ]

  @Test(arguments: answers + faults)
  func `each failure is classified, and shows nothing of the request`(wrong: Case) async throws {
    try await Ada.serve { _ in
      wrong.response
    } while: { server, connection in
      let failure = await Ada.failure { () throws(ZulipFailure) in
        try await connection.events(after: aFinger, waits: false)
      }
      let shown = try #require(failure)
      #expect(shown.failure == wrong.failure)
      if let reason = wrong.reason { #expect(shown.reason == reason) }
      #expect(shown.hasLeft)
      var dumped = ""
      dump(shown, to: &dumped)
      for text in ["\(shown)", String(reflecting: shown), dumped, shown.localizedDescription] {
        #expect(!text.contains(Ada.key))
        #expect(!text.contains("queue_id"), "\(text)")
        #expect(!text.contains("secret"), "\(text)")
      }
    }
  }

  @Test func `a server that does not listen has received nothing`() async throws {
    // The system gives port 1 to nobody. A port that was just released may already belong to
    // another test.
    let connection = try ZulipConnection(
      to: try ZulipSite("http://127.0.0.1:1"), email: Ada.email, key: try ZulipAPIKey(Ada.key))
    let failure = await Ada.failure { () throws(ZulipFailure) in
      try await connection.send(.direct([UserID(1)]), "hi")
    }
    #expect(failure == ZulipFailure(.unreachable, .notConnected, hasLeft: false))
  }

  /// A name has several addresses, and nobody listens at the others. A refusal there does not prove
  /// that nothing was sent.
  @Test(arguments: [LoopbackServer.Family.ipv4, .ipv6])
  func `a request counts as sent even if another address refused it before`(
    family: LoopbackServer.Family
  ) async throws {
    for fault in [LoopbackServer.Fault.cut(after: 0), .reset(after: 0), .cut(after: 10)] {
      let count = Shared(0)
      let server = try await LoopbackServer.alone(on: family) { _ in
        count.change { $0 += 1 }
        return Response.success().with(fault)
      }
      guard let running = server else { return }
      let connection = try ZulipConnection(
        to: try ZulipSite("http://localhost:\(running.port)"), email: Ada.email,
        key: try ZulipAPIKey(Ada.key))
      let sent = await Ada.failure { () throws(ZulipFailure) in
        try await connection.send(.direct([UserID(1)]), "once")
      }
      #expect(sent == ZulipFailure(.unreachable, .broken), "\(fault)")
      // Without a body, nobody can tell what became of the request.
      let deleted = await Ada.failure { () throws(ZulipFailure) in
        try await connection.delete(MessageID(1))
      }
      #expect(deleted?.failure == .unreachable)
      #expect(deleted?.hasLeft == true)
      #expect(count.value == 2)
      await running.stop()
    }
  }

  @Test func `a name without a listening address has received nothing`() async throws {
    let connection = try ZulipConnection(
      to: try ZulipSite("http://localhost:1"), email: Ada.email,
      key: try ZulipAPIKey(Ada.key))
    let failure = await Ada.failure { () throws(ZulipFailure) in
      try await connection.send(.direct([UserID(1)]), "hi")
    }
    #expect(failure == ZulipFailure(.unreachable, .notConnected, hasLeft: false))
  }

  @Test func `the key goes only to the site, whatever a redirection says`() async throws {
    let strangers = Shared<[LoopbackServer.Request]>([])
    let stranger = try LoopbackServer { request in
      strangers.change { $0.append(request) }
      return .events()
    }
    let address = stranger.address
    try await Ada.serve { request in
      let status = request.path.hasSuffix("events") ? 302 : 307
      return ClassificationOverHTTPTests.redirect(status, to: "\(address)\(request.path)")
    } while: { server, connection in
      for _ in 0..<3 {
        let polled = await Ada.failure { () throws(ZulipFailure) in
          try await connection.events(after: aFinger, waits: false)
        }
        #expect(polled?.reason == .redirected)
        let sent = await Ada.failure { () throws(ZulipFailure) in
          try await connection.send(.direct([UserID(1)]), "hi")
        }
        #expect(sent?.reason == .redirected)
      }
      #expect(server.counters.requests == 6, "the same site is not asked again either")
    }
    #expect(stranger.counters.accepted == 0)
    await stranger.stop()
  }

  @Test func `a connection keeps no cookie and caches nothing`() async throws {
    let heads = Shared<[LoopbackServer.Headers]>([])
    try await Ada.serve { request in
      heads.change { $0.append(request.headers) }
      var answer = Response.events()
      answer.headers["Set-Cookie"] = "session=abc; Path=/"
      answer.headers["ETag"] = "\"v1\""
      answer.headers["Cache-Control"] = "max-age=3600"
      return answer
    } while: { server, connection in
      for _ in 0..<3 { _ = try await connection.events(after: aFinger, waits: false) }
      #expect(server.counters.requests == 3)
    }
    for head in heads.value {
      #expect(head["Cookie"] == nil)
      #expect(head["If-None-Match"] == nil)
    }
  }
}
