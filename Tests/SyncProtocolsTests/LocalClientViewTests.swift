import SyncProtocols
import Testing
import UpdateMachine

/// Real actors with local changes, which share one server in this process.
@Suite struct LocalClientViewTests {
  typealias Origin = Tunnel<LocalSource<ConfirmedView<Wish>, ClientView<JSONValue>>>
  typealias Driver = UpdateMachine<Origin>
  typealias Model = ConfirmedView<Wish>

  /// A wish of an app that begins with an empty view.
  struct EarlyWish: ViewMutation {
    var wish: Wish

    var name: String { wish.name }
    var arguments: JSONValue { wish.arguments }
    static var beginning: ViewMap<JSONValue>? { ViewMap() }

    func apply(to view: inout ViewMap<JSONValue>) throws(ChangeRefusal) -> JSONValue {
      try wish.apply(to: &view)
    }
  }

  private let server = LocalClientView(Reservations())

  private func origin() -> Origin {
    Tunnel(source: server.source(for: Wish.self))
  }

  private func holder(of hour: Int64, at machine: Driver) async -> String? {
    await machine.state.view.map { Hour(hour: hour).answer(in: $0) }
  }

  @Test func `a first start offline takes changes, and sends them once it can pull`() async throws {
    let tunnel = Tunnel(source: server.source(for: EarlyWish.self))
    await tunnel.door.set(false)
    let machine = UpdateMachine(source: tunnel, client: ClientID(9))
    async let following: Void = machine.run()
    for await state in await machine.states() where state.view != nil { break }
    let wish = try await machine.mutate(EarlyWish(wish: .reserve(hour: 9, who: "me")))
    #expect(wish.value == "RESERVED")
    let offline = await machine.state
    #expect(offline.model == nil)
    #expect(offline.view?.text == "hour/9=\"me\" status/me=\"RESERVED\"")
    #expect(await server.view.text == "")

    await tunnel.door.set(true)
    await machine.retryNow()
    #expect(await machine.acknowledged(wish.ticket) == .acknowledged)
    #expect(await machine.state.model?.client == ClientID(9))
    #expect(await server.view.text == "hour/9=\"me\" status/me=\"RESERVED\"")
    await machine.stop()
    await following
  }

  @Test func `two machines that were offline end with the same state`() async throws {
    let (mine, hers) = (origin(), origin())
    let (me, her) = (
      Driver(source: mine, client: ClientID(1)), Driver(source: hers, client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    await me.wait { $0.view != nil }
    await her.wait { $0.view != nil }

    await mine.door.set(false)
    let wish = try await me.mutate(.reserve(hour: 9, who: "me"))
    #expect(wish.value == "RESERVED")
    await me.stored(wish.ticket)
    #expect(await holder(of: 9, at: me) == "me")
    let herWish = try await her.mutate(.reserve(hour: 9, who: "Ada"))
    #expect(await her.acknowledged(herWish.ticket) == .acknowledged)

    await mine.door.set(true)
    await me.retryNow()
    #expect(await me.acknowledged(wish.ticket) == .acknowledged)
    #expect(await holder(of: 9, at: me) == "Ada")
    #expect(await me.state.view?["status/me"] == "UNAVAILABLE")
    await her.wait { $0.view?["status/me"] == "UNAVAILABLE" }
    let truth = await server.view
    #expect(await me.state.view == truth)
    #expect(await her.state.view == truth)
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `the answer to a push acknowledges nothing; the pull does`() async throws {
    let machine = Driver(source: origin())
    async let following: Void = machine.run()
    await machine.wait { $0.view != nil }
    await server.holdPushes()
    let wish = try await machine.mutate(.reserve(hour: 9, who: "me"))
    await machine.wait { $0.local?.outbox.status == .confirming }
    #expect(await machine.state(of: wish.ticket) == .sent)
    #expect(await machine.state.pending.count == 1)
    await server.runPushes()
    #expect(await machine.acknowledged(wish.ticket) == .acknowledged)
    #expect(await machine.state.pending.isEmpty)
    await machine.stop()
    await following
  }

  @Test func `a change survives the process and is made once`() async throws {
    let store = MemoryStore()
    let closed = origin()
    let old = Driver(source: closed, store: store, client: ClientID(1))
    async let before: Void = old.run()
    await old.wait { $0.view != nil }
    await closed.door.set(false)
    let wish = try await old.mutate(.reserve(hour: 9, who: "me"))
    #expect(await old.stored(wish.ticket))
    let next = try await killed(old, store)
    await before
    let new = Driver(source: origin(), store: next)
    async let after: Void = new.run()
    await new.wait { $0.view != nil }
    #expect(await holder(of: 9, at: new) == "me")
    #expect(await new.acknowledged(wish.ticket) == .acknowledged)
    #expect(await server.view.text == "hour/9=\"me\" status/me=\"RESERVED\"")
    await new.stop()
    await after
  }

  @Test func `a subscription tells only who has an hour`() async throws {
    let machine = Driver(source: origin())
    async let following: Void = machine.run()
    var answers = await machine.changes(of: Hour(hour: 9)).makeAsyncIterator()
    #expect(await answers.next() == "free")
    _ = try await machine.mutate(.reserve(hour: 8, who: "me"))
    _ = try await machine.mutate(.reserve(hour: 9, who: "me"))
    #expect(await answers.next() == "me")
    await server.change { $0.put("hour/9", "Ada") }
    #expect(await answers.next() == "Ada")
    try await machine.logOut()
    #expect(await answers.next() == nil)
    await following
  }

  @Test func `many changes from many tasks are all made, each once`() async throws {
    let machine = Driver(source: origin(), store: MemoryStore())
    async let following: Void = machine.run()
    await machine.wait { $0.view != nil }
    await withDiscardingTaskGroup { group in
      for task in 0..<8 as Range<Int64> {
        group.addTask {
          for step in 0..<20 as Range<Int64> {
            let wish = Wish.reserve(hour: task * 100 + step, who: "\(task)")
            guard let mutated = try? await machine.mutate(wish) else {
              Issue.record("it was not made")
              return
            }
            if step % 3 == 0 { #expect(await machine.stored(mutated.ticket)) }
          }
        }
      }
    }
    let last = await machine.state.local?.outbox.newestTicket
    #expect(await machine.acknowledged(try #require(last)) == .acknowledged)
    #expect(await server.view.map.count == 8 * 21)
    #expect(await machine.state.view == server.view)
    await machine.stop()
    await following
  }
}
