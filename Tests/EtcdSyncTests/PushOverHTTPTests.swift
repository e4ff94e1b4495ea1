import SyncProtocols
import TestSupport
import Testing

@testable import EtcdSync
@testable import UpdateMachine

/// Changes at a real etcd. Where there is none, these are said to be skipped.
@Suite(
  .enabled(if: EtcdProcess.isThere, "etcd is not installed (Debian: etcd-server)"),
  .timeLimit(.minutes(2)))
struct PushOverHTTPTests {
  /// A client without a machine: it does what a machine would.
  struct Device {
    let source: EtcdSource<Chores>
    var model: Chores
    var finger: EtcdFinger

    init(_ connection: EtcdConnection, _ name: UInt64) async throws {
      source = try EtcdSource(connection, prefix: "app/", for: Chores.self)
      let registered = try await source.register(as: ClientID(name))
      model = try Chores(snapshot: registered.snapshot)
      finger = registered.finger
    }

    /// Begins anew.
    mutating func register() async throws {
      let registered = try await source.register(as: try #require(model.client))
      model = try Chores(snapshot: registered.snapshot)
      finger = registered.finger
    }

    mutating func pull() async throws {
      let batch = try await source.poll(after: finger, waits: false)
      switch EtcdLog.advance(finger, over: batch) {
      case .next(let next, let first, _):
        for item in batch.events[first...] { try model.apply(item.event) }
        finger = next
      case .seen: break
      case .incomplete, .lost, .gap: Issue.record("does not follow")
      }
    }

    func push(_ push: PushRequest<Chore>) async throws -> PushAnswer {
      try await source.push(push, at: finger, over: model.state)
    }

    subscript(key: String) -> String? { model.entries[EtcdKey(key)]?.text }
    var last: UInt64 { model.confirmation.last.number }
  }

  static func serving(
    _ body: (EtcdProcess, EtcdConnection) async throws -> Void
  ) async throws {
    try await EtcdProcess.serving { etcd in
      try await body(
        etcd, try EtcdConnection(to: [etcd.address], settings: EtcdConnection.quick()))
    }
  }

  @Test func `an effect and its confirmation come in one revision`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      var one = try await Device(connection, 1)
      #expect(try await one.push(.of(.count("n"), .count("n"), client: 1)) == .accepted)
      let batch = try await one.source.poll(after: one.finger, waits: false)
      #expect(Set(batch.events.map(\.event.revision)).count == 1)
      try await one.pull()
      #expect(one["n"] == "2")
      #expect(one.last == 2)
    }
  }

  @Test func `a second copy of a push changes nothing, however late it comes`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      let late = try await Device(connection, 1)
      var one = try await Device(connection, 1)
      let push = PushRequest.of(.count("n"), client: 1)
      #expect(try await one.push(push) == .accepted)
      #expect(try await late.push(push) == .accepted)
      try await one.pull()
      #expect(try await one.push(.of(.count("n"), client: 1, from: 2)) == .accepted)
      #expect(try await late.push(push) == .accepted)
      try await one.pull()
      #expect(one["n"] == "2")
      #expect(one.last == 2)
    }
  }

  @Test func `a client that is behind pulls first, and its changes run anew`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      var one = try await Device(connection, 1)
      var two = try await Device(connection, 2)
      #expect(try await one.push(.of(.count("n"), client: 1)) == .accepted)
      let push = PushRequest.of(.count("n"), client: 2)
      #expect(try await two.push(push) == .behind)
      try await two.pull()
      #expect(try await two.push(push) == .accepted)
      try await one.pull()
      #expect(one["n"] == "2")
      // What neither reads is no conflict.
      #expect(try await one.push(.of(.add("a", "x"), client: 1, from: 2)) == .accepted)
      try await two.pull()
      #expect(try await two.push(.of(.remove("b"), client: 2, from: 2)) == .accepted)
      // Its own last change has not come back yet.
      #expect(try await two.push(.of(.remove("b"), client: 2, from: 3)) == .behind)
    }
  }

  @Test func `a range that has changed is a conflict, also by a deletion`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      try await connection.put("app/thing/a", "tea")
      try await connection.put("app/thing/b", "milk")
      var one = try await Device(connection, 1)
      let push = PushRequest.of(.tally, client: 1)
      try await connection.delete("app/thing/a")
      #expect(try await one.push(push) == .behind)
      try await one.pull()
      try await connection.put("app/thing/c", "jam")
      #expect(try await one.push(push) == .behind)
      try await one.pull()
      try await connection.put("app/elsewhere", "x")
      #expect(try await one.push(push) == .accepted)
      try await one.pull()
      #expect(one["tally"] == "2")
    }
  }

  @Test func `a refusal is told, and confirmed with what was done`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      try await connection.put("app/a", "tea")
      var one = try await Device(connection, 1)
      let refusal = MutationRefusal(MutationID(2), RejectionCode("EXISTS"))
      let push = PushRequest.of(.count("n"), .add("a", "x"), .count("n"), client: 1)
      #expect(try await one.push(push) == .refused(refusal))
      #expect(try await one.push(push) == .behind, "not heard of yet")
      try await one.pull()
      #expect(one["n"] == "1")
      #expect(
        one.model.confirmation == MutationConfirmation(last: MutationID(2), refusal: refusal))
      #expect(try await one.push(push) == .refused(refusal))
    }
  }

  @Test func `a push that is too large is said to be`() async throws {
    try await PushOverHTTPTests.serving { _, connection in
      let one = try await Device(connection, 1)
      let big = String(repeating: "x", count: 1_600_000)
      #expect(try await one.push(.of(.add("a", big), client: 1)) == .tooLarge)
      let many = (1...130).map { Chore.add("k\($0)", "") }
      var push = PushRequest.of(client: 1)
      push.mutations = many.enumerated().map { index, change in
        PushRequest.Item(
          id: MutationID(UInt64(index) + 1), ticket: MutationTicket(UInt64(index) + 1),
          change: change)
      }
      #expect(try await one.push(push) == .tooLarge)
    }
  }

  @Test func `nothing is written into another history`() async throws {
    try await PushOverHTTPTests.serving { etcd, connection in
      for number in 1...5 { try await connection.put("app/\(number)", "") }
      let one = try await Device(connection, 1)
      etcd.kill(andWipe: true)
      try await etcd.start()
      for _ in 1...8 {
        #expect(try await one.push(.of(.count("n"), client: 1)) == .behind)
        try await connection.put("other", "")
      }
      #expect(try await Device(connection, 2)["n"] == nil)
    }
  }

  /// Its last push was at a revision that the new history has not reached.
  @Test func `a client that registers in a younger history changes things there`() async throws {
    try await PushOverHTTPTests.serving { etcd, connection in
      for number in 1...5 { try await connection.put("app/\(number)", "") }
      var one = try await Device(connection, 1)
      #expect(try await one.push(.of(.count("n"), client: 1)) == .accepted)
      etcd.kill(andWipe: true)
      try await etcd.start()
      try await one.register()
      #expect(try await one.push(.of(.count("n"), client: 1, from: 2)) == .accepted)
      try await one.pull()
      #expect(one["n"] == "1" && one.last == 2)
    }
  }

  @Test func `eight machines count together, and each count counts once`() async throws {
    try await PushOverHTTPTests.serving { etcd, connection in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...8 {
          group.addTask {
            try await PushOverHTTPTests.count(to: 80, by: 10, at: etcd.address)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await Device(connection, 9)["n"] == "80")
    }
  }

  /// Makes changes by a machine, and waits until its model shows everybody's.
  private static func count(to total: Int, by count: Int, at address: String) async throws {
    let connection = try EtcdConnection(to: [address], settings: EtcdConnection.quick())
    let source = try EtcdSource(connection, prefix: "app/", for: Chores.self)
    let machine = UpdateMachine(source: source, store: MemoryStore(), settings: .quick)
    let running = Task { await machine.run() }
    for await state in await machine.states() where state.model != nil { break }
    for _ in 1...count { _ = try await machine.mutate(.count("n")) }
    for await state in await machine.states() {
      if state.model?.entries["n"]?.text == "\(total)" { break }
    }
    await machine.stop()
    await running.value
  }
}
