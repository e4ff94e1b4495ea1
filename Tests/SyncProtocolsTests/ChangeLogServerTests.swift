import Foundation
import SyncProtocols
import Testing
import UpdateMachine

/// A sum of numbers. Clients are not told of a 0.
private struct Sum: ServerTruth, CustomStringConvertible {
  typealias Event = Int
  var total = 0
  var snapshot: Int { total }
  var description: String { "\(total)" }
  mutating func apply(_ change: Int) { total += change }
  func announcement(of change: Int) -> Int? { change == 0 ? nil : change }
}

private struct SumModel: SyncModel {
  typealias Refusal = Never
  var total: Int
  init(snapshot: Int) { total = snapshot }
  mutating func apply(_ event: Int) { total += event }
}

/// The server half, and real actors over it.
@Suite(.timeLimit(.minutes(5))) struct ChangeLogServerTests {
  private let epoch = ChangeLogEpoch("one")

  private func server(_ changes: [Int]) -> ChangeLogServer<Sum> {
    var server = ChangeLogServer(epoch, truth: Sum())
    for change in changes { server.commit(change) }
    return server
  }

  private func place(_ number: Int64) -> ChangeLogPlace {
    ChangeLogPlace(epoch: epoch, number: number)
  }

  // MARK: The value

  @Test(arguments: 1...7)
  func `a client gets the same state from any place and with any page`(page: Int) throws {
    let changes = [5, 0, 1, 0, 0, 7, 2, 0]
    for start in 0...changes.count {
      var server = server(Array(changes.prefix(start)))
      server.pageMaximum = page
      let snapshot = server.snapshot
      #expect(snapshot.number == Int64(start))
      for change in changes.dropFirst(start) { server.commit(change) }
      var model = SumModel(snapshot: snapshot.state)
      var place = place(snapshot.number)
      var requests = 0
      while true {
        let batch = try server.changes(after: place)
        #expect(batch.count <= page)
        requests += 1
        guard
          case .next(let next, let first, let isComplete) = ChangeLog.advance(place, over: batch)
        else { break }
        for index in first..<batch.count { batch.event(at: index).map { model.apply($0) } }
        place = next
        if isComplete { break }
      }
      #expect(model.total == server.truth.total)
      #expect(place.number == server.latest)
      let news = changes.dropFirst(start).filter { $0 != 0 }.count
      #expect(requests == max(1, (news + page - 1) / page))
    }
  }

  @Test func `a place before what is kept is expired, and the one at its border is not`() throws {
    var server = server([])
    server.retained = 3
    for change in 1...5 { server.commit(change) }
    #expect(throws: SyncFailure.expired) { try server.changes(after: place(0)) }
    #expect(throws: SyncFailure.expired) { try server.changes(after: place(1)) }
    #expect(try server.changes(after: place(2)).changes.map(\.number) == [3, 4, 5])
    server.forget()
    #expect(throws: SyncFailure.expired) { try server.changes(after: place(4)) }
    #expect(try server.changes(after: place(5)).changes == [])
  }

  @Test func `a place beyond the latest number, or of another epoch, is expired`() throws {
    var server = server([1, 2])
    #expect(throws: SyncFailure.expired) { try server.changes(after: place(3)) }
    server.begin(ChangeLogEpoch("two"), truth: Sum(total: 9))
    #expect(server.snapshot == .init(epoch: ChangeLogEpoch("two"), number: 0, state: 9))
    #expect(throws: SyncFailure.expired) { try server.changes(after: place(0)) }
  }

  // MARK: Real actors

  /// Settings with short waits.
  private var settings: MachineSettings {
    var settings = MachineSettings()
    for name in ["slowFirst", "spread", "healthy"] {
      let isKnown = settings.set(name, to: .milliseconds(1))
      #expect(isKnown)
    }
    return settings
  }

  @Test func `a client follows a server in this process, and starts over when it must`() async {
    let server = LocalChangeLog(truth: Sum(total: 40))
    let source = Tunnel(source: server.source(for: SumModel.self))
    let machine = UpdateMachine(source: source, settings: settings)
    async let following: Void = machine.run()
    await machine.wait { $0.model?.total == 40 && $0.freshness.claim == .connected }
    await server.commit(2)
    await machine.wait { $0.model?.total == 42 }
    await server.commit(0)

    // A backup is restored while the client waits.
    await server.restore(Sum(total: 7))
    await machine.wait { $0.model?.total == 7 && $0.freshness.claim == .connected }

    // Changes are forgotten while the client is away.
    await source.door.set(false)
    await server.commit(1)
    await machine.wait { if case .unreachable = $0.freshness.claim { true } else { false } }
    await server.commit(1)
    await server.forgetChanges()
    await source.door.set(true)
    await machine.retryNow()
    await machine.wait { $0.model?.total == 9 && $0.freshness.claim == .connected }
    #expect(await server.truth.total == 9)
    await machine.stop()
    await following
  }

  @Test func `a poll waits for news, and not if there is some or it may not`() async throws {
    let clock = SleeperClock(passes: false)
    let server = LocalChangeLog(truth: Sum(), retained: 2, clock: clock)
    let begin = await server.register()
    let place = ChangeLogPlace(epoch: begin.epoch, number: begin.number)
    #expect(try await server.poll(after: place, waits: false).changes == [])
    async let waiting = server.poll(after: place, waits: true)
    for await _ in clock.sleeps.stream { break }
    await server.commit(3)
    #expect(try await waiting.changes == [LoggedChange(number: 1, event: 3)])
    #expect(try await server.poll(after: place, waits: true).through == 1)
    for change in 1...2 { await server.commit(change) }
    await #expect(throws: SyncFailure.expired) { try await server.poll(after: place, waits: true) }
    #expect(await server.register().state == 6)
  }

  @Test func `a restored server says so to whoever waits, and to whoever is at its number`()
    async throws
  {
    let clock = SleeperClock(passes: false)
    let server = LocalChangeLog(truth: Sum(), clock: clock)
    let place = ChangeLogPlace(epoch: await server.register().epoch, number: 0)
    let waiting = Task { try await server.poll(after: place, waits: true) }
    for await _ in clock.sleeps.stream { break }
    await server.restore(Sum(total: 7))
    await #expect(throws: SyncFailure.expired) { try await server.poll(after: place, waits: false) }
    await #expect(throws: SyncFailure.expired) { try await waiting.value }
    #expect(await server.register().number == 0)
  }
}
