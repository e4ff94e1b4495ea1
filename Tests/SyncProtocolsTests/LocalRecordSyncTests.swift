import SyncProtocols
import Testing
import UpdateMachine

/// Real actors, which share one server of records in this process.
@Suite struct LocalRecordSyncTests {
  typealias Origin = Tunnel<LocalSource<RecordModel, RecordSync>>
  typealias Driver = UpdateMachine<Origin>

  private let server = LocalRecordSync(pullingEvery: .milliseconds(50))
  private let milk = RecordKey("tasks", "1")

  private func tunnel() -> Origin {
    Tunnel(source: server.source())
  }

  private func isShown(_ columns: JSONObject?, _ state: ReplicaState<RecordModel>) -> Bool {
    state.view?.records[milk]?.columns == columns
  }

  @Test func `a client registers, and changes from outside arrive`() async {
    await server.set(milk, ["title": "Milk"])
    let machine = Driver(source: tunnel(), client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { isShown(["title": "Milk"], $0) }
    await server.set(milk, ["done": true])
    await machine.wait { isShown(["title": "Milk", "done": true], $0) }
    await server.delete(milk)
    await machine.wait { $0.view?.records.isEmpty == true }
    #expect(await machine.state.model?.client == ClientID(1))
    await machine.stop()
    await following
  }

  @Test func `a user's change arrives at a second client, and is no longer pending`() async throws {
    let (me, her) = (
      Driver(source: tunnel(), client: ClientID(1)), Driver(source: tunnel(), client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    await me.wait { $0.model != nil }
    let made = try await me.mutate(RecordChange(.create(["title": "Milk"]), milk))
    let state = await me.state
    let pending = state.pending.map { $0.change }
    #expect(state.model?.state.status(of: milk, under: pending) == .created)
    #expect(await me.acknowledged(made.ticket) == .acknowledged)
    #expect(await me.state.pending.isEmpty)
    await her.wait { isShown(["title": "Milk"], $0) }
    #expect(await server.records[milk] == ["title": "Milk"])
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `an undo takes back what was done, and nothing that others have done since`()
    async throws
  {
    await server.set(milk, ["title": "Milk"])
    let machine = Driver(source: tunnel(), client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { isShown(["title": "Milk"], $0) }
    let made = try await machine.mutate(RecordChange(.update(["title": "Oat milk"]), milk))
    #expect(await machine.acknowledged(made.ticket) == .acknowledged)
    for title in ["Milk", "Oat milk"] {
      let outcome = try await title == "Milk" ? machine.undo() : machine.redo()
      guard case .queued(let ticket) = outcome else { throw RecordChange.Refusal.gone }
      #expect(await machine.acknowledged(ticket) == .acknowledged)
      #expect(await server.records[milk] == ["title": .string(title)])
    }
    await server.set(milk, ["title": "Soy milk"])
    await machine.wait { isShown(["title": "Soy milk"], $0) }
    #expect(try await machine.undo() == .outdated(.changed))
    #expect(await server.records[milk] == ["title": "Soy milk"])
    await machine.stop()
    await following
  }

  @Test func `two clients that changed one record offline end with the same`() async throws {
    let (mine, hers) = (tunnel(), tunnel())
    let (me, her) = (
      Driver(source: mine, client: ClientID(1)), Driver(source: hers, client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    await server.set(milk, ["title": "Milk", "done": false])
    await me.wait { isShown(["title": "Milk", "done": false], $0) }
    await her.wait { isShown(["title": "Milk", "done": false], $0) }

    for door in [mine.door, hers.door] { await door.set(false) }
    let title = try await me.mutate(RecordChange(.update(["title": "Oat milk"]), milk))
    let done = try await her.mutate(RecordChange(.update(["done": true]), milk))
    for door in [mine.door, hers.door] { await door.set(true) }
    for machine in [me, her] { await machine.retryNow() }
    #expect(await me.acknowledged(title.ticket) == .acknowledged)
    #expect(await her.acknowledged(done.ticket) == .acknowledged)
    await me.wait { isShown(["title": "Oat milk", "done": true], $0) }
    await her.wait { isShown(["title": "Oat milk", "done": true], $0) }
    #expect(await server.records[milk] == ["title": "Oat milk", "done": true])
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `a change of what somebody has deleted is overruled, and says so`() async throws {
    let mine = tunnel()
    let machine = Driver(source: mine, client: ClientID(1))
    async let following: Void = machine.run()
    await server.set(milk, ["title": "Milk"])
    await machine.wait { isShown(["title": "Milk"], $0) }
    await mine.door.set(false)
    let late = try await machine.mutate(RecordChange(.update(["title": "Soy milk"]), milk))
    #expect(isShown(["title": "Soy milk"], await machine.state))
    await server.delete(milk)
    await mine.door.set(true)
    await machine.retryNow()
    #expect(await machine.acknowledged(late.ticket) == .overruled)
    let state = await machine.state
    #expect(state.view?.records.isEmpty == true && state.pending.isEmpty)
    await #expect(throws: MutationError<RecordChange.Refusal>.refused(.gone)) {
      try await machine.mutate(RecordChange(.update(["title": "Milk"]), milk))
    }
    await machine.stop()
    await following
  }

  /// Which of them comes first is chance. The other says so, and saves nothing more.
  @Test(.timeLimit(.minutes(2)))
  func `two machines on one store do not overwrite each other unseen`() async {
    let store = MemoryStore()
    let (reports, note) = AsyncStream.makeStream(of: DriverReport.self)
    let machines = (0..<2).map { _ in
      Driver(source: tunnel(), store: store, reporter: { note.yield($0) })
    }
    async let first: Void = machines[0].run()
    async let second: Void = machines[1].run()
    let writing = Task {
      var count: Int64 = 0
      while !Task.isCancelled {
        count += 1
        await server.set(milk, ["count": JSONValue(integerLiteral: count)])
        await Task.yield()
      }
    }
    for await report in reports { if case .store(.taken) = report { break } }
    writing.cancel()
    for machine in machines { await machine.stop() }
    _ = await (first, second)
  }

  @Test func `records and pending changes outlive the process`() async throws {
    let store = MemoryStore()
    let closed = tunnel()
    let old = Driver(source: closed, store: store, client: ClientID(1))
    async let before: Void = old.run()
    await server.set(milk, ["title": "Milk"])
    await old.wait { isShown(["title": "Milk"], $0) }
    await closed.door.set(false)
    let made = try await old.mutate(RecordChange(.update(["done": true]), milk))
    #expect(await old.stored(made.ticket))
    let next = try await killed(old, store)
    await before
    let new = Driver(source: tunnel(), store: next, client: ClientID(1))
    async let after: Void = new.run()
    await new.wait { isShown(["title": "Milk", "done": true], $0) }
    #expect(await new.acknowledged(made.ticket) == .acknowledged)
    #expect(await server.records[milk] == ["title": "Milk", "done": true])
    await new.stop()
    await after
  }

  @Test func `an answer that a source makes equals the server's`() throws {
    var (server, draws) = (RecordServer(epoch: 3, pageMaximum: 2), Draws(seed: 1))
    let schema = RecordSchema(1)
    var finger: RecordFinger?
    var pages = 0
    for round in 0..<200 as Range<Int64> {
      let key = RecordKey("t", "\(draws.below(9))")
      if draws.happens(1, in: 2) {
        server.set(key, ["n": JSONValue(integerLiteral: round)], at: Moment(milliseconds: round))
      } else if draws.happens(1, in: 3) {
        server.delete(key, at: Moment(milliseconds: round))
      }
      let pull = try RecordPull(client: ClientID(1), after: finger, schema: schema)
      let answer = server.pull(pull)
      let expected = try #require(answer)
      var last: RecordKey?
      if case .page(_, let through) = expected.content { last = through }
      // A page also says whether anything has changed since the first one.
      let found = pull.answer(
        epoch: 3, pulledAt: server.last, through: last, created: expected.created.reversed(),
        updated: expected.updated.reversed(), deleted: expected.deleted.reversed())
      #expect(found.isWhole == expected.isWhole)
      var same = found
      same.isCurrent = expected.isCurrent
      #expect(same == expected)
      pages += last == nil ? 0 : 1
      if let old = finger {
        if case .next(let next, _, _) = RecordSync.advance(old, over: found) { finger = next }
      } else {
        finger = found.finger
      }
      if draws.happens(1, in: 20) { finger = nil }
    }
    #expect(pages > 5)
  }

  @Test func `an answer that no server may give is refused, not followed`() throws {
    let schema = RecordSchema(1)
    let first = try RecordPull(client: ClientID(1), after: nil, schema: schema)
    let row = RecordRow(RecordKey("t", "a"), ["x": 1])
    let whole = first.answer(epoch: 1, pulledAt: RecordStamp(5), created: [row])
    #expect(throws: RecordRefusal.disordered(row.key)) {
      _ = try RecordModel(
        snapshot: first.answer(epoch: 1, pulledAt: RecordStamp(5), created: [row, row]))
    }
    #expect(throws: RecordRefusal.notAPage) {
      _ = try RecordModel(
        snapshot: first.answer(epoch: 1, pulledAt: RecordStamp(5), deleted: [row.key]))
    }
    let next = try RecordPull(client: ClientID(1), after: whole.finger, schema: schema)
    #expect(next.lastPulledAt == RecordStamp(5) && next.cursor == nil)
    let part = next.answer(
      epoch: 1, pulledAt: RecordStamp(6), through: row.key, created: [row])
    #expect(RecordSync.advance(whole.finger, over: part) == .lost)
    let other = next.answer(epoch: 2, pulledAt: RecordStamp(6), created: [row])
    #expect(RecordSync.advance(whole.finger, over: other) == .gap)
  }

  @Test func `a page older than the first one is not taken`() throws {
    let schema = RecordSchema(1)
    let first = try RecordPull(client: ClientID(1), after: nil, schema: schema)
    let row = RecordRow(RecordKey("t", "a"), ["x": 1])
    let page = first.answer(
      epoch: 1, pulledAt: RecordStamp(5), through: row.key, created: [row])
    let next = try RecordPull(client: ClientID(1), after: page.finger, schema: schema)
    let old = next.answer(epoch: 1, pulledAt: RecordStamp(4))
    #expect(RecordSync.advance(page.finger, over: old) == .incomplete)
    let late = next.answer(epoch: 1, pulledAt: RecordStamp(9))
    #expect(late.pulledAt == RecordStamp(5) && !late.isWhole)
  }
}
