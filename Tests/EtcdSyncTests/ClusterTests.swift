import SyncProtocols
import Testing

@testable import EtcdSync
@testable import UpdateMachine

/// The cluster as a value answers what a real etcd was recorded to answer.
@Suite struct ClusterTests {
  /// The recorded conversations, played from the first to the last. Between them happens what
  /// `Tests/EtcdSyncTests/record.py` has done to the real ones.
  @Test func `it answers every recorded question alike`() throws {
    let recording = try Recording()
    var played = Played()
    for exchange in recording.exchanges {
      guard !ClusterTests.other.contains(where: exchange.name.hasPrefix) else { continue }
      try played.prepare(exchange.name, exchange)
      let found = try played.answer(exchange)
      let expected = try Played.recorded(exchange)
      #expect(found == expected, "\(exchange.name)")
    }
    #expect(played.count == 36)
  }

  /// What is none of a cluster's: HTTP, JSON, logins, the seconds of an election; and leases, which
  /// it does not know.
  static let other = [
    "put: too large", "request:", "authenticate:", "token:", "leader killed: range at once",
    "no quorum: authenticate", "nobody", "member killed", "lease:",
  ]

  /// A cluster that is played like the recorded ones.
  struct Played {
    var cluster = EtcdCluster(EtcdClusterID(1))
    /// The member that is asked.
    var member = 0
    var count = 0

    enum Answer: Equatable {
      case range(EtcdRangeAnswer)
      case transaction(EtcdTransactionAnswer)
      case watch([EtcdWatchMessage])
      case refused(EtcdRefusal)
    }

    /// The real answer, as a client reads it. Signs of life tell a client nothing.
    static func recorded(_ exchange: Recording.Exchange) throws -> Answer {
      if exchange.path == "/v3/watch", exchange.status == 200 {
        return .watch(
          try exchange.messages().filter {
            if case .progress = $0 { false } else { true }
          })
      }
      if case .refused(let refusal)? = exchange.failure?.reason { return .refused(refusal) }
      return exchange.path == "/v3/kv/txn"
        ? .transaction(try exchange.transaction()) : .range(try exchange.range())
    }

    mutating func answer(_ exchange: Recording.Exchange) throws -> Answer {
      count += 1
      let request = try EtcdFields(body: Array(exchange.request.utf8))
      do throws(EtcdRefusal) {
        switch exchange.path {
        case "/v3/kv/range":
          let range = EtcdRangeRequest(recorded: request)
          let isLocal = request.has("serializable")
          return .range(
            try isLocal
              ? cluster.range(range, serializableAt: member) : cluster.range(range, at: member))
        case "/v3/kv/txn":
          return .transaction(
            try cluster.perform(EtcdTransaction(recorded: request), at: member))
        default:
          let wantsLeader = exchange.name.hasSuffix("wants a leader")
          return try watch(EtcdWatchRequest(recorded: request), wantsLeader: wantsLeader)
        }
      } catch {
        return .refused(error)
      }
    }

    /// What a watch has told when it is cut, or is over. A member that is cut off, and whose watch
    /// wants a leader, refuses it, or ends it when it notices.
    private mutating func watch(
      _ request: EtcdWatchRequest, wantsLeader: Bool
    ) throws(EtcdRefusal) -> Answer {
      if wantsLeader, cluster.isCutOff(member), !loses { throw .unavailable }
      var messages = [EtcdWatchMessage.created(cluster.header(of: member))]
      if sleeps { cluster.join(member) }
      sleeps = false
      do throws(EtcdRefusal) {
        let told = try cluster.message(of: request.span, from: request.start, at: member)
        if let told { messages.append(.events(told.header, told.events)) }
      } catch {
        messages.append(.canceled(error))
      }
      if loses { messages.append(.canceled(.unavailable)) }
      return .watch(messages)
    }

    /// Whether the member wakes up, or loses its leader, while it is watched.
    private var sleeps = false
    private var loses = false

    mutating func put(_ key: String, _ value: String) {
      cluster.write([(Array(key.utf8), Array(value.utf8))])
    }

    /// Does what was done before this exchange.
    mutating func prepare(_ name: String, _ exchange: Recording.Exchange) throws {
      switch name {
      case "range: nothing": cluster = EtcdCluster(try Played.cluster(exchange))
      case "range: whole":
        put("app/a", "1")
        put("other", "1")
        put("app/b", "")
      case "watch: compacted": cluster.compact(at: 5)
      case "anew: same cluster ID":
        cluster = EtcdCluster(try Played.cluster(exchange))
        put("app/a", "other")
      case "three: range":
        cluster = EtcdCluster(try Played.cluster(exchange), members: 3)
        put("app/a", "1")
      case "leader killed: range later": cluster.elect()
      case "lagging: watch at once":
        member = 2
        cluster.cutOff(member)
        cluster.elect()
        for number in 0..<20 { put("app/a", "\(number)") }
        sleeps = true
      case "no quorum: serializable range":
        member = 1
        cluster.cutOff(member)
      case "quorum lost: watch that wants a leader":
        let term = try #require(try exchange.messages().compactMap(Played.term).first)
        cluster.join(member)
        while cluster.term < term { cluster.elect() }
        cluster.cutOff(member)
        loses = true
      default: break
      }
    }

    private static func term(_ message: EtcdWatchMessage) -> UInt64? {
      if case .created(let header) = message { header.term } else { nil }
    }

    private static func cluster(_ exchange: Recording.Exchange) throws -> EtcdClusterID {
      EtcdClusterID(try exchange.range().header.cluster)
    }
  }

  // MARK: What no recording has

  private static let app = Array("app/".utf8)

  @Test func `a member that is cut off answers nothing that all must agree upon, and lags`() throws
  {
    var cluster = EtcdCluster(EtcdClusterID(1), members: 3)
    cluster.write([(Array("app/a".utf8), [1])])
    cluster.cutOff(2)
    cluster.write([(Array("app/a".utf8), [2])])
    let all = EtcdRangeRequest(EtcdSpan(prefix: ClusterTests.app))
    #expect(throws: EtcdRefusal.unavailable) { try cluster.range(all, at: 2) }
    #expect(try cluster.range(all, serializableAt: 2).range.pairs.first?.value == [1])
    #expect(try cluster.range(all, at: 0).range.pairs.first?.value == [2])
    var future = all
    future.revision = 3
    #expect(throws: EtcdRefusal.future) { try cluster.range(future, serializableAt: 2) }
    #expect(cluster.isBehind(2) && !cluster.isBehind(0))
    cluster.join(2)
    #expect(try cluster.range(all, serializableAt: 2).range.pairs.first?.value == [2])
  }

  /// As etcd 3.4 does.
  @Test func `the revision of a compaction can be read, and none before it`() throws {
    var cluster = EtcdCluster(EtcdClusterID(1))
    for number in 1...3 as ClosedRange<UInt8> { cluster.write([(Array("app/a".utf8), [number])]) }
    cluster.compact(at: 3)
    var range = EtcdRangeRequest(EtcdSpan(prefix: ClusterTests.app), revision: 3)
    #expect(try cluster.range(range, at: 0).range.pairs.map(\.value) == [[2]])
    range.revision = 2
    #expect(throws: EtcdRefusal.compacted) { try cluster.range(range, at: 0) }
  }

  @Test func `a watch that has not told what is thrown away is over`() throws {
    var cluster = EtcdCluster(EtcdClusterID(1))
    cluster.write([(Array("app/a".utf8), [1])])
    let watch = EtcdClusterWatch(member: 0, told: cluster.revision)
    cluster.write([(Array("other".utf8), [1])])
    cluster.compact(at: cluster.revision)
    #expect(!cluster.hasEnded(watch, of: ClusterTests.app), "nothing of the prefix is lost")
    cluster.write([(Array("app/a".utf8), nil)])
    #expect(try cluster.next(of: EtcdSpan(prefix: ClusterTests.app), watch)?.events.count == 1)
    cluster.compact(at: cluster.revision)
    #expect(cluster.hasEnded(watch, of: ClusterTests.app))
    #expect(throws: EtcdRefusal.compacted) {
      try cluster.next(of: EtcdSpan(prefix: ClusterTests.app), watch)
    }
  }

  @Test func `a restored cluster has another name, and the same keys`() throws {
    var cluster = EtcdCluster(EtcdClusterID(1), members: 3)
    cluster.write([(Array("app/a".utf8), [1])])
    cluster.elect()
    let (_, finger) = try cluster.snapshot(
      of: ClusterTests.app, for: ClientID(7), pageCount: 1, at: 0)
    #expect(finger.revision == 2 && finger.marks.term == 3)
    cluster.restore(as: EtcdClusterID(2))
    #expect(throws: EtcdTrouble.foreign) {
      try cluster.changes(since: finger, of: ClusterTests.app, at: 0)
    }
    let all = EtcdRangeRequest(EtcdSpan(prefix: ClusterTests.app))
    let answer = try cluster.range(all, at: 1)
    #expect(answer.header == EtcdHeader(cluster: 2, revision: 2, term: 2))
    #expect(answer.range.pairs.count == 1)
  }

  @Test func `a transaction that changes nothing makes no revision`() throws {
    var cluster = EtcdCluster(EtcdClusterID(1))
    cluster.write([(Array("app/a".utf8), nil)])
    #expect(cluster.revision == 1)
  }
}

extension EtcdSpan {
  fileprivate init(recorded fields: EtcdFields) throws(EtcdWireError) {
    self.init(from: try fields.bytes("key"), to: try fields.bytes("range_end"))
  }
}

extension EtcdRangeRequest {
  /// Reads a request; a test's own mistake traps.
  fileprivate init(recorded fields: EtcdFields) {
    do throws(EtcdWireError) {
      self.init(try EtcdSpan(recorded: fields), revision: try fields.int64("revision"))
      limit = try fields.int64("limit")
      modifiedSince = try fields.int64("min_mod_revision")
      onlyCount = try fields.bool("count_only")
      onlyKeys = try fields.bool("keys_only")
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension EtcdTransaction {
  fileprivate init(recorded fields: EtcdFields) {
    do throws(EtcdWireError) {
      self.init()
      for comparison in try fields.list("compare") {
        comparisons.append(
          .modified(try comparison.bytes("key"), at: try comparison.int64("mod_revision")))
      }
      for operation in try fields.list("success") {
        success.append(try Operation(recorded: operation))
      }
      for operation in try fields.list("failure") {
        failure.append(try Operation(recorded: operation))
      }
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension EtcdTransaction.Operation {
  fileprivate init(recorded fields: EtcdFields) throws(EtcdWireError) {
    if fields.has("request_range") {
      self = .range(EtcdRangeRequest(recorded: try fields.fields("request_range")))
    } else if fields.has("request_put") {
      let put = try fields.fields("request_put")
      self = .put(try put.bytes("key"), try put.bytes("value"))
    } else {
      self = .delete(try fields.fields("request_delete_range").bytes("key"))
    }
  }
}

extension EtcdWatchRequest {
  fileprivate init(recorded fields: EtcdFields) {
    do throws(EtcdWireError) {
      let request = try fields.fields("create_request")
      self.init(
        span: try EtcdSpan(recorded: request), start: try request.int64("start_revision"))
    } catch {
      preconditionFailure("\(error)")
    }
  }
}
