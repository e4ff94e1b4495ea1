import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import EtcdSync

/// A key that is there as long as its client, at a real etcd. Where there is none, these are said
/// to be skipped.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct PresenceOverHTTPTests {
  static func source(_ etcd: EtcdProcess, _ login: EtcdLogin? = nil) throws -> EtcdSource<EtcdMap> {
    let connection = try EtcdConnection(
      to: [etcd.address], login: login, settings: EtcdConnection.quick())
    return try EtcdSource(connection, prefix: "app/", for: EtcdMap.self)
  }

  /// Ann, who is there for two seconds longer than her process.
  static func ann(_ source: EtcdSource<EtcdMap>) -> Task<EtcdPresenceError?, Never> {
    Task {
      do throws(EtcdPresenceError) {
        try await source.present(as: "here/ann", value: "Ann", timeToLive: .seconds(2))
        return nil
      } catch {
        return error
      }
    }
  }

  /// Waits until others see Ann, or see that she is gone. Returns after how many milliseconds.
  @discardableResult
  static func sees(
    _ isThere: Bool, _ source: EtcdSource<EtcdMap>, within seconds: Int64 = 20
  ) async throws -> Int64 {
    let clock = SystemClock()
    let start = clock.now
    while clock.now < start + .seconds(seconds) {
      if let snapshot = try? await source.register(as: ClientID(9)).snapshot {
        let found = snapshot.entries["here/ann"]
        #expect(found == nil || found?.text == "Ann")
        if (found != nil) == isThere { return (clock.now - start).milliseconds }
      }
      try await clock.sleep(until: clock.now + .milliseconds(20))
    }
    Issue.record("she is \(isThere ? "not " : "")there after \(seconds) s")
    return .max
  }

  @Test func `a key comes, stays, and goes at once, which a watch tells`() async throws {
    try await EtcdProcess.serving { etcd in
      let bob = try PresenceOverHTTPTests.source(etcd)
      var finger = try await bob.register(as: ClientID(9)).finger
      let ann = PresenceOverHTTPTests.ann(try PresenceOverHTTPTests.source(etcd))
      var events: [EtcdEvent] = []
      let clock = SystemClock()
      let start = clock.now
      var cancelled: Moment?
      while events.count < 2, clock.now < start + .seconds(20) {
        let batch = try await bob.poll(after: finger, waits: true)
        events += batch.events.map(\.event)
        guard case .next(let next, _, _) = EtcdLog.advance(finger, over: batch) else { continue }
        finger = next
        // Longer than the time to live: it is renewed.
        if cancelled == nil, !events.isEmpty {
          try await clock.sleep(until: clock.now + .seconds(5))
          #expect(try await bob.poll(after: finger, waits: false).events.isEmpty)
          ann.cancel()
          cancelled = clock.now
        }
      }
      #expect(events.map(\.key) == ["here/ann", "here/ann"])
      #expect(events.map { $0.value != nil } == [true, false])
      #expect((clock.now - (try #require(cancelled))).milliseconds < 1000)
      #expect(await ann.value == nil)
    }
  }

  @Test func `a member that is killed, and one that is wiped, has the key again`() async throws {
    try await EtcdProcess.serving { etcd in
      let bob = try PresenceOverHTTPTests.source(etcd)
      let ann = PresenceOverHTTPTests.ann(try PresenceOverHTTPTests.source(etcd))
      try await PresenceOverHTTPTests.sees(true, bob)
      for wipes in [false, true] {
        etcd.kill(andWipe: wipes)
        let clock = SystemClock()
        try await clock.sleep(until: clock.now + .seconds(3))
        try await etcd.start()
        try await PresenceOverHTTPTests.sees(true, bob)
      }
      ann.cancel()
      #expect(await ann.value == nil)
      try await PresenceOverHTTPTests.sees(false, bob, within: 1)
    }
  }

  @Test func `a lease that is lost, and a key that is deleted, are mended`() async throws {
    try await EtcdProcess.serving { etcd in
      let bob = try PresenceOverHTTPTests.source(etcd)
      let other = bob.connection
      let ann = PresenceOverHTTPTests.ann(try PresenceOverHTTPTests.source(etcd))
      try await PresenceOverHTTPTests.sees(true, bob)
      let range = EtcdRangeRequest(EtcdSpan(key: Array("app/here/ann".utf8)))
      let fields = try await other.ask(
        other.members[0], "/v3/kv/range", range.json, within: .seconds(5))
      let lease = try #require(try EtcdRangeAnswer(fields).range.pairs.first?.lease)
      let revoke = EtcdLeaseRequest.revoke(lease)
      _ = try await other.ask(other.members[0], revoke.path, revoke.json, within: .seconds(5))
      try await PresenceOverHTTPTests.sees(true, bob, within: 3)
      try await other.delete("app/here/ann")
      try await PresenceOverHTTPTests.sees(true, bob, within: 3)
      // What was written to stay is left alone, and ends the presence.
      try await other.put("app/here/ann", "Ann")
      #expect(await ann.value == .keyIsTaken)
      try await PresenceOverHTTPTests.sees(true, bob)
    }
  }

  @Test func `tokens expire, and who may not is told so`() async throws {
    try await LoginOverHTTPTests.serving { etcd in
      let source = try PresenceOverHTTPTests.source(etcd, LoginOverHTTPTests.ada)
      let ann = PresenceOverHTTPTests.ann(source)
      try await PresenceOverHTTPTests.sees(true, source)
      let clock = SystemClock()
      try await clock.sleep(until: clock.now + .seconds(4))
      try await PresenceOverHTTPTests.sees(true, source, within: 1)
      ann.cancel()
      #expect(await ann.value == nil)
      try await PresenceOverHTTPTests.sees(false, source, within: 1)
      let wrong = EtcdLogin(user: "ada", password: "no")
      let refused = PresenceOverHTTPTests.ann(try PresenceOverHTTPTests.source(etcd, wrong))
      #expect(await refused.value == .refused(.unauthorized))
    }
  }

  @Test func `without a cluster it ends in time, and the library's own keys are refused`()
    async throws
  {
    try await EtcdProcess.serving { etcd in
      let source = try PresenceOverHTTPTests.source(etcd)
      await #expect(throws: EtcdPresenceError.reservedKey) {
        try await source.present(as: EtcdKey(bytes: [0, 1]), value: "")
      }
      let ann = PresenceOverHTTPTests.ann(source)
      try await PresenceOverHTTPTests.sees(true, source)
      etcd.pause()
      let clock = SystemClock()
      let start = clock.now
      ann.cancel()
      #expect(await ann.value == nil)
      #expect((clock.now - start).milliseconds < 4000)
      etcd.resume()
      // Nobody has taken it back, so it ends with its lease.
      try await PresenceOverHTTPTests.sees(false, source)
    }
  }
}
