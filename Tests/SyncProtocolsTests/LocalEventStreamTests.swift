import SyncProtocols
import Testing
import UpdateMachine

/// Real actors over one stream in this process.
@Suite struct LocalEventStreamTests {
  typealias Source = LocalSource<StreamModel, EventStream>
  typealias Driver = UpdateMachine<Tunnel<Source>>

  private let others = ClientID(99)

  private func tunnel(
    to server: LocalEventStream, following objects: [ViewKey]? = nil
  ) -> Tunnel<Source> {
    Tunnel(source: server.source(following: objects))
  }

  private func change(_ number: UInt64, _ key: ViewKey, _ kind: StreamChange.Kind) -> StreamChange {
    StreamChange(StreamEventID(high: 0, low: number), key, kind)
  }

  private func wait(for machine: Driver, until isRight: (StreamState) -> Bool) async {
    await machine.wait { $0.view.map(isRight) == true }
  }

  @Test func `a client gets what is there, and then what others write`() async throws {
    let server = LocalEventStream(law: .lastWriterWins)
    for number in 0..<250 as Range<UInt64> {
      await server.write(change(number, ViewKey("o\(number)"), .insert([:])), by: others)
    }
    let machine = Driver(source: tunnel(to: server), client: ClientID(1))
    async let following: Void = machine.run()
    await wait(for: machine) { $0.list.count == 250 }
    await server.write(change(250, "o7", .update(["a": 1])), by: others)
    await wait(for: machine) { $0.objects["o7"]?.fields["a"] == 1 }
    #expect(await machine.state.model?.events.count == 251)
    await machine.stop()
    await following
  }

  @Test func `an undo is made offline, and takes back nothing that others have done since`()
    async throws
  {
    let server = LocalEventStream(law: .lastWriterWins)
    let mine = tunnel(to: server)
    let machine = Driver(source: mine, client: ClientID(1))
    async let following: Void = machine.run()
    await wait(for: machine) { _ in true }
    for (number, kind) in [
      StreamChange.Kind.insert(["a": 1]), .update(["a": 2]), .update(["b": 2]),
    ].enumerated() {
      let made = try await machine.mutate(change(UInt64(number), "milk", kind))
      #expect(await machine.acknowledged(made.ticket) == .acknowledged)
    }
    await mine.door.set(false)
    guard case .queued(let b) = try await machine.undo(),
      case .queued(let a) = try await machine.undo()
    else { throw StreamChangeRefusal.missing }
    #expect(await machine.state.view?.objects["milk"]?.fields == ["a": 1])
    // Somebody who had seen all three writes before the undo arrives.
    await server.write(
      change(9, "milk", .update(["a": 3])), by: ClientID(0), havingSeen: StreamSequence(2))
    await mine.door.set(true)
    await machine.retryNow()
    #expect(await machine.acknowledged(b) == .acknowledged)
    // It is set aside if the news come first, and overruled otherwise.
    let outcome = await machine.acknowledged(a)
    #expect(outcome == .setAside || outcome == .overruled)
    await wait(for: machine) { $0.objects["milk"]?.fields == ["a": 3] }
    await machine.stop()
    await following
  }

  @Test func `a user's change arrives at a second client, and both end equal`() async throws {
    let server = LocalEventStream(law: .firstWriterWins)
    let (mine, hers) = (tunnel(to: server), tunnel(to: server))
    let (me, her) = (
      Driver(source: mine, client: ClientID(1)), Driver(source: hers, client: ClientID(2))
    )
    async let first: Void = me.run()
    async let second: Void = her.run()
    await wait(for: me) { _ in true }
    await wait(for: her) { _ in true }

    let insert = try await me.mutate(change(1, "milk", .insert(["title": "Milk"])))
    #expect(await me.state.view?.list == ["milk"])
    #expect(await me.acknowledged(insert.ticket) == .acknowledged)
    await wait(for: her) { $0.objects["milk"]?.fields["title"] == "Milk" }

    // Both change it, one of them offline.
    await mine.door.set(false)
    let offline = try await me.mutate(change(2, "milk", .update(["title": "Oat milk"])))
    let online = try await her.mutate(change(3, "milk", .update(["title": "Soy", "done": true])))
    #expect(await her.acknowledged(online.ticket) == .acknowledged)
    await mine.door.set(true)
    await me.retryNow()
    #expect(await me.acknowledged(offline.ticket) == .acknowledged)
    await wait(for: me) { $0.objects["milk"]?.fields["done"] == true }
    await wait(for: her) { _ in true }
    // They had seen the same, so the order is that of the clients.
    await wait(for: her) { $0.objects["milk"]?.fields["title"] == "Soy" }
    #expect(await me.state.view?.objects == her.state.view?.objects)
    #expect(await server.events.map { $0.client.number } == [1, 2, 1])
    await me.stop()
    await her.stop()
    _ = await (first, second)
  }

  @Test func `a change of an object that was deleted meanwhile is overruled, visibly`() async throws
  {
    let server = LocalEventStream(law: .firstWriterWins)
    // Neither knows of the other's change, so the client with the lower number comes first.
    let tunnel = tunnel(to: server)
    let machine = Driver(source: tunnel, client: ClientID(100))
    async let following: Void = machine.run()
    await wait(for: machine) { _ in true }
    await server.write(change(1, "milk", .insert(["title": "Milk"])), by: others)
    await wait(for: machine) { $0.list == ["milk"] }

    await tunnel.door.set(false)
    let update = try await machine.mutate(change(2, "milk", .update(["done": true])))
    await server.write(change(3, "milk", .delete), by: others)
    #expect(await machine.state(of: update.ticket) != .overruled)
    await tunnel.door.set(true)
    await machine.retryNow()
    #expect(await machine.acknowledged(update.ticket) == .overruled)
    #expect(await machine.state.view?.list == [])
    #expect(await machine.state.pending.isEmpty)
    await machine.stop()
    await following
  }

  @Test func `a client that follows some objects gets no others`() async throws {
    let server = LocalEventStream(law: .lastWriterWins)
    for (number, key) in ["a", "b", "c", "b"].enumerated() {
      await server.write(change(UInt64(number), ViewKey(key), .insert([:])), by: others)
    }
    let machine = Driver(source: tunnel(to: server, following: ["b"]), client: ClientID(1))
    async let following: Void = machine.run()
    await wait(for: machine) { $0.list == ["b"] }
    #expect(await machine.state.model?.events.map(\.key.number) == [1, 3])
    await #expect(throws: MutationError<StreamChangeRefusal>.self) {
      try await machine.mutate(change(9, "a", .delete))
    }
    await server.write(change(4, "d", .insert([:])), by: others)
    await server.write(change(5, "b", .update(["n": 1])), by: others)
    await wait(for: machine) { $0.objects["b"]?.fields["n"] == 1 }
    #expect(await machine.state.freshness.claim == .connected)
    await machine.stop()
    await following
  }

  // MARK: Waiting

  /// A source whose client is up to date, and its place.
  private func level(
    _ server: LocalEventStream
  ) async throws -> (source: Source, place: StreamPlace) {
    let source = server.source()
    return (source, try await source.register(as: ClientID(1)).finger)
  }

  /// Three polls from one place, all of which wait.
  private func threePolls(
    _ source: Source, after place: StreamPlace, _ clock: SleeperClock
  ) async -> [Task<StreamBatch, any Error>] {
    let polls = (0..<3).map { _ in Task { try await source.poll(after: place, waits: true) } }
    var count = 0
    for await _ in clock.sleeps.stream {
      count += 1
      if count == polls.count { break }
    }
    return polls
  }

  @Test func `a cancelled poll ends at once`() async throws {
    let clock = SleeperClock(passes: false)
    let (source, place) = try await level(LocalEventStream(law: .ask, clock: clock))
    let polls = await threePolls(source, after: place, clock)
    for poll in polls { poll.cancel() }
    for poll in polls { #expect(try await poll.value.count == 0) }
  }

  @Test func `a poll that finds nothing ends when its patience is over`() async throws {
    let clock = SleeperClock(passes: true)
    let (source, place) = try await level(LocalEventStream(law: .ask, clock: clock))
    #expect(try await source.poll(after: place, waits: false).count == 0)
    #expect(clock.now == Moment(milliseconds: 0))
    #expect(try await source.poll(after: place, waits: true).count == 0)
    #expect(clock.now == Moment(milliseconds: 50_000))
  }

  @Test func `an event wakes every poll that waits`() async throws {
    let clock = SleeperClock(passes: false)
    let server = LocalEventStream(law: .ask, clock: clock)
    let (source, place) = try await level(server)
    let polls = await threePolls(source, after: place, clock)
    await server.write(change(1, "a", .insert([:])), by: others)
    for poll in polls { #expect(try await poll.value.count == 1) }
    #expect(try await source.poll(after: place, waits: true).count == 1)
  }
}
