import Foundation
import MessageSync
import SyncProtocols
import Testing
import UpdateMachine

/// Checks that the examples do what they say.
@Suite struct ExampleTests {
  // MARK: What the documentation shows

  @Test func `the article's window shows the newest messages`() async {
    typealias Row = WindowView<MessageStore<Postbox.Narrow>>.Row
    let messages = [(1, "soup?"), (2, "pizza"), (3, "at noon")].map { Postbox.message($0, $1) }
    let server = LocalEventQueue(truth: Postbox(messages: messages))
    var shown: [[Row]] = []
    func show(_ rows: [Row]) { shown.append(rows) }

    // Article example begins: windows
    let machine = UpdateMachine(source: PostboxSource(server))
    async let following: Void = machine.run()

    let lunch = MessageFilter<String>([.channel(Postbox.general), .topic("lunch")])
    for await view in await machine.openWindow(on: lunch, showing: .newest(2)) {
      show(view.rows)  // Messages, former ones, and gaps: what is there is not known.
      if view.isComplete { break }  // Dropping the views closes the window.
    }
    await machine.stop()
    // Article example ends

    await following
    #expect(shown.first == [.gap(.everything)] || shown.count == 1)
    #expect(shown.last == messages.suffix(2).map { .item($0) })
  }

  @Test func `the article's change is seen, stored and acknowledged`() async throws {
    var shown: [String] = []
    func show(_ status: JSONValue) { shown.append(status.string ?? "") }
    func show(_ refused: [MutationSetAside<Wish>]) { shown.append("\(refused.count) refused") }
    let server = LocalClientView(Reservations())

    // Article example begins: changes
    let machine = UpdateMachine(source: server.source(for: Wish.self))
    async let following: Void = machine.run()
    for await state in await machine.states() where state.view != nil { break }

    let wish = try await machine.mutate(.reserve(hour: 9, who: "Ada"))
    show(wish.value)  // RESERVED, as far as we know: it is in the view already, offline, too.
    await machine.stored(wish.ticket)  // No crash can lose it now. Never waits for the server.
    if await machine.acknowledged(wish.ticket) == .setAside {
      show(await machine.state.setAside)  // To be retried, edited or discarded.
    }
    await machine.stop()
    // Article example ends

    await following
    #expect(shown == ["RESERVED"])
    #expect(await server.view.text == "hour/9=\"Ada\" status/Ada=\"RESERVED\"")
  }

  // Article example begins: banner
  /// What a banner says, such as "Offline since 10:42, next try in 8 s"; `nil`: nothing.
  func banner(_ freshness: Freshness, by clock: some DriverClock) -> String? {
    guard case .unreachable(let since) = freshness.claim else { return freshness.sentence() }
    let date = clock.date(of: since)
    var text = "Offline since \(date.formatted(date: .omitted, time: .shortened))"
    if let next = freshness.nextAttempt {
      text += ", next try in \(max(0, (next - clock.now).milliseconds / 1000)) s"
    }
    return text
  }
  // Article example ends

  /// A clock that always shows the same time.
  private struct StoppedClock: DriverClock {
    var now: Moment
    var wallTime: WallTime
    func sleep(until moment: Moment) async throws(CancellationError) {}
  }

  @Test func `the article's banner tells since when, and the next try`() {
    func at(_ seconds: Int64) -> Moment { Moment(milliseconds: seconds * 1000) }
    var clock = StoppedClock(now: at(2), wallTime: WallTime(milliseconds: 1_000_000))
    let date = Date(timeIntervalSince1970: 998).formatted(date: .omitted, time: .shortened)
    var freshness = Freshness(.unreachable(since: at(0)), upToDateAsOf: nil, nextAttempt: at(10))
    #expect(banner(freshness, by: clock) == "Offline since \(date), next try in 8 s")
    clock.now = at(11)
    #expect(banner(freshness, by: clock)?.hasSuffix("next try in 0 s") == true)
    clock.now = at(2)
    freshness.nextAttempt = nil
    #expect(banner(freshness, by: clock) == "Offline since \(date)")
    freshness.claim = .connecting(since: at(0))
    #expect(banner(freshness, by: clock) == freshness.sentence())
    freshness.claim = .connected
    #expect(banner(freshness, by: clock) == nil)
  }

  // MARK: One account, two machines

  @Test func `the directory outlives the process, presence does not`() async throws {
    let people = LocalEventQueue(truth: Directory(names: ["Ada"]))
    let present = LocalEventQueue(truth: Counter(count: 1))
    let store = MemoryStore()
    func account() -> Account {
      Account(
        directory: people.source(for: DirectoryModel.self),
        presence: present.source(for: CounterModel.self), store: store)
    }

    let first = account()
    async let following: Void = first.run()
    await people.commit("Grace")
    await present.commit(1)
    await wait(for: first.directory) { $0.model?.names == ["Ada", "Grace"] && $0.isWritten }
    await wait(for: first.presence) { $0.model?.count == 2 }
    await first.stop()
    await following

    // The process ends. Another begins in the background, where it asks the server for nothing.
    let second = account()
    async let resting: Void = second.run(inForeground: false)
    await wait(for: second.directory) { $0.status != nil }
    await wait(for: second.presence) { $0.status != nil }
    #expect(await second.directory.state.model?.names == ["Ada", "Grace"])
    #expect(await second.presence.state.holding == .nothing)

    await people.commit("Edsger")
    await second.directory.enterForeground()
    await second.presence.enterForeground()
    await wait(for: second.directory) { $0.model?.names == ["Ada", "Grace", "Edsger"] }
    await wait(for: second.presence) { $0.model?.count == 2 }

    try await second.logOut()
    await resting
    #expect(await second.directory.state.holding == .nothing)
    #expect(try await store.load() == nil)
  }

  /// Returns once a state is as it should be. It waits only for the state itself, not for a time.
  private func wait<Origin: SyncSource>(
    for machine: UpdateMachine<Origin>, until isRight: (ReplicaState<Origin.Model>) -> Bool
  ) async {
    for await state in await machine.states() where isRight(state) { return }
    Issue.record("the machine went away")
  }

  // MARK: An app that owns the loop

  @Test func `an app that drives the client itself follows, and goes on after a crash`() {
    let start = Moment(milliseconds: 0)
    var server = EventQueueServer(
      truth: Counter(count: 40), configuration: QueueServerConfiguration(), at: start)
    var app = HandDrivenApp(
      store: HandDrivenApp.Store(drafts: ["dear all"]), incarnation: Incarnation(1), at: start)
    while app.ask(&server) {}
    #expect(app.client.model?.count == 40)
    #expect(app.client.freshness(at: app.now).claim == .connected)

    server.commit(2, at: app.now)
    while app.ask(&server) {}
    #expect(app.client.model?.count == 42)
    #expect(app.store.replica?.model.count == 42)

    // The process is killed. Only the app's store is left.
    server.commit(1, at: app.now)
    app = HandDrivenApp(store: app.store, incarnation: Incarnation(2), at: app.now)
    #expect(app.client.model?.count == 42)
    while app.ask(&server) {}
    #expect(app.client.model?.count == 43)
    #expect(app.store.drafts == ["dear all"])
    #expect(server.aliveQueues.count == 1, "the client did not register again")

    // The server loses its queues. The model stays readable until a snapshot comes.
    server.restart(keepingQueues: false, at: app.now)
    while app.ask(&server) {}
    #expect(app.client.model?.count == 43)
    #expect(app.client.status == .registerFailed)
    app.sleep()
    while app.ask(&server) {}
    #expect(app.client.freshness(at: app.now).claim == .connected)
    #expect(server.aliveQueues.count == 1)
  }
}

extension ReplicaState {
  /// Whether everything applied is durable. The next poll waits for that, so a waiting poll proves
  /// it.
  fileprivate var isWritten: Bool { status?.outstanding?.waits == true }
}
