import Foundation
import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import RecordingCheck
@testable import simulate

@Suite("Answers decoded from bytes")
struct DecodedReplyTests {
  // MARK: Every answer of the errors

  /// The table of ZulipServer §5 a third time, applied to what another parser reads.
  private func meaning(of response: [String: Any]) -> Outcome? {
    guard let status = response["status"] as? Int else { return nil }
    let body = response["body"] as? [String: Any]
    let result = body?["result"] as? String
    if status == 429 { return .rateLimited }
    if result == nil || status >= 500 { return .serverFault }
    if status == 200, result == "success" { return .success }
    if status == 401 { return .unauthorized }
    if status == 400, body?["code"] as? String == "BAD_EVENT_QUEUE_ID" { return .expired }
    return status >= 400 && result == "error" ? .rejected : nil
  }

  @Test(arguments: [
    ("errors.jsonl", 551), ("queue-lifecycle.jsonl", 94), ("tornado-restart.jsonl", 28),
  ])
  func `every recorded answer is classified as the protocol says`(
    _ file: String, _ count: Int
  ) throws {
    var seen = 0
    for (index, line) in try shippedLines(file).enumerated() {
      let tree = try Tree(line)
      guard let response = tree["response"] as? [String: Any],
        let status = response["status"] as? Int
      else { continue }
      let bytes: Data
      switch response["body"] {
      case let text as String: bytes = Data(text.utf8)
      case let body?: bytes = try JSONSerialization.data(withJSONObject: body)
      case nil: bytes = Data()
      }
      let reply = DecodedReply(
        to: .other, status: status, headers: response["headers"] as? [String: String] ?? [:],
        bytes: bytes)
      let expected = try #require(meaning(of: response), "\(file):\(index + 1)")
      #expect(Outcome(reply) == expected, "\(file):\(index + 1)")
      seen += 1
    }
    #expect(seen == count)
  }

  @Test(arguments: [
    "Bad event queue ID: 1517975029:0", "Die Warteschlange ist abgelaufen", "", "%00",
  ])
  func `bug 24: an expiry is recognised whatever its message says`(_ words: String) {
    func reply(code: String) -> DecodedReply {
      DecodedReply(
        to: .poll, status: 400, headers: [:],
        bytes: Data(#"{"result":"error","msg":"\#(words)","code":"\#(code)"}"#.utf8))
    }
    #expect(reply(code: "BAD_EVENT_QUEUE_ID") == .failed(.expired))
    #expect(reply(code: "BAD_REQUEST") == .failed(.rejected(RejectionCode("BAD_REQUEST"))))
  }

  @Test func `a refusal's wait is its body's, else its header's, and is never rounded down`() {
    func after(_ body: String, _ header: String?) -> TimeSpan? {
      let reply = DecodedReply(
        to: .poll, status: 429, headers: header.map { ["Retry-After": $0] } ?? [:],
        bytes: Data(body.utf8))
      guard case .failed(.rateLimited(let after)) = reply else { return .forever }
      return after
    }
    #expect(after(#"{"retry-after":54.37149810791016}"#, "9") == .milliseconds(54_372))
    #expect(after(#"{"retry-after":0}"#, nil) == .zero)
    #expect(after(#"{"retry-after":1e30}"#, nil) == .forever)
    #expect(after(#"{"retry-after":-1}"#, nil) == nil)
    #expect(after("{}", "0.1820237636566162") == .milliseconds(183))
    #expect(after("<html>", "2") == .seconds(2))
    #expect(after("<html>", "nan") == nil)
    #expect(after("<html>", "Fri, 31 Dec 1999 23:59:59 GMT") == nil)
    #expect(after("<html>", nil) == nil)
  }

  @Test func `a success without the required fields is malformed`() {
    func reply(_ question: DecodedReply.Question, _ body: String) -> DecodedReply {
      DecodedReply(to: question, status: 200, headers: [:], bytes: Data(body.utf8))
    }
    #expect(reply(.poll, #"{"result":"success"}"#) == .failed(.malformed))
    #expect(reply(.poll, #"{"result":"success","events":{}}"#) == .failed(.malformed))
    #expect(reply(.poll, #"{"result":"success","events":[{"id":1}]}"#) == .failed(.malformed))
    #expect(
      reply(.poll, #"{"result":"success","events":[{"id":9e99,"type":"x"}]}"#)
        == .failed(.malformed))
    #expect(reply(.poll, #"{"result":"success","events":[]}"#) == .polled(QueueBatch(events: [])))
    #expect(
      reply(.poll, #"{"result":"success","events":[{"id":1,"type":"heartbeat"}]}"#)
        == .polled(QueueBatch(events: [QueuedEvent(id: 1, event: nil)])))
    #expect(
      reply(.register, #"{"result":"success","queue_id":"","last_event_id":1}"#)
        == .failed(.malformed))
    #expect(reply(.other, #"{"result":"success"}"#) == .succeeded)
    #expect(reply(.other, "") == .failed(.serverFault))
    #expect(reply(.other, "[1]") == .failed(.serverFault))
  }

  // MARK: Bytes that no server sends

  /// A model that remembers the types of events it was given.
  private struct Kinds: SyncModel, Equatable {
    var kinds: [String]

    init(snapshot: [String]) throws(Never) { kinds = snapshot }

    mutating func apply(_ event: String) throws(Never) { kinds.append(event) }
  }

  private typealias Subject = SyncClient<Kinds, EventQueue<String>>

  /// A replica whose poll is out.
  private func polling() throws -> (Subject, RequestID) {
    var replica = Subject(incarnation: Incarnation(1))
    let zero = Moment(milliseconds: 0)
    _ = replica.handle(.app(.started(foreground: true)), at: zero)
    _ = replica.handle(.loaded(nil, age: nil), at: zero)
    let register = try #require(replica.status.outstanding?.id)
    let finger = QueueFinger(queue: QueueID("q"), lastEventID: 4)
    let effects = replica.handle(
      .snapshotArrived(register, ["snapshot"], finger: finger, terms: .unspoken), at: zero)
    for case .save(let write) in effects.list { _ = replica.handle(.written(write), at: zero) }
    return (replica, try #require(replica.status.outstanding?.id))
  }

  private static let statuses = [200, 200, 200, 204, 304, 400, 401, 403, 404, 405, 429, 500, 502]

  /// Gives the replica an answer as a driver would. A failure must leave the model as it was, and
  /// with `keepsFinger` the finger as well.
  private func give(_ bytes: Data, status: Int, keepsFinger: Bool) throws {
    let (before, id) = try polling()
    var replica = before
    let now = Moment(milliseconds: 100)
    switch DecodedReply(to: .poll, status: status, headers: [:], bytes: bytes) {
    case .polled(let batch):
      #expect(!keepsFinger, "\(status): \(Array(bytes)) was taken for events")
      _ = replica.handle(.batchArrived(id, batch), at: now)
    case .failed(let failure):
      _ = replica.handle(.failed(id, failure, hasLeft: true), at: now)
      #expect(replica.model == before.model)
      if keepsFinger { #expect(replica.finger == before.finger, "\(failure)") }
    case .registered, .succeeded:
      Issue.record("a poll was answered with something else")
    }
    #expect(replica.violation() == nil)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `random bytes are a classified failure and change nothing`(_ seed: UInt64) throws {
    var random = SplitMix(seed)
    for _ in 0..<2_000 {
      let count = Int.random(in: 0...200, using: &random)
      // Half of them use JSON's own characters, which get further into the parser.
      let alphabet = Bool.random(using: &random) ? Array("{}[]\",:0123eE-+.\\u truefalsn".utf8) : []
      let bytes = (0..<count).map { _ in
        alphabet.randomElement(using: &random) ?? UInt8.random(in: 0...255, using: &random)
      }
      let status = try #require(Self.statuses.randomElement(using: &random))
      try give(Data(bytes), status: status, keepsFinger: true)
    }
  }

  /// Whole answers, as the server wrote them.
  private func bodies() throws -> [Data] {
    try (shippedLines("session.jsonl").prefix(20) + shippedLines("errors.jsonl").prefix(30))
      .compactMap { line in
        guard let body = try Tree(line)["response", "body"] as? [String: Any] else { return nil }
        return try JSONSerialization.data(withJSONObject: body, options: .sortedKeys)
      }
  }

  @Test func `a truncated answer is a classified failure and changes nothing`() throws {
    var random = SplitMix(4)
    let bodies = try bodies()
    for _ in 0..<5_000 {
      let body = try #require(bodies.randomElement(using: &random))
      let cut = body.prefix(Int.random(in: 0..<body.count, using: &random))
      let status = try #require(Self.statuses.randomElement(using: &random))
      try give(Data(cut), status: status, keepsFinger: true)
    }
  }

  @Test func `an answer with wrong bytes never traps, and a refusal never moves the model`()
    throws
  {
    var random = SplitMix(5)
    let bodies = try bodies()
    for _ in 0..<5_000 {
      var body = Array(try #require(bodies.randomElement(using: &random)))
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<body.count, using: &random)
        body[place] = UInt8.random(in: 0...255, using: &random)
      }
      let status = try #require(Self.statuses.randomElement(using: &random))
      try give(Data(body), status: status, keepsFinger: false)
    }
  }

  @Test func `too deep nesting is a classified failure`() throws {
    for opening in ["[", "{\"a\":"] {
      let bytes = Data(String(repeating: opening, count: 100_000).utf8)
      try give(bytes, status: 200, keepsFinger: true)
    }
  }
}
