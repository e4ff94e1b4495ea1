import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import EtcdSync

/// A source against a real etcd. Where there is none, these are said to be skipped.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct FollowOverHTTPTests {
  static let client = ClientID(7)

  static func source(_ connection: EtcdConnection) throws -> EtcdSource<EtcdMap> {
    try EtcdSource(connection, prefix: "app/", for: EtcdMap.self)
  }

  static func following(
    _ extra: [String] = [],
    _ body: (EtcdProcess, EtcdConnection, EtcdSource<EtcdMap>) async throws -> Void
  ) async throws {
    try await EtcdProcess.serving(extra) { etcd in
      let connection = try EtcdConnection(to: [etcd.address], settings: EtcdConnection.quick())
      try await body(etcd, connection, try source(connection))
    }
  }

  /// Follows a batch.
  static func next(_ finger: EtcdFinger, _ batch: EtcdBatch) throws -> EtcdFinger {
    switch EtcdLog.advance(finger, over: batch) {
    case .next(let next, _, _): return next
    case .seen: return finger
    case .incomplete, .lost, .gap:
      Issue.record("does not follow: \(batch)")
      return finger
    }
  }

  @Test func `a client registers, asks, waits, and hears of nothing but its prefix`() async throws {
    try await FollowOverHTTPTests.following { _, connection, source in
      try await connection.put("app/a", "1")
      try await connection.put("other", "1")
      let registered = try await source.register(as: FollowOverHTTPTests.client)
      #expect(registered.finger.revision == 3)
      #expect(registered.snapshot.entries == ["a": EtcdEntry([UInt8(ascii: "1")], revision: 2)])
      var finger = registered.finger

      #expect(
        EtcdLog.advance(finger, over: try await source.poll(after: finger, waits: false)) == .seen)
      // Nothing happens under the prefix, but the finger moves.
      try await connection.put("other", "2")
      var batch = try await source.poll(after: finger, waits: false)
      #expect(batch.events.isEmpty)
      finger = try FollowOverHTTPTests.next(finger, batch)
      #expect(finger.revision == 4)

      let place = finger
      async let waiting = source.poll(after: place, waits: true)
      let revision = try await connection.perform(
        .put(Array("app/b".utf8), []), .delete(Array("app/a".utf8)))
      batch = try await waiting
      #expect(
        batch.events.map(\.event) == [
          EtcdEvent(key: "b", value: [], revision: revision),
          EtcdEvent(key: "a", value: nil, revision: revision),
        ])
      finger = try FollowOverHTTPTests.next(finger, batch)
      #expect(finger.marks.count == 1)
      #expect(
        EtcdLog.advance(finger, over: try await source.poll(after: finger, waits: false)) == .seen)
    }
  }

  @Test func `a quick poll names what was deleted`() async throws {
    try await FollowOverHTTPTests.following { _, connection, source in
      for key in ["a", "b", "c"] { try await connection.put("app/\(key)", "1") }
      let finger = try await source.register(as: FollowOverHTTPTests.client).finger
      try await connection.delete("app/a")
      try await connection.delete("app/b")
      try await connection.put("app/b", "2")
      try await connection.put("app/d", "3")
      try await connection.delete("app/d")
      let batch = try await source.poll(after: finger, waits: false)
      #expect(batch.events.map(\.event.key) == ["b", "a"])
      #expect(batch.events.map(\.event.value) == [[UInt8(ascii: "2")], nil])
      #expect(try FollowOverHTTPTests.next(finger, batch).marks.count == 2)
    }
  }

  @Test func `a silent watch is checked, and goes on`() async throws {
    try await FollowOverHTTPTests.following { _, connection, source in
      var finger = try await source.register(as: FollowOverHTTPTests.client).finger
      for _ in 1...2 {
        let batch = try await source.poll(after: finger, waits: true)
        #expect(batch.events.isEmpty)
        finger = try FollowOverHTTPTests.next(finger, batch)
      }
      let place = finger
      async let waiting = source.poll(after: place, waits: true)
      try await connection.put("app/a", "1")
      #expect(try await waiting.events.count == 1)
    }
  }

  @Test func `a register reads pages of one revision`() async throws {
    try await EtcdProcess.serving { etcd in
      var settings = EtcdConnection.quick()
      settings.pageCount = 2
      let connection = try EtcdConnection(to: [etcd.address], settings: settings)
      let source = try FollowOverHTTPTests.source(connection)
      for number in 1...5 { try await connection.put("app/\(number)", "\(number)") }
      let registered = try await source.register(as: FollowOverHTTPTests.client)
      #expect(registered.snapshot.entries.count == 5)
      #expect(registered.finger.marks.count == 5)
    }
  }

  @Test func `history that was thrown away is an expired finger`() async throws {
    try await FollowOverHTTPTests.following { _, connection, source in
      try await connection.put("app/a", "1")
      let finger = try await source.register(as: FollowOverHTTPTests.client).finger
      try await connection.put("app/a", "2")
      let last = try await connection.delete("app/a")
      // Exactly at the next revision, from where a watch would not be refused.
      try await connection.compact(at: last)
      await #expect(throws: SyncFailure.expired) {
        try await source.poll(after: finger, waits: false)
      }
      await #expect(throws: SyncFailure.expired) {
        try await source.poll(after: finger, waits: true)
      }
      #expect(try await source.register(as: FollowOverHTTPTests.client).snapshot.entries.isEmpty)
    }
  }

  @Test func `a member that was wiped is not believed, however much it has done since`()
    async throws
  {
    try await FollowOverHTTPTests.following { etcd, connection, source in
      for number in 1...5 { try await connection.put("app/\(number)", "\(number)") }
      let finger = try await source.register(as: FollowOverHTTPTests.client).finger
      etcd.kill(andWipe: true)
      await #expect(throws: SyncFailure.unreachable) {
        try await source.poll(after: finger, waits: false)
      }
      try await etcd.start()
      // Below the finger, at it, and above.
      for number in 1...8 {
        let revision = try await connection.put("app/\(number % 3)", "other")
        for waits in [false, true] {
          await #expect(throws: SyncFailure.rejected(.otherHistory), "\(revision)") {
            try await source.poll(after: finger, waits: waits)
          }
        }
      }
    }
  }

  @Test func `a member that restarts is found again, and so is what happened meanwhile`()
    async throws
  {
    try await FollowOverHTTPTests.following { etcd, connection, source in
      try await connection.put("app/a", "1")
      let finger = try await source.register(as: FollowOverHTTPTests.client).finger
      let waiting = Task { try await source.poll(after: finger, waits: true) }
      try await connection.put("other", "1")
      etcd.kill()
      await #expect(throws: SyncFailure.unreachable) { try await waiting.value }
      try await etcd.start()
      try await connection.put("app/a", "2")
      let batch = try await source.poll(after: finger, waits: false)
      #expect(batch.events.map(\.event.value) == [[UInt8(ascii: "2")]])
    }
  }

  @Test func `a cancelled poll ends at once`() async throws {
    try await EtcdProcess.serving { etcd in
      let connection = try EtcdConnection(
        to: [etcd.address], settings: EtcdConnection.quick(silence: .minutes(5)))
      let source = try FollowOverHTTPTests.source(connection)
      let finger = try await source.register(as: FollowOverHTTPTests.client).finger
      let waiting = Task { try await source.poll(after: finger, waits: true) }
      try await connection.put("other", "1")
      waiting.cancel()
      await #expect(throws: SyncFailure.self) { try await waiting.value }
    }
  }

  /// A client asks for news less often than that, by its default pace.
  @Test func `a client keeps up with twenty changes a second`() async throws {
    try await EtcdProcess.serving { etcd in
      let connection = try EtcdConnection(to: [etcd.address])
      let source = try FollowOverHTTPTests.source(connection)
      let machine = UpdateMachine(source: source, store: MemoryStore())
      let running = Task { await machine.run() }
      try await machine.shows { $0.isEmpty }
      let clock = SystemClock()
      let start = clock.now
      for number in 1...80 {
        try await connection.put("app/a", "\(number)")
        try await clock.sleep(until: start + .milliseconds(50 * Int64(number)))
      }
      let end = clock.now
      try await machine.shows { $0["a"]?.text == "80" }
      #expect(clock.now - end < .seconds(8))
      await machine.stop()
      await running.value
    }
  }

  @Test func `a machine follows, over both rhythms, and starts over when it must`() async throws {
    for cadence in [EtcdCadence.waits, .pushed] {
      try await EtcdProcess.serving { etcd in
        let connection = try EtcdConnection(to: [etcd.address], settings: EtcdConnection.quick())
        try await connection.put("app/a", "1")
        let source = try EtcdSource(
          connection, prefix: "app/", for: EtcdMap.self, cadence: cadence)
        let machine = UpdateMachine(source: source, store: MemoryStore(), settings: .quick)
        let running = Task { await machine.run() }
        try await machine.shows { $0["a"]?.text == "1" }
        try await connection.put("app/a", "2")
        try await machine.shows { $0["a"]?.text == "2" }
        try await connection.delete("app/a")
        try await machine.shows { $0.isEmpty }
        etcd.kill(andWipe: true)
        try await etcd.start()
        try await connection.put("app/b", "anew")
        try await machine.shows { $0["b"]?.text == "anew" && $0.count == 1 }
        await machine.stop()
        await running.value
      }
    }
  }
}

extension UpdateMachine where Origin == EtcdSource<EtcdMap> {
  /// Waits until the client is connected and its entries are so.
  func shows(_ isSo: (VersionedMap<EtcdKey, EtcdEntry>) -> Bool) async throws {
    for await state in states() where state.freshness.claim == .connected {
      if let model = state.model, isSo(model.entries) { return }
    }
    Issue.record("the machine ended")
  }
}
