import Foundation
import SyncProtocols
import Testing
import UpdateMachine

@testable import EtcdSync

@Suite struct WireTests {
  static let app = Array("app/".utf8)

  // MARK: Answers

  @Test func `a range says of which revision it is, and what each key holds`() throws {
    let answer = try Recording.named("range: whole").range()
    #expect(answer.header.revision == 4)
    #expect(answer.header.term == 2)
    #expect(
      answer.range.pairs == [
        EtcdKeyValue(key: Array("app/a".utf8), value: [UInt8(ascii: "1")], created: 2, modified: 2),
        EtcdKeyValue(key: Array("app/b".utf8), created: 4, modified: 4),
      ])
    #expect(answer.range.count == 2)
    #expect(!answer.range.hasMore)
  }

  @Test func `what is zero, false or empty is left out, and is read so`() throws {
    let answer = try Recording.named("range: nothing").range()
    #expect(answer.range.pairs.isEmpty)
    #expect(answer.range.count == 0)
    #expect(!answer.range.hasMore)
  }

  @Test func `pages are of one revision`() throws {
    let first = try Recording.named("range: first page").range()
    let second = try Recording.named("range: second page").range()
    #expect(first.range.hasMore)
    #expect(!second.range.hasMore)
    #expect(first.range.pairs.map(\.modified) + second.range.pairs.map(\.modified) == [2, 4])
  }

  @Test func `a watch tells of each revision, and of deletions`() throws {
    let messages = try Recording.named("watch: one revision, three events").messages()
    guard case .created(let header) = messages.first, case .events(_, let events) = messages.last
    else {
      Issue.record("\(messages)")
      return
    }
    #expect(header.revision == 5)
    #expect(events.map(\.pair.modified) == [5, 5, 5])
    #expect(events.map(\.isDeletion) == [false, true, false])
    #expect(events[1].pair.key == Array("app/b".utf8))
  }

  @Test func `progress is a message without events`() throws {
    let messages = try Recording.named("watch: progress").messages()
    #expect(messages.count >= 3)
    for message in messages.dropFirst() {
      guard case .progress(let header) = message else {
        Issue.record("\(message)")
        continue
      }
      #expect(header.revision == 4)
    }
  }

  @Test func `etcd says nothing of a watch that begins beyond its newest revision`() throws {
    let messages = try Recording.named("watch: future").messages()
    guard messages.count == 1, case .created(let header) = messages[0] else {
      Issue.record("\(messages)")
      return
    }
    #expect(header.revision == 4)
  }

  @Test func `a watch from a revision that was compacted is canceled`() throws {
    #expect(try Recording.named("watch: compacted").messages().last == .canceled(.compacted))
  }

  /// Nothing in the answer says that a deletion is missing. So a client asks for the history at its
  /// finger, too (`EtcdCheck`).
  @Test func `a watch from exactly the compacted revision lacks its deletion`() throws {
    let name = "watch: from the compacted revision, without its deletion"
    guard case .events(_, let events) = try Recording.named(name).messages().last else {
      Issue.record("no events")
      return
    }
    #expect(events.map(\.isDeletion) == [false, false])
  }

  // MARK: Refusals

  @Test(
    arguments: [
      ("range: future", .future), ("check: future", .future), ("range: compacted", .compacted),
      ("check: compacted", .compacted), ("push: a key twice", .other(3)),
      ("push: too many operations", .tooLarge), ("put: too large", .tooLarge),
      ("authenticate: auth is off", .authIsOff), ("token: auth is off", .noToken),
      ("token: none", .noToken), ("token: unknown", .noToken), ("token: expired", .noToken),
      ("authenticate: wrong password", .wrongPassword), ("token: not permitted", .denied),
      ("anew: check", .future), ("leader killed: range at once", .unavailable),
      ("no quorum: range", .unavailable), ("no quorum: push", .unavailable),
      ("no quorum: authenticate", .unavailable),
      ("no quorum: watch that wants a leader", .unavailable), ("request: no JSON", .other(3)),
    ] as [(String, EtcdRefusal)])
  func `a refusal of the real etcd is understood`(name: String, refusal: EtcdRefusal) throws {
    #expect(try Recording.named(name).failure?.reason == .refused(refusal))
  }

  @Test(
    arguments: [
      ("token: none, watch", .noToken), ("token: unknown, watch", .noToken),
      ("token: not permitted, watch", .denied),
      ("quorum lost: watch that wants a leader", .unavailable),
    ] as [(String, EtcdRefusal)])
  func `a refusal in a stream is understood`(name: String, refusal: EtcdRefusal) throws {
    #expect(try Recording.named(name).messages().last == .canceled(refusal))
  }

  @Test(arguments: [
    (EtcdRefusal.compacted, SyncFailure.expired), (.future, .rejected(.otherHistory)),
    (.noToken, .unauthorized), (.wrongPassword, .unauthorized), (.authIsOff, .serverFault),
    (.denied, .rejected(RejectionCode("PERMISSION_DENIED"))), (.unavailable, .serverFault),
    (.busy, .rateLimited(after: nil)), (.tooLarge, .rejected(.tooLarge)),
    (.unimplemented, .unsupported), (.other(5), .rejected(RejectionCode("GRPC_5"))),
  ])
  func `each refusal is one failure`(refusal: EtcdRefusal, failure: SyncFailure) {
    #expect(EtcdFailure(refusal).failure == failure)
  }

  @Test func `a full disk and too many requests share a code and are told apart`() {
    #expect(EtcdRefusal(code: 8, message: "etcdserver: too many requests") == .busy)
    let full = EtcdRefusal(code: 8, message: "etcdserver: mvcc: database space exceeded")
    #expect(full == .unavailable)
  }

  @Test func `an unknown path is answered by something that is not JSON`() throws {
    let failure = try #require(try Recording.named("request: no such path").failure)
    #expect(failure == EtcdFailure(.serverFault, .notEtcd))
  }

  @Test(arguments: [
    (200, "text/html", "<html>"), (401, "text/html", "<html>"), (200, "application/json", "[]"),
    (200, "application/json", "{\"error\":"), (502, "application/json", "{}"),
    (302, "text/html", ""), (403, "application/json", "{\"message\":\"no\"}"),
  ])
  func `what is not etcd's costs nothing`(status: Int, type: String, body: String) {
    #expect(throws: EtcdFailure(.serverFault, .notEtcd)) {
      try EtcdFailure.fields(
        of: EtcdExchange.Head(status: status, type: type), Data(body.utf8), .whole)
    }
  }

  @Test func `a proxy's request for patience and its bound on bodies are believed`() {
    let limited = EtcdExchange.Head(status: 429, type: "text/html", retryAfter: "7")
    #expect(throws: EtcdFailure(.rateLimited(after: .seconds(7)), .notEtcd)) {
      try EtcdFailure.fields(of: limited, Data(), .whole)
    }
    #expect(throws: EtcdFailure(.rejected(.tooLarge), .refused(.tooLarge))) {
      try EtcdFailure.fields(
        of: EtcdExchange.Head(status: 413, type: "text/html"), Data(), .whole)
    }
  }

  // MARK: Bad input

  @Test(arguments: [
    "", "null", "[]", "{}", "{\"header\":5}", "{\"header\":{}}",
    "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"x\"}}",
    "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"-1\"}}",
    "{\"header\":{\"cluster_id\":\"-1\",\"revision\":\"1\"}}",
    "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"99999999999999999999\"}}",
    "{\"header\":{\"cluster_id\":\"1\"},\"kvs\":5}",
    "{\"header\":{\"cluster_id\":\"1\"},\"kvs\":[5]}",
    "{\"header\":{\"cluster_id\":\"1\"},\"kvs\":[{\"key\":\"?\",\"mod_revision\":\"1\"}]}",
    "{\"header\":{\"cluster_id\":\"1\"},\"kvs\":[{\"key\":\"YQ==\"}]}",
    "{\"header\":{\"cluster_id\":\"1\"},\"more\":\"yes\"}",
    "{\"header\":{\"cluster_id\":\"1\"},\"count\":\"-1\"}",
  ])
  func `a range that is none is an error`(text: String) {
    #expect(throws: EtcdWireError.self) {
      try EtcdRangeAnswer(try EtcdFields(body: Array(text.utf8)))
    }
  }

  @Test(arguments: [
    "", "{}", "{\"result\":{}}", "{\"result\":{\"header\":{\"cluster_id\":\"1\"},\"events\":[{}]}}",
    "{\"result\":{\"header\":{\"cluster_id\":\"1\"},\"events\":[{\"type\":\"MERGE\"}]}}",
    "{\"result\":{\"header\":{\"cluster_id\":\"1\"},\"canceled\":1}}", "{\"error\":{}",
  ])
  func `a message that is none is an error`(text: String) {
    #expect(throws: EtcdWireError.self) { try EtcdWatchMessage(line: Array(text.utf8)) }
  }

  // MARK: Requests

  @Test func `requests are those that the recording was made with`() throws {
    let span = EtcdSpan(prefix: WireTests.app)
    var page = EtcdRangeRequest(span)
    page.limit = 1
    var next = EtcdRangeRequest(span.after(Array("app/a".utf8)), revision: 4)
    next.limit = 1
    let record = Array("app/@client/7".utf8)
    let push = EtcdTransaction(
      comparisons: [.modified(record, at: 0), .modified(Array("app/a".utf8), at: 2)],
      success: [
        .put(Array("app/a".utf8), [UInt8(ascii: "2")]), .delete(Array("app/b".utf8)),
        .put(record, [UInt8(ascii: "1")]),
      ],
      failure: [.range(EtcdRangeRequest(EtcdSpan(key: record)))])
    let marks = EtcdMarks(term: 2, count: 2, lastModified: 3, key: "b", keyRevision: 4)
    let finger = EtcdFinger(cluster: EtcdClusterID(1), revision: 4, marks: marks)
    for (name, json) in [
      ("range: whole", EtcdRangeRequest(span).json), ("range: first page", page.json),
      ("range: second page", next.json),
      ("watch: two revisions", EtcdWatchRequest(span: span, start: 2).json),
      ("push: first copy", push.json),
      ("check: nothing new", EtcdCheck.request(finger, prefix: WireTests.app).json),
    ] {
      #expect(try JSONValue(parsing: try Recording.named(name).request) == json, "\(name)")
    }
  }

  @Test func `a prefix ends before the first key that does not begin so`() {
    #expect(EtcdSpan(prefix: [1, 2]).end == [1, 3])
    #expect(EtcdSpan(prefix: [1, 255, 255]).end == [2])
    #expect(EtcdSpan(prefix: [255]).end == [0])
    #expect(EtcdSpan(prefix: []) == EtcdSpan(from: [0], to: [0]))
  }
}
