import SyncProtocols
import Testing
import UpdateMachine

/// Real actors, which share one server of tables in this process.
@Suite(.timeLimit(.minutes(5))) struct LocalTableSyncTests {
  typealias Origin = Tunnel<LocalSource<TableModel<Shopping>, TableSync>>
  typealias Driver = UpdateMachine<Origin>

  private let server = LocalTableSync(Shopping.self)
  private let list = TableRowKey(0, 1)
  private let milk = TableRowKey(1, 10)

  private func tunnel() -> Origin {
    Tunnel(source: server.source())
  }

  private func fill() async throws {
    try await server.change(.insert(list, parent: nil, ["name": "Groceries"]))
    try await server.change(.insert(milk, parent: list.id, ["title": "Milk"]))
  }

  private func isShown(_ fields: JSONObject?, _ state: ReplicaState<Origin.Model>) -> Bool {
    state.view?.isWhole == true && state.view?.rows[milk]?.content?.fields == fields
  }

  @Test func `a client registers, and changes from outside arrive`() async throws {
    try await fill()
    let machine = Driver(source: tunnel(), client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { isShown(["title": "Milk"], $0) }
    try await server.change(.set(milk, ["done": true]))
    await machine.wait { isShown(["title": "Milk", "done": true], $0) }
    try await server.change(.delete(list))
    await machine.wait { $0.view?.rows.isEmpty == true }
    #expect(await machine.state.model?.client == ClientID(1))
    await machine.stop()
    await following
  }

  @Test func `a user's change arrives at a second client, and its maker sees it then`() async throws
  {
    try await fill()
    let (me, her) = (
      Driver(source: tunnel(), client: ClientID(1)), Driver(source: tunnel(), client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    for machine in [me, her] { await machine.wait { $0.freshness.claim == .connected } }
    _ = try await me.mutate(.set(milk, ["title": "Oat milk"]))
    for machine in [me, her] { await machine.wait { isShown(["title": "Oat milk"], $0) } }
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `two clients that change one row end with the same, in the server's order`()
    async throws
  {
    try await fill()
    let (me, her) = (
      Driver(source: tunnel(), client: ClientID(1)), Driver(source: tunnel(), client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    for machine in [me, her] { await machine.wait { $0.freshness.claim == .connected } }
    for round in 0..<3 as Range<Int64> {
      _ = try await me.mutate(.set(milk, ["mine": JSONValue(integerLiteral: round)]))
      _ = try await her.mutate(.set(milk, ["hers": JSONValue(integerLiteral: round)]))
      _ = try await me.mutate(.set(milk, ["title": "mine"]))
      _ = try await her.mutate(.set(milk, ["title": "hers"]))
    }
    for machine in [me, her] {
      await machine.wait {
        let row = $0.view?.rows[milk]
        return row?.version == 13 && row?.content?.fields["mine"] == 2
      }
    }
    let truth = await server.rows
    #expect(truth.last?.content?.fields["hers"] == 2)
    #expect(await me.state.view?.rows.map { $0.value } == truth)
    #expect(await her.state.view?.rows.map { $0.value } == truth)
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `a change of what somebody has deleted is refused, and visibly set aside`()
    async throws
  {
    try await fill()
    let machine = Driver(source: tunnel(), client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { $0.freshness.claim == .connected }
    try await server.change(.delete(milk))
    let late = try await machine.mutate(.set(milk, ["title": "Soy milk"]))
    #expect(await machine.acknowledged(late.ticket) == .setAside)
    #expect(await machine.state.setAside.map { $0.change } == [.set(milk, ["title": "Soy milk"])])
    #expect(await machine.discard(late.ticket))
    await #expect(throws: ChangeRefusal("deleted")) {
      try await server.change(.move(milk, parent: nil))
    }
    await machine.stop()
    await following
  }

  /// A user who sees a change undoes it at once, though it may be pending in name still.
  @Test func `an undo takes back what was done, and nothing that others have done since`()
    async throws
  {
    try await fill()
    let machine = Driver(source: tunnel(), client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { $0.freshness.claim == .connected }
    _ = try await machine.mutate(.set(milk, ["title": "Oat milk"]))
    for title in ["Oat milk", "Milk", "Oat milk"] {
      await machine.wait { isShown(["title": .string(title)], $0) }
      let outcome = try await title == "Milk" ? machine.redo() : machine.undo()
      guard case .queued = outcome else { throw ChangeRefusal("\(outcome)") }
    }
    await machine.wait { isShown(["title": "Milk"], $0) }
    _ = try await machine.redo()
    await machine.wait { isShown(["title": "Oat milk"], $0) }
    try await server.change(.set(milk, ["title": "Soy milk"]))
    guard case .queued(let ticket) = try await machine.undo() else { throw ChangeRefusal("lost") }
    #expect(await machine.acknowledged(ticket) == .setAside)
    #expect(await machine.state.setAside.first?.reason == .refused(RejectionCode("changed")))
    #expect(await server.rows.last?.content?.fields["title"] == "Soy milk")
    await machine.stop()
    await following
  }

  @Test func `a change can be made only while connected`() async throws {
    try await fill()
    let mine = tunnel()
    let machine = Driver(source: mine, client: ClientID(1))
    async let following: Void = machine.run()
    await machine.wait { $0.freshness.claim == .connected }
    await mine.door.set(false)
    try await server.change(.set(milk, ["done": true]))  // The poll that waited fails now.
    await machine.wait { $0.freshness.claim != .connected }
    await #expect(throws: MutationError<Never>.notConnected) {
      try await machine.mutate(.set(milk, ["title": "Oat milk"]))
    }
    #expect(isShown(["title": "Milk"], await machine.state))
    await mine.door.set(true)
    await machine.retryNow()
    await machine.wait { isShown(["title": "Milk", "done": true], $0) }
    await machine.stop()
    await following
  }

  @Test func `rows outlive the process, and what changed meanwhile is fetched`() async throws {
    try await fill()
    let store = MemoryStore()
    let old = Driver(source: tunnel(), store: store, client: ClientID(1))
    async let before: Void = old.run()
    await old.wait { isShown(["title": "Milk"], $0) && $0.isSaved }
    await old.stop()
    await before
    try await server.change(.set(milk, ["done": true]))
    let closed = tunnel()
    await closed.door.set(false)
    let new = Driver(source: closed, store: store, client: ClientID(1))
    async let after: Void = new.run()
    await new.wait { isShown(["title": "Milk"], $0) }
    await closed.door.set(true)
    await new.retryNow()
    await new.wait { isShown(["title": "Milk", "done": true], $0) }
    await new.stop()
    await after
  }

  @Test func `a cancelled poll ends at once, and a change wakes every poll that waits`()
    async throws
  {
    let clock = SleeperClock(passes: false)
    let server = LocalTableSync(Shopping.self, clock: clock)
    let source = server.source()
    var finger = try await source.register(as: ClientID(1)).finger
    while case .next(let next, _, _) = TableSync.advance(
      finger, over: try await source.poll(after: finger, waits: false))
    { finger = next }
    let place = finger
    let polls = (0..<3).map { _ in Task { try await source.poll(after: place, waits: true) } }
    var count = 0
    for await _ in clock.sleeps.stream {
      count += 1
      if count == polls.count { break }
    }
    polls[0].cancel()
    #expect(TableSync.advance(place, over: try await polls[0].value) == .seen)
    try await server.change(.insert(list, parent: nil, [:]))
    for poll in polls[1...] { #expect(try await poll.value.count == 2) }
  }

  @Test func `an answer that a source makes equals the server's`() throws {
    var (server, draws) = (TableServer(tableCount: 2), Draws(seed: 1))
    (server.pageMaximum, server.notificationMaximum) = (2, 2)
    var finger = server.register(ClientID(1), at: Moment(milliseconds: 0)).finger
    var kinds = (pages: 0, notifications: 0, losses: 0)
    for round in 0..<500 as Range<Int64> {
      let now = Moment(milliseconds: round / 3)
      let key = TableRowKey(0, round)
      if draws.happens(1, in: 3) { try server.make(.insert(key, parent: nil, [:]), at: now) }
      if draws.happens(1, in: 15) { server.restart() }
      let batch = server.poll(finger, at: now)
      let request = TableRequest(after: finger, in: batch.subscription)
      if batch.subscription != finger.subscription { kinds.losses += 1 }
      switch (batch.content, request.want) {
      case (.page(_, _, let rows, let isLast), .rows(let table, let from, let id)):
        kinds.pages += 1
        #expect(request.answer(rows, isLast: isLast, at: batch.asOf) == batch)
        for row in rows {
          #expect(row.key.table == table && row.stamp >= from ?? .distantPast)
          #expect(row.stamp != from || id.map { $0 < row.key.id } ?? true)
        }
      case (.notifications(let heard, let rows, let isAll), .notifications(let asked)):
        #expect(heard == asked)
        kinds.notifications += 1
        #expect(request.answer(rows, isLast: isAll, at: batch.asOf) == batch)
      default: Issue.record("\(finger) asks for \(request.want)")
      }
      if case .next(let next, _, _) = TableSync.advance(finger, over: batch) { finger = next }
    }
    #expect(kinds.pages > 50 && kinds.notifications > 50 && kinds.losses > 5)
  }
}

extension ReplicaState {
  /// Whether everything applied is durable. The next poll waits for that, so a waiting poll proves
  /// it.
  fileprivate var isSaved: Bool { status?.outstanding?.waits == true }
}
