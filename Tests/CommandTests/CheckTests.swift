import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import RecordingCheck
@testable import simulate

@Suite("check: recorded sessions")
struct CheckTests {
  private static let queue = "359c4b32-5c15-4dd7-a5bf-0fe552409be1"

  @Test func `the shipped recordings agree, and the last line counts what was found`() throws {
    let ran = Ran("check", "--json", "--orders", "2")
    #expect(ran.code == .success, "\(ran.text)")
    #expect(ran.error == [])
    let last = try Tree(try #require(ran.out.last))
    #expect(last["files"] as? Int == 6)
    #expect(last["lines"] as? Int == 2158)
    #expect(last["queues"] as? Int == 34)
    #expect(last["polls"] as? Int == 1382)
    #expect(last["answers"] as? Int == 2153)
    #expect(last["departures"] as? Int == 246)
    #expect(last["differences"] as? Int == 0)
    #expect((last["seconds"] as? Double ?? -1) >= 0)
  }

  @Test func `an honest observer has no departures`() throws {
    var check = Check()
    check.add(try Recording(file: Shipped.recording("session.jsonl")))
    let findings = check.total.findings
    #expect(findings.departures == [])
    #expect(findings.differences == [])
    #expect(findings.pollsAgreed == 82)
    #expect(check.total.polls == 82)
  }

  @Test func `every departure in the recorded queue lifecycle is intended`() throws {
    // The labels of these lines in the file are A3–A11, A12–A14, A15 and A16, A17, A18, A20–A22;
    // B2, B3, B5 and B7; D2–D4; E2 and E3.
    let meant: [(Int, Departure.Kind)] = [
      (12, .oldPlace), (13, .oldPlace), (14, .oldPlace), (15, .oldPlace), (16, .oldPlace),
      (17, .afterTheEnd), (20, .future), (21, .afterTheEnd), (22, .future),
      (23, .malformed), (24, .malformed), (25, .malformed),
      (26, .unknownQueue), (27, .afterTheEnd), (28, .unknownQueue), (29, .unknownQueue),
      (31, .future), (32, .afterTheEnd), (33, .malformed),
      (38, .twoAtOnce), (39, .oldPlace), (41, .twoAtOnce), (43, .twoAtOnce),
      (60, .unknownPlace), (61, .afterTheEnd), (68, .malformed), (69, .malformed),
    ]
    var check = Check()
    check.add(try Recording(file: Shipped.recording("queue-lifecycle.jsonl")))
    let found = check.total.findings.departures
    #expect(found.map(\.line) == meant.map(\.0))
    #expect(found.map(\.kind) == meant.map(\.1))
    #expect(check.total.findings.pollsAgreed == 35)
  }

  @Test func `a departure says what was sent and what an honest client would have sent`() {
    let file = Shipped.recording("tornado-restart.jsonl")
    let ran = Ran("check", "--verbose", file)
    #expect(ran.code == .success)
    #expect(
      ran.out.contains(
        "\(file):27: departure, an old event ID: hamlet/longpoll sent "
          + "poll 3f2f77a5-23ee-429a-9f88-db3f6ecaa922:2; a correct client sends "
          + "poll 3f2f77a5-23ee-429a-9f88-db3f6ecaa922:5"))
  }

  // MARK: Tampered recordings

  /// One change to one line of `session.jsonl`, and what must be reported.
  struct Tampering: Sendable, CustomTestStringConvertible {
    var name: String
    var line: Int
    var change: @Sendable (inout Tree) -> Void
    /// The line where the change is noticed.
    var noticed: Int
    var expected: String
    var found: String

    var testDescription: String { name }
  }

  static let tamperings = [
    Tampering(
      name: "events taken out of an answer", line: 5,
      change: { $0["response", "body", "events"] = [] as [Any] }, noticed: 6,
      expected: "poll \(queue):6", found: "poll \(queue):2"),
    Tampering(
      name: "a poll from the future", line: 7,
      change: { $0["request", "params", "last_event_id"] = 8 }, noticed: 7,
      expected: "poll \(queue):8", found: "poll \(queue):7"),
    Tampering(
      name: "a poll from an old place", line: 7,
      change: { $0["request", "params", "last_event_id"] = 6 }, noticed: 7,
      expected: "event 7 again, which was not acknowledged",
      found: "events [8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]"),
    Tampering(
      name: "another place for the snapshot", line: 1,
      change: { $0["response", "body", "last_event_id"] = 3 }, noticed: 2,
      expected: "poll \(queue):-1", found: "poll \(queue):3"),
    Tampering(
      name: "a success with the status of a refusal", line: 4,
      change: { $0["response", "status"] = 401 }, noticed: 4,
      expected: "a status that agrees with its envelope",
      found: "401 success, taken as unauthorized"),
    Tampering(
      name: "a success with the status of a fault", line: 4,
      change: { $0["response", "status"] = 502 }, noticed: 4,
      expected: "a status that agrees with its envelope",
      found: "502 success, taken as serverFault"),
    Tampering(
      name: "a refusal with the status of a fault", line: 82,
      change: {
        $0["response", "status"] = 500
        $0["response", "body"] = ["result": "error", "code": "BAD_EVENT_QUEUE_ID"]
      }, noticed: 82, expected: "a status that agrees with its envelope",
      found: "500 error BAD_EVENT_QUEUE_ID, taken as serverFault"),
    Tampering(
      name: "an expiry that nothing came of", line: 10,
      change: {
        $0["response", "status"] = 400
        $0["response", "body"] = ["result": "error", "code": "BAD_EVENT_QUEUE_ID"]
      }, noticed: 11, expected: "expired", found: "success"),
  ]

  @Test(arguments: tamperings)
  func `a tampered recording is reported with file, line, expected and found`(
    _ tampering: Tampering
  ) throws {
    var lines = try shippedLines("session.jsonl")
    var tree = try Tree(lines[tampering.line - 1])
    tampering.change(&tree)
    lines[tampering.line - 1] = try tree.line
    let scratch = try Scratch(lines)
    let ran = Ran("check", scratch.path)
    #expect(ran.code == .failure)
    let place = try #require(
      ran.out.firstIndex { $0.hasPrefix("\(scratch.path):\(tampering.noticed): ") }, "\(ran.text)")
    #expect(
      ran.out[place].split(separator: "\n").dropFirst() == [
        "  expected  \(tampering.expected)", "  found     \(tampering.found)",
      ])
  }

  @Test func `a machine that gets only part of a batch makes a difference`() throws {
    var wrong = Interpretation()
    wrong.advance = { finger, batch in
      guard case .next(_, let first, _) = EventQueue<String>.advance(finger, over: batch) else {
        return .seen
      }
      return .next(
        QueueFinger(queue: finger.queue, lastEventID: batch.events[first].id), first: first)
    }
    let file = Shipped.recording("session.jsonl")
    let ran = try Ran(checking: [file], wrong)
    #expect(ran.code == .failure)
    #expect(
      ran.out.contains(
        """
        \(file):5: after this answer, success
          expected  finger \(CheckTests.queue):6
          found     finger \(CheckTests.queue):3
        """), "\(ran.text)")
  }

  @Test(arguments: [
    (SyncFailure.expired, SyncFailure.serverFault), (.unauthorized, .rejected(.none)),
    (.serverFault, .rejected(.none)),
  ])
  func `a classifier that confuses two refusals makes a difference`(
    _ right: SyncFailure, _ wrong: SyncFailure
  ) throws {
    let interpretation = Interpretation(classify: { answer in
      let failure = answer.failure()
      return failure == right ? wrong : failure
    })
    let files = ["errors.jsonl", "queue-lifecycle.jsonl"].map(Shipped.recording)
    let ran = try Ran(checking: files, interpretation)
    #expect(ran.code == .failure)
    #expect(
      ran.text.contains(
        "  expected  \(Outcome(.failed(right)).rawValue)\n"
          + "  found     \(Outcome(.failed(wrong)).rawValue)"))
  }

  @Test func `a classifier that ignores the wait of a refusal makes a difference`() throws {
    let interpretation = Interpretation(classify: { answer in
      let failure = answer.failure()
      if case .rateLimited = failure { return .rateLimited(after: nil) }
      return failure
    })
    let ran = try Ran(checking: [Shipped.recording("errors.jsonl")], interpretation)
    #expect(ran.code == .failure)
    #expect(ran.text.contains("  expected  54.31468963623047 s\n  found     none"), "\(ran.text)")
  }
}

@Suite("check: sessions written for the tests")
struct WrittenSessionTests {
  /// A recording of one client on queue `q`, with one request a second.
  private func session(_ exchanges: [(request: String, response: String)]) throws -> Scratch {
    try Scratch(
      exchanges.enumerated().map { index, exchange in
        """
        {"t":\(1000 + index),"t_end":\(1000 + index).5,"client":"ann","request":\
        \(exchange.request),"response":\(exchange.response)}
        """
      })
  }

  private let register = #"{"method":"POST","path":"/api/v1/register","params":{}}"#
  private let registered =
    #"{"status":200,"body":{"result":"success","queue_id":"q","last_event_id":-1}}"#
  private let empty = #"{"status":200,"body":{"result":"success","events":[]}}"#

  private func poll(_ id: Int) -> String {
    #"{"method":"GET","path":"/api/v1/events","params":{"queue_id":"q","last_event_id":\#(id)}}"#
  }

  private func events(_ ids: Int...) -> String {
    let list = ids.map { #"{"id":\#($0),"type":"message"}"# }.joined(separator: ",")
    return #"{"status":200,"body":{"result":"success","events":[\#(list)]}}"#
  }

  private func refusal(_ status: Int, _ code: String) -> String {
    #"{"status":\#(status),"body":{"result":"error","code":"\#(code)"}}"#
  }

  @Test func `a poll is repeated unchanged after faults, limits and broken connections`() throws {
    let scratch = try session([
      (register, registered),
      (poll(-1), events(0, 3)),
      (poll(3), #"{"status":502,"body":"<html>"}"#),
      (poll(3), refusal(429, "RATE_LIMIT_HIT")),
      (poll(3), #"{"status":429,"headers":{"Retry-After":"700"},"body":"<html>"}"#),
      (poll(3), #"{"transport_error":"ReadTimeout: read timed out"}"#),
      (poll(3), #"{"transport_error":"ConnectionError: refused"}"#),
      (poll(3), empty),
      (poll(3), events(4)),
      (poll(4), refusal(401, "UNAUTHORIZED")),
    ])
    var check = Check()
    check.add(try Recording(file: scratch.path))
    #expect(check.total.findings.differences == [])
    #expect(check.total.findings.departures == [])
    #expect(check.total.findings.pollsAgreed == 9)
  }

  @Test(arguments: [
    (400, "BAD_EVENT_QUEUE_ID", "expired"), (400, "BAD_REQUEST", "rejected"),
    (401, "UNAUTHORIZED", "unauthorized"),
  ])
  func `a poll after the end of its queue is a departure`(
    _ status: Int, _ code: String, _ outcome: String
  ) throws {
    let scratch = try session([
      (register, registered), (poll(-1), refusal(status, code)),
      (poll(-1), refusal(status, code)),
    ])
    let ran = Ran("check", "--verbose", scratch.path)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.out.contains(
        "\(scratch.path):3: departure, after the end of the queue: ann sent poll q:-1; "
          + "a correct client sends no poll to this queue, because the answer on line 2 was "
          + outcome))
  }

  @Test func `a refused queue may be released, as the machine does`() throws {
    let scratch = try session([
      (register, registered), (poll(-1), refusal(400, "BAD_REQUEST")),
      (
        #"{"method":"DELETE","path":"/api/v1/events","params":{"queue_id":"q"}}"#,
        #"{"status":200,"body":{"result":"success"}}"#
      ),
    ])
    let ran = Ran("check", "--verbose", scratch.path)
    #expect(ran.code == .success)
    #expect(ran.text.contains("departures   0"), "\(ran.text)")
  }

  @Test func `a register without a queue is malformed and gives no finger`() throws {
    let scratch = try session([
      (register, #"{"status":200,"body":{"result":"success","last_event_id":-1}}"#),
      (register, #"{"status":200,"body":{"result":"success","queue_id":"q"}}"#),
      (register, #"{"status":200,"body":{"result":"success","queue_id":7,"last_event_id":0}}"#),
      (register, #"{"status":500,"body":{"result":"error","msg":"Internal server error"}}"#),
    ])
    let ran = Ran("check", "--verbose", scratch.path)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(ran.text.contains("answers      4: 3 malformed, 1 serverFault"), "\(ran.text)")
    #expect(ran.text.contains("queues       0, and 4 registers refused"))
  }

  @Test func `events in an impossible order end the queue`() throws {
    let scratch = try session([
      (register, registered), (poll(-1), events(0, 2, 1)), (poll(2), empty),
    ])
    let ran = Ran("check", "--verbose", scratch.path)
    #expect(ran.text.contains("because the answer on line 2 was malformed"), "\(ran.text)")
  }

  @Test func `a poll after more than an hour of silence is a departure`() throws {
    let scratch = try session([(register, registered), (poll(-1), empty)])
    var late = try Tree(try String(contentsOfFile: scratch.path, encoding: .utf8).lastLine)
    late["t"] = 5000
    late["t_end"] = 5001
    late["request", "params", "last_event_id"] = -1
    late["response"] = ["status": 400, "body": ["result": "error", "code": "BAD_EVENT_QUEUE_ID"]]
    let lines = try String(contentsOfFile: scratch.path, encoding: .utf8).split(separator: "\n")
    let both = try Scratch(lines.map(String.init) + [try late.line])
    let ran = Ran("check", "--verbose", both.path)
    #expect(ran.code == .success, "\(ran.text)")
    #expect(
      ran.text.contains("3: departure, after a silence that no queue survives"), "\(ran.text)")
  }

  // MARK: What makes no sense

  @Test(arguments: [
    ("{", "expected a JSON object"),
    ("[]", "expected"),
    ("{}", "expected a field \"client\""),
    (#"{"client":"a","t":"now"}"#, "t: expected"),
    (#"{"client":"a","t":1e300,"note":""}"#, "t: expected seconds since the epoch"),
    (#"{"client":"a","t":1}"#, "expected a field \"t_end\""),
    (#"{"client":"a","t":2,"t_end":1}"#, "t_end: expected a moment not before t"),
    (#"{"client":"a","t":1,"t_end":2}"#, "expected a field \"request\""),
    (
      #"{"client":"a","t":1,"t_end":2,"request":{"method":"GET","path":"/"}}"#,
      "expected a field \"response\""
    ),
    (
      #"{"client":"a","t":1,"t_end":2,"request":{"method":"GET","path":"/"},"response":{}}"#,
      "expected a field \"status\""
    ),
    (
      #"{"client":"a","t":1,"t_end":2,"request":{"method":7,"path":"/"},"response":{}}"#,
      "request.method: expected String"
    ),
  ])
  func `an invalid line is reported with file, line and what was expected`(
    _ line: String, _ expected: String
  ) throws {
    let scratch = try Scratch(["", #"{"client":"(operator)","t":1,"note":"hello"}"#, line])
    let ran = Ran("check", scratch.path)
    #expect(ran.code == .usage)
    #expect(ran.error.count == 1)
    #expect(ran.error.first?.hasPrefix("simulate: \(scratch.path):3: ") == true, "\(ran.error)")
    #expect(ran.error.first?.contains(expected) == true, "\(ran.error)")
  }

  @Test func `a file that cannot be read is named`() {
    let ran = Ran("check", "/nowhere/session.jsonl")
    #expect(ran.code == .usage)
    #expect(ran.error.first?.contains("/nowhere/session.jsonl") == true)
  }

  @Test func `an unknown option is refused`() {
    #expect(Ran("check", "--jsno").code == .usage)
  }
}

extension String {
  fileprivate var lastLine: String { split(separator: "\n").last.map(String.init) ?? "" }
}
