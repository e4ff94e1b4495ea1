import SyncProtocols
import Testing
import UpdateMachine

@testable import EtcdSync

@Suite struct CheckTests {
  static let app = Array("app/".utf8)

  /// The finger of the recording's member after the range of revision 4.
  static func finger() throws -> EtcdFinger {
    var pages = EtcdPages(prefix: app, limit: 10)
    try pages.take(try Recording.named("range: whole").range())
    return try #require(pages.finger)
  }

  static func verdict(_ name: String, _ finger: EtcdFinger) throws -> EtcdCheck.Verdict {
    try EtcdCheck.verdict(try Recording.named(name).transaction(), finger, prefix: app)
  }

  @Test func `a snapshot leads to a finger that remembers its history`() throws {
    let finger = try CheckTests.finger()
    #expect(finger.revision == 4)
    #expect(
      finger.marks
        == EtcdMarks(term: 2, count: 2, lastModified: 4, key: "b", keyRevision: 4))
    let stored = try EtcdFinger(storedBytes: finger.storedBytes)
    #expect(stored == finger)
  }

  @Test func `a finger remembers the newest key, wherever its page has it`() throws {
    var page = try Recording.named("range: whole").range()
    page.range.pairs[0].modified = 4
    page.range.pairs[1].modified = 3
    page.range.pairs[1].created = 3
    var pages = EtcdPages(prefix: CheckTests.app, limit: 10)
    try pages.take(page)
    #expect(
      pages.finger?.marks
        == EtcdMarks(term: 2, count: 2, lastModified: 4, key: "a", keyRevision: 4))
  }

  @Test func `pages that do not follow on each other are refused`() throws {
    let first = try Recording.named("range: first page").range()
    let second = try Recording.named("range: second page").range()
    var pages = EtcdPages(prefix: CheckTests.app, limit: 1)
    try pages.take(first)
    #expect(pages.hasMore)
    #expect(pages.request.revision == 4)
    #expect(throws: EtcdWireError(field: "kvs")) { try pages.take(first) }
    let header = second.header
    for other in [
      EtcdHeader(cluster: header.cluster + 1, revision: header.revision, term: header.term),
      EtcdHeader(cluster: header.cluster, revision: 3, term: header.term),
      // A cluster that was restored from a backup between the two pages.
      EtcdHeader(cluster: header.cluster, revision: header.revision + 9, term: 1),
    ] {
      var page = second
      page.header = other
      #expect(throws: EtcdWireError(field: "header")) { try pages.take(page) }
    }
    try pages.take(second)
    #expect(!pages.hasMore)
    let snapshot = pages.snapshot(for: ClientID(7))
    #expect(
      snapshot.entries == [
        "a": EtcdEntry([UInt8(ascii: "1")], revision: 2),
        "b": EtcdEntry([], revision: 4),
      ])
  }

  @Test func `nothing new is said with the present revision`() throws {
    let finger = try CheckTests.finger()
    // The recorded question asked from revision 4 on, so it names the key of the finger itself.
    var answer = try Recording.named("check: nothing new").transaction()
    answer.ranges[0]?.pairs = []
    guard case .batch(let batch) = try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app)
    else {
      Issue.record("no batch")
      return
    }
    #expect(batch.events.isEmpty)
    #expect(EtcdLog.advance(finger, over: batch) == .seen)
  }

  @Test func `a key that is gone is counted, and then named`() throws {
    let finger = try CheckTests.finger()
    // One key written, one deleted, and a record of a client created, in revision 5.
    guard
      case .deleted(let count, let batch) = try CheckTests.verdict(
        "check: one key deleted", finger)
    else {
      Issue.record("no deletion")
      return
    }
    #expect(count == 1)
    #expect(batch.through == 5)
    #expect(batch.events.map(\.event.key) == ["@client/7", "a"])
    let lists = CheckTests.lists(["a", "b"], ["@client/7", "a"])
    let whole = try EtcdKeyList.completed(batch, lacking: 1, lists, prefix: CheckTests.app)
    #expect(whole.events.last?.event == EtcdEvent(key: "b", value: nil, revision: 5))
    #expect(throws: EtcdWireError(field: "count")) {
      try EtcdKeyList.completed(batch, lacking: 2, lists, prefix: CheckTests.app)
    }
    guard case .next(let next, first: 0, isComplete: true) = EtcdLog.advance(finger, over: whole)
    else {
      Issue.record("does not follow")
      return
    }
    #expect(next.revision == 5)
    #expect(next.marks.count == 2)
  }

  @Test func `a key that was deleted and written again is not gone`() throws {
    let finger = try CheckTests.finger()
    var answer = try Recording.named("check: nothing new").transaction()
    answer.header.revision = 9
    answer.ranges[0]?.pairs = [
      EtcdKeyValue(key: Array("app/b".utf8), value: [1], created: 9, modified: 9)
    ]
    guard
      case .deleted(1, let batch) = try EtcdCheck.verdict(
        answer, finger, prefix: CheckTests.app)
    else {
      Issue.record("no deletion")
      return
    }
    let lists = CheckTests.lists(["a", "b"], ["a", "b"])
    let whole = try EtcdKeyList.completed(batch, lacking: 1, lists, prefix: CheckTests.app)
    #expect(whole.events.map(\.event) == [EtcdEvent(key: "b", value: [1], revision: 9)])
  }

  @Test func `a key that was created at the finger is not new`() throws {
    let finger = try CheckTests.finger()
    var answer = try Recording.named("check: nothing new").transaction()
    answer.header.revision = 9
    answer.ranges[0]?.pairs = [
      EtcdKeyValue(key: Array("app/b".utf8), value: [1], created: 4, modified: 9)
    ]
    guard
      case .batch(let batch) = try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app)
    else {
      Issue.record("nothing is gone")
      return
    }
    #expect(batch.events.map(\.isNew) == [false])
  }

  /// Answers of the recording's cluster, each changed in one way that only another history has.
  @Test(arguments: [
    "another cluster", "revision back", "term back", "count", "mark gone", "mark modified",
    "modified before",
  ])
  func `another history is recognised`(how: String) throws {
    let finger = try CheckTests.finger()
    var answer = try Recording.named("check: nothing new").transaction()
    answer.header.revision = 9
    answer.ranges[0]?.pairs = []
    switch how {
    case "another cluster": answer.header.cluster += 1
    case "revision back": answer.header.revision = 3
    case "term back": answer.header.term = 1
    case "count": answer.ranges[1]?.count = 3
    case "mark gone": answer.ranges[2]?.pairs = []
    case "mark modified": answer.ranges[2]?.pairs[0].modified = 3
    case "modified before":
      answer.ranges[0]?.pairs = [EtcdKeyValue(key: Array("app/a".utf8), created: 2, modified: 3)]
    default: Issue.record("\(how)")
    }
    #expect(try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app) == .foreign)
  }

  /// The finger is of the old member. The new one has its addresses and its configuration.
  @Test func `a member that was wiped has its old name, and is recognised all the same`() throws {
    let old = try CheckTests.finger()
    let new = try Recording.named("anew: same cluster ID").range()
    #expect(new.header.cluster == old.cluster.number)
    #expect(!EtcdCheck.isSame(new.header, old))
    #expect(try Recording.named("anew: check").failure?.reason == .refused(.future))
  }

  @Test func `answers that contradict themselves are refused`() throws {
    let finger = try CheckTests.finger()
    var answer = try Recording.named("check: nothing new").transaction()
    answer.ranges.removeLast()
    #expect(throws: EtcdWireError(field: "responses")) {
      try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app)
    }
    answer = try Recording.named("check: nothing new").transaction()
    answer.ranges[0]?.pairs = []
    answer.ranges[0]?.count = 3
    #expect(throws: EtcdWireError(field: "count")) {
      try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app)
    }
    answer.ranges[0]?.pairs = [EtcdKeyValue(key: [1], modified: 9)]
    #expect(throws: EtcdWireError(field: "kvs")) {
      try EtcdCheck.verdict(answer, finger, prefix: CheckTests.app)
    }
  }

  // MARK: Batches

  static func batch(
    after: Int64 = 4, through: Int64, _ events: [(EtcdKey, [UInt8]?, Int64)], cluster: UInt64? = nil
  ) throws -> EtcdBatch {
    let finger = try finger()
    return EtcdBatch(
      cluster: cluster.map { EtcdClusterID($0) } ?? finger.cluster, after: after,
      through: through, term: 2, isCurrent: true, total: nil,
      events: events.map {
        EtcdBatch.Item(
          event: EtcdEvent(key: $0.0, value: $0.1, revision: $0.2), isNew: $0.1 != nil)
      })
  }

  @Test func `a batch leads on, and what is known of it is not taken twice`() throws {
    let finger = try CheckTests.finger()
    let batch = try CheckTests.batch(
      after: 3, through: 6, [("b", [], 4), ("c", [1], 6), ("d", nil, 6)])
    guard case .next(let next, first: 1, isComplete: true) = EtcdLog.advance(finger, over: batch)
    else {
      Issue.record("does not follow")
      return
    }
    #expect(
      next.marks == EtcdMarks(term: 2, count: 2, lastModified: 6, key: "c", keyRevision: 6))
  }

  @Test func `a key that is gone is no mark of the history any more`() throws {
    let finger = try CheckTests.finger()
    #expect(finger.marks.key == "b")
    for (key, mark) in [("b", nil), ("a", "b")] as [(EtcdKey, EtcdKey?)] {
      guard
        case .next(let next, first: 0, isComplete: true) = EtcdLog.advance(
          finger, over: try CheckTests.batch(through: 6, [(key, nil, 6)]))
      else {
        Issue.record("does not follow")
        return
      }
      #expect(next.marks.key == mark && next.marks.count == 1 && next.marks.lastModified == 6)
    }
  }

  @Test func `a batch that does not follow is a gap`() throws {
    let finger = try CheckTests.finger()
    for batch in [
      try CheckTests.batch(after: 5, through: 6, []),
      try CheckTests.batch(through: 6, [], cluster: 1),
      try CheckTests.batch(through: 6, [("c", [], 7)]),
      try CheckTests.batch(through: 6, [("c", [], 6), ("d", [], 5)]),
      try CheckTests.batch(through: 6, [("c", [], 4)]),
      try CheckTests.batch(through: 6, [("a", nil, 6), ("b", nil, 6), ("c", nil, 6)]),
    ] {
      #expect(EtcdLog.advance(finger, over: batch) == .gap)
    }
  }

  @Test func `a batch of the past is not up to date`() throws {
    let finger = try CheckTests.finger()
    #expect(
      EtcdLog.advance(finger, over: try CheckTests.batch(after: 2, through: 3, [])) == .incomplete)
    var batch = try CheckTests.batch(through: 4, [])
    #expect(EtcdLog.advance(finger, over: batch) == .seen)
    batch.isCurrent = false
    #expect(EtcdLog.advance(finger, over: batch) == .incomplete)
  }

  /// A watch's message may be ahead in its header, and then more is to come below that.
  @Test func `a watch leads to its last event, not to its header`() throws {
    let finger = try CheckTests.finger()
    guard
      case .events(var header, let events) = try Recording.named(
        "watch: one revision, three events"
      ).messages().last
    else {
      Issue.record("no events")
      return
    }
    header.revision = 50
    let batch = try #require(
      try EtcdBatch(events, header, prefix: CheckTests.app, after: finger))
    #expect(batch.through == 5)
    #expect(batch.events.map(\.isNew) == [false, false, true])
    guard case .next(let next, first: 0, isComplete: false) = EtcdLog.advance(finger, over: batch)
    else {
      Issue.record("does not follow, or claims that nothing is missing")
      return
    }
    #expect(next.marks.count == 2)
  }

  @Test func `numbers that no sum can be made with are refused`() throws {
    let most = Int64.max
    for text in [
      #"{"cluster_id":"1","revision":"\#(most)","raft_term":"2"}"#
    ] {
      let fields = try EtcdFields(body: Array(text.utf8))
      #expect(throws: EtcdWireError.self) { try EtcdHeader(fields) }
    }
    let pair = #"{"key":"YQ==","create_revision":"1","mod_revision":"\#(most)"}"#
    let fields = try EtcdFields(body: Array(pair.utf8))
    #expect(throws: EtcdWireError.self) { try EtcdKeyValue(fields) }
    var finger = try CheckTests.finger()
    finger.marks.lastModified = most
    #expect(throws: StoredFormError.self) { try EtcdFinger(storedBytes: finger.storedBytes) }
  }

  @Test func `a page that is too large is asked for in halves`() {
    var pages = EtcdPages(prefix: CheckTests.app, limit: 5)
    var limits: [Int64] = []
    while pages.shrink() { limits.append(pages.request.limit) }
    #expect(limits == [2, 1])
  }

  @Test func `a model that knows nothing of the library's own keys hears of none`() throws {
    var batch = try #require(
      try EtcdBatch(
        [
          EtcdWatchMessage.Event(
            isDeletion: false,
            pair: EtcdKeyValue(
              key: CheckTests.app + EtcdKey.record(of: ClientID(7)).bytes, created: 5, modified: 5))
        ], EtcdHeader(cluster: 1, revision: 5, term: 2), prefix: CheckTests.app,
        after: try CheckTests.finger()))
    #expect(batch.count == 1 && batch.event(at: 0) != nil)
    batch.hidesReserved = true
    #expect(batch.count == 1 && batch.event(at: 0) == nil)
  }

  /// A watch is opened before the member is asked what is new, and then the client is further.
  @Test func `what a watch says again, beside what is new, is left out`() throws {
    let before = try CheckTests.finger()
    guard
      case .events(var header, let events) = try Recording.named(
        "watch: one revision, three events"
      ).messages().last
    else {
      Issue.record("no events")
      return
    }
    let known = try #require(
      try EtcdBatch(events, header, prefix: CheckTests.app, after: before))
    guard case .next(let finger, _, _) = EtcdLog.advance(before, over: known) else {
      Issue.record("does not follow")
      return
    }
    var next = try #require(events.last)
    next.pair.modified = 7
    header.revision = 7
    let batch = try #require(
      try EtcdBatch(events + [next], header, prefix: CheckTests.app, after: finger))
    #expect(batch.events.map(\.event.revision) == [7])
    guard case .next(let end, first: 0, isComplete: true) = EtcdLog.advance(finger, over: batch)
    else {
      Issue.record("does not follow")
      return
    }
    #expect(end.revision == 7)
    #expect(try EtcdBatch(events, header, prefix: CheckTests.app, after: end) == nil)
  }

  static func lists(_ then: [String], _ now: [String]) -> EtcdTransactionAnswer {
    // Sorted as etcd sorts them.
    let member = """
      {"header":{"cluster_id":"\(cluster)","revision":"5","raft_term":"2"},"succeeded":true,\
      "responses":[\([then, now].map(range).joined(separator: ","))]}
      """
    guard let fields = try? EtcdFields(body: Array(member.utf8)),
      let answer = try? EtcdTransactionAnswer(fields)
    else { preconditionFailure("no answer") }
    return answer
  }

  private static func range(_ keys: [String]) -> String {
    let pairs = keys.map { key in
      let base64 = JSONValue.base64(Array("app/\(key)".utf8)).string ?? ""
      return #"{"key":"\#(base64)","create_revision":"1","mod_revision":"1"}"#
    }
    return #"{"response_range":{"kvs":[\#(pairs.joined(separator: ","))]}}"#
  }

  private static var cluster: UInt64 { (try? finger().cluster.number) ?? 0 }
}
