import SyncProtocols
import Testing
import UpdateMachine

@testable import EtcdSync

/// What a client asks so that its key is there, and what a real etcd has answered.
@Suite struct PresenceTests {
  typealias Answer = EtcdPresence.Answer
  typealias Step = EtcdPresence.Step

  static let key = Array("app/here".utf8)
  static let ann = EtcdPresence(key: key, value: Array("Ann".utf8), timeToLive: 30)
  static let look = Step.ask(.look(EtcdRangeRequest(EtcdSpan(key: key))))
  static let grant = Step.ask(.grant(.grant(seconds: 30)))
  static let rest = Step.end(.rest(from: .seconds(10), to: .seconds(10)))

  static func header(revision: Int64 = 4, term: UInt64 = 2, cluster: UInt64 = 9) -> EtcdHeader {
    EtcdHeader(cluster: cluster, revision: revision, term: term)
  }

  /// What a look finds: the key with a lease; `nil`: nothing.
  static func looked(
    lease: Int64? = nil, modified: Int64 = 3, _ header: EtcdHeader = header()
  ) throws -> Answer {
    let pair =
      "{\"key\":\"YXBwL2hlcmU=\",\"create_revision\":\"2\",\"mod_revision\":\"\(modified)\""
      + ",\"lease\":\"\(lease ?? 0)\"}"
    let body = """
      {"header":{"cluster_id":"\(header.cluster)","revision":"\(header.revision)",\
      "raft_term":"\(header.term)"},"kvs":[\(lease == nil ? "" : pair)]}
      """
    return .looked(try EtcdRangeAnswer(try EtcdFields(body: Array(body.utf8))))
  }

  static func granted(_ id: Int64, seconds: Int64 = 30, _ header: EtcdHeader = header()) -> Answer {
    .granted(EtcdLease(header: header, id: id, timeToLive: seconds))
  }

  static func renewed(_ id: Int64, seconds: Int64 = 30, _ header: EtcdHeader = header()) -> Answer {
    .renewed(EtcdLease(header: header, id: id, timeToLive: seconds))
  }

  static func written(_ succeeded: Bool, _ header: EtcdHeader = header()) throws -> Answer {
    let body = """
      {"header":{"cluster_id":"\(header.cluster)","revision":"\(header.revision)",\
      "raft_term":"\(header.term)"},"succeeded":\(succeeded)}
      """
    return .written(try EtcdTransactionAnswer(try EtcdFields(body: Array(body.utf8))))
  }

  static func write(lease: Int64, over revision: Int64) -> Step {
    var transaction = EtcdTransaction()
    transaction.comparisons = [.modified(key, at: revision)]
    transaction.success = [.put(key, Array("Ann".utf8), lease: lease)]
    return .ask(.write(transaction))
  }

  /// One that has written its key with lease 7.
  static func present() throws -> EtcdPresence {
    var presence = ann
    _ = presence.begin()
    _ = presence.handle(try looked())
    _ = presence.handle(granted(7))
    _ = presence.handle(try written(true))
    return presence
  }

  // MARK: Rounds

  @Test func `the first round looks, grants a lease, and writes the key with it`() throws {
    var presence = PresenceTests.ann
    #expect(Step.ask(presence.begin()) == PresenceTests.look)
    #expect(presence.handle(try PresenceTests.looked()) == PresenceTests.grant)
    #expect(
      presence.handle(PresenceTests.granted(7)) == PresenceTests.write(lease: 7, over: 0))
    #expect(presence.handle(try PresenceTests.written(true)) == PresenceTests.rest)
  }

  @Test func `later rounds renew the lease, and write only if the key has another`() throws {
    var presence = try PresenceTests.present()
    let renew = Step.ask(.renew(.renew(7)))
    for (found, step) in [
      (7, PresenceTests.rest), (8, PresenceTests.write(lease: 7, over: 3)),
      (nil, PresenceTests.write(lease: 7, over: 0)),
    ] as [(Int64?, Step)] {
      #expect(Step.ask(presence.begin()) == PresenceTests.look)
      #expect(presence.handle(try PresenceTests.looked(lease: found)) == renew)
      #expect(presence.handle(PresenceTests.renewed(7)) == step)
    }
  }

  @Test func `a lease that ran out or was lost is granted anew`() throws {
    var presence = try PresenceTests.present()
    _ = presence.begin()
    _ = presence.handle(try PresenceTests.looked())
    #expect(presence.handle(PresenceTests.renewed(7, seconds: 0)) == PresenceTests.grant)
    #expect(
      presence.handle(PresenceTests.granted(8)) == PresenceTests.write(lease: 8, over: 0))
    // It ends between two questions.
    #expect(presence.handle(.leaseNotFound) == PresenceTests.look)
    #expect(presence.handle(try PresenceTests.looked()) == PresenceTests.grant)
  }

  @Test func `a key that was written to stay is left alone`() throws {
    var presence = PresenceTests.ann
    _ = presence.begin()
    #expect(presence.handle(try PresenceTests.looked(lease: 0)) == .end(.fail(.keyIsTaken)))
    presence = try PresenceTests.present()
    _ = presence.begin()
    #expect(presence.handle(try PresenceTests.looked(lease: 0)) == .end(.fail(.keyIsTaken)))
  }

  @Test func `who is always slower than another looks three times, and rests`() throws {
    var presence = PresenceTests.ann
    _ = presence.begin()
    for looks in 1...3 {
      let step = presence.handle(try PresenceTests.looked(lease: 8))
      if looks == 1 { #expect(step == PresenceTests.grant) }
      _ = presence.handle(looks == 1 ? PresenceTests.granted(7) : PresenceTests.renewed(7))
      let next = presence.handle(try PresenceTests.written(false))
      #expect(
        next
          == (looks < 3
            ? PresenceTests.look : .end(.rest(from: .milliseconds(250), to: .milliseconds(500)))))
    }
  }

  @Test func `each round may look three times`() throws {
    var presence = try PresenceTests.present()
    for _ in 1...4 {
      _ = presence.begin()
      _ = presence.handle(try PresenceTests.looked(lease: 8))
      _ = presence.handle(PresenceTests.renewed(7))
      #expect(presence.handle(try PresenceTests.written(false)) == PresenceTests.look)
      _ = presence.handle(try PresenceTests.looked(lease: 7))
      #expect(presence.handle(PresenceTests.renewed(7)) == PresenceTests.rest)
    }
  }

  @Test func `the time between renewals is a third of what the cluster grants`() throws {
    var presence = PresenceTests.ann
    _ = presence.begin()
    _ = presence.handle(try PresenceTests.looked())
    _ = presence.handle(PresenceTests.granted(7, seconds: 90))
    #expect(
      presence.handle(try PresenceTests.written(true))
        == .end(.rest(from: .seconds(30), to: .seconds(30))))
    #expect(EtcdPresence(key: [1], value: [], timeToLive: 0).timeToLive == 1)
    #expect(EtcdPresence(key: [1], value: [], timeToLive: .max).timeToLive == 86_400)
  }

  // MARK: History

  @Test func `a member of another history is passed over, and nothing is granted there`() throws {
    for header in [
      PresenceTests.header(cluster: 8), PresenceTests.header(revision: 3),
      PresenceTests.header(term: 1),
    ] {
      var presence = try PresenceTests.present()
      _ = presence.begin()
      #expect(presence.handle(try PresenceTests.looked(header)) == .passOver)
      #expect(presence.lease == 7)
      _ = presence.begin()
      _ = presence.handle(try PresenceTests.looked())
      #expect(presence.handle(try PresenceTests.written(true, header)) == .passOver)
    }
    var presence = try PresenceTests.present()
    _ = presence.begin()
    _ = presence.handle(try PresenceTests.looked())
    let other = PresenceTests.header(cluster: 8)
    #expect(presence.handle(PresenceTests.renewed(7, other)) == .passOver)
    #expect(presence.handle(PresenceTests.granted(8, other)) == .passOver)
    // A member that grants may lag.
    #expect(
      presence.handle(PresenceTests.renewed(7, PresenceTests.header(revision: 1))) != .passOver)
  }

  @Test func `what was looked at and written last is the history that is known`() throws {
    func passesOver(_ presence: EtcdPresence, at revision: Int64) throws -> Bool {
      var presence = presence
      _ = presence.begin()
      let behind = PresenceTests.header(revision: revision)
      return presence.handle(try PresenceTests.looked(lease: 7, behind)) == .passOver
    }
    var presence = try PresenceTests.present()
    _ = presence.begin()
    _ = presence.handle(try PresenceTests.looked(PresenceTests.header(revision: 8)))
    #expect(try passesOver(presence, at: 7) && !passesOver(presence, at: 8))
    _ = presence.handle(PresenceTests.renewed(7))
    _ = presence.handle(try PresenceTests.written(true, PresenceTests.header(revision: 9)))
    #expect(try passesOver(presence, at: 8) && !passesOver(presence, at: 9))
  }

  @Test func `a history that all members say is followed, without the lease of the old`() throws {
    var presence = try PresenceTests.present()
    let ending = presence.failed(.otherHistory)
    #expect(ending == .rest(from: .milliseconds(250), to: .milliseconds(500)))
    _ = presence.begin()
    let other = PresenceTests.header(revision: 1, cluster: 8)
    #expect(presence.handle(try PresenceTests.looked(other)) == PresenceTests.grant)
  }

  // MARK: Failures

  @Test func `what may pass is tried again, at longer and longer intervals`() throws {
    var presence = try PresenceTests.present()
    let most = [500, 1000, 2000, 4000, 8000, 10_000, 10_000] as [Int64]
    for span in most {
      #expect(
        presence.failed(.other(.unreachable))
          == .rest(from: .milliseconds(span / 2), to: .milliseconds(span)))
    }
    let patience = presence.failed(.other(.rateLimited(after: .seconds(60))))
    #expect(patience == .rest(from: .seconds(60), to: .seconds(60)))
    for _ in 1...100 { _ = presence.failed(.other(.timedOut)) }
    #expect(presence.failed(.other(.serverFault)) == .rest(from: .seconds(5), to: .seconds(10)))
    // The lease is kept: it may yet live.
    #expect(presence.lease == 7)
  }

  @Test func `after a round that went well, waits are short again`() throws {
    var presence = try PresenceTests.present()
    for _ in 1...5 { _ = presence.failed(.other(.unreachable)) }
    _ = presence.begin()
    _ = presence.handle(try PresenceTests.looked(lease: 7))
    #expect(presence.handle(PresenceTests.renewed(7)) == PresenceTests.rest)
    #expect(
      presence.failed(.other(.unreachable))
        == .rest(from: .milliseconds(250), to: .milliseconds(500)))
  }

  @Test func `no wait, and no question over two seconds, takes more than a third of a lease`()
    throws
  {
    for (seconds, longest) in [(3, 1), (30, 10), (90, 30), (86_400, 30)] as [(Int64, Int64)] {
      var presence = EtcdPresence(key: PresenceTests.key, value: [], timeToLive: seconds)
      #expect(presence.patience == .seconds(max(longest, 2)))
      for _ in 1...20 { _ = presence.failed(.other(.timedOut)) }
      #expect(
        presence.failed(.other(.timedOut))
          == .rest(from: .milliseconds(longest * 500), to: .seconds(longest)))
    }
  }

  @Test func `what will not pass ends it`() {
    for failure in [
      SyncFailure.unauthorized, .unsupported, .rejected(RejectionCode("PERMISSION_DENIED")),
    ] {
      var presence = PresenceTests.ann
      #expect(presence.failed(.other(failure)) == .fail(.refused(failure)))
    }
  }

  // MARK: The wire

  @Test func `requests are those that were recorded`() throws {
    let granted = try EtcdLease(granted: try Recording.named("lease: granted").fields())
    var write = EtcdTransaction()
    write.comparisons = [.modified(PresenceTests.key, at: 0)]
    write.success = [.put(PresenceTests.key, Array("Ann".utf8), lease: granted.id)]
    for (name, path, json) in [
      (
        "lease: granted", EtcdLeaseRequest.grant(seconds: 30).path,
        EtcdLeaseRequest.grant(seconds: 30).json
      ),
      (
        "lease: renewed", EtcdLeaseRequest.renew(granted.id).path,
        EtcdLeaseRequest.renew(granted.id).json
      ),
      (
        "lease: revoked", EtcdLeaseRequest.revoke(granted.id).path,
        EtcdLeaseRequest.revoke(granted.id).json
      ),
      ("lease: written", "/v3/kv/txn", write.json),
    ] as [(String, String, JSONValue)] {
      let exchange = try Recording.named(name)
      #expect(exchange.path == path)
      #expect(try JSONValue(parsing: exchange.request) == json)
    }
  }

  @Test func `a lease, its key, and its end are read`() throws {
    let granted = try EtcdLease(granted: try Recording.named("lease: granted").fields())
    #expect(granted.timeToLive == 30)
    let renewed = try EtcdLease(renewed: try Recording.named("lease: renewed").fields())
    #expect(renewed.id == granted.id && renewed.timeToLive == 30)
    let lost = try EtcdLease(renewed: try Recording.named("lease: renewed, not found").fields())
    #expect(lost.timeToLive == 0)
    #expect(throws: EtcdWireError(field: "TTL")) {
      try EtcdLease(
        granted: try EtcdFields(
          body: Array(
            #"{"header":{"cluster_id":"9","revision":"1","raft_term":"2"},"ID":"7"}"#.utf8)))
    }
    #expect(try Recording.named("lease: range").range().range.pairs[0].lease == granted.id)
    for name in ["lease: written, not found", "lease: revoked, not found"] {
      #expect(try Recording.named(name).failure?.reason == .refused(.leaseNotFound))
    }
    let messages = try Recording.named("lease: watch").messages()
    guard case .events(_, let events) = messages.last else {
      Issue.record("\(messages)")
      return
    }
    #expect(events.map(\.isDeletion) == [false, true])
  }
}
