import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what the app sees of a driver.
@Suite struct DriverStateTests {
  private func reader(of bench: Bench) -> Reader {
    Reader(bench.read { $0.states() }, on: bench.executor)
  }

  @Test func `states begin with the present one, from the moment of the call`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    let states = bench.read { $0.states() }
    _ = bench.run()
    bench.drain()
    // The reader has read nothing yet, but it loses nothing: the newest state is there.
    let reader = Reader(states, on: bench.executor)
    #expect(reader.next()?.model == Ledger(entries: [1]))
    let other = self.reader(of: bench)
    #expect(other.next()?.model == Ledger(entries: [1]))
    #expect(other.next() == nil, "there is no newer state")
  }

  @Test func `the first state before the saved form is read says that nothing is known`() {
    let store = ScriptedStore(Bench.saved)
    store.isSlow = true
    let bench = Bench(store: store)
    _ = bench.run()
    let reader = reader(of: bench)
    #expect(reader.next()?.holding == .unknown)
    #expect(reader.claims == ["unknown"])
    store.finish()
    bench.drain()
    #expect(reader.next()?.model == Ledger(entries: [1]))
  }

  @Test func `a slow reader gets the newest state, whatever came in between`() {
    let (bench, _) = Bench.following()
    let reader = reader(of: bench)
    reader.next()
    for place in 8..<1_000 {
      bench.source.batch(from: place, [place])
      bench.advance(.milliseconds(400))
    }
    #expect(reader.next()?.model?.entries.count == 993)
    #expect(reader.next() == nil, "one state is kept, not a thousand")
  }

  @Test func `an event makes one state, its saving another, and no two show the same`() {
    let (bench, _) = Bench.following()
    let reader = reader(of: bench)
    reader.follow()
    bench.drain()
    let before = reader.seen.value.count
    bench.store?.isSlow = true
    bench.source.batch(from: 8, [8])
    bench.drain()
    #expect(bench.state.status == .live(.writing))
    bench.store?.finish()
    bench.advance(.milliseconds(400))
    #expect(bench.source.asked.last == "poll a:8")
    let told = reader.seen.value.dropFirst(before)
    #expect(told.allSatisfy { $0.model == Ledger(entries: [1, 8]) })
    let words = told.map { $0.status?.description }
    #expect(words == ["live.writing", "live.polling"])
    bench.source.fail(.unreachable)
    bench.drain()
    #expect(reader.seen.value.last?.status == .pollFailed, "another status is told")
  }

  @Test func `a slow reader costs no memory`() {
    let alive = Box(0)
    var observers = Subscribers<Witness>()
    let states = observers.add(Witness(alive))
    for _ in 1...1_000 { observers.publish(Witness(alive)) }
    #expect(alive.value == 1, "only the newest state is kept")
    withExtendedLifetime(states) {}
  }

  @Test func `several readers see the same, each at its own pace`() {
    let (bench, _) = Bench.following()
    let quick = reader(of: bench)
    let slow = reader(of: bench)
    quick.follow()
    for place in 8...10 {
      bench.source.batch(from: place, [place])
      bench.drain()
    }
    #expect(quick.seen.value.compactMap { $0.model?.entries.count }.max() == 4)
    #expect(Set(quick.seen.value.compactMap { $0.model?.entries.count }) == [1, 2, 3, 4])
    #expect(slow.next()?.model == quick.seen.value.last?.model)
    #expect(slow.seen.value.count == 1)
  }

  /// Whether a number is among the entries.
  private struct Has: ViewQuery {
    var number: Int
    func answer(in ledger: Ledger) -> Bool { ledger.entries.contains(number) }
    func mayDiffer(from old: Ledger, to new: Ledger) -> Bool { old.entries != new.entries }
  }

  @Test func `a model without changes can be queried, and tells what differs`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    let answers = Box<[Bool]>([])
    let hasEnded = bench.start { machine in
      for await answer in await machine.changes(of: Has(number: 3)) {
        answers.change { $0.append(answer) }
      }
    }
    bench.drain()
    #expect(answers.value == [], "nothing is read yet")
    _ = bench.run()
    bench.drain()
    #expect(answers.value == [false])
    for place in 8...10 {
      bench.source.batch(from: place, [place - 6])
      bench.advance(.milliseconds(400))
    }
    #expect(answers.value == [false, true])
    bench.start { try? await $0.logOut() }
    bench.advance(.seconds(60))
    #expect(hasEnded.isOver.value)
  }

  @Test func `a dropped reader is forgotten`() {
    let (bench, _) = Bench.following()
    let stays = reader(of: bench)
    stays.next()
    for _ in 1...100 {
      let goes = reader(of: bench)
      goes.next()
      goes.leave()
      #expect(bench.read { $0.observers.count } <= 2, "even if nothing happens")
    }
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(bench.read { $0.observers.count } == 1)
    #expect(stays.next()?.model == Ledger(entries: [1, 2]))
  }

  @Test func `a reader whose task is cancelled is forgotten`() {
    let (bench, _) = Bench.following()
    let states = bench.read { $0.states() }
    let task = Task(executorPreference: bench.executor) { for await _ in states {} }
    bench.drain()
    task.cancel()
    bench.drain()
    bench.tell { $0.enterBackground() }
    #expect(bench.read { $0.observers.count } == 0)
  }

  @Test func `the banner that is due after 300 ms arrives without any input`() {
    let (bench, _) = Bench.following()
    let reader = reader(of: bench)
    reader.follow()
    bench.tell { $0.networkChanged() }  // A quick poll is now out and unanswered.
    #expect(bench.claim == "connected")
    let inputs = bench.inputs.value.count
    let seen = reader.seen.value.count
    bench.advance(.milliseconds(299))
    #expect(reader.seen.value.count == seen)
    bench.advance(.milliseconds(1))
    #expect(bench.inputs.value.count == inputs, "no input")
    #expect(reader.claims.last == "connecting since 50")
    #expect(reader.seen.value.last?.at == .ms(350))
  }

  @Test func `a banner that is due for a reader who comes later arrives as well`() {
    let (bench, _) = Bench.following()
    bench.tell { $0.networkChanged() }
    bench.advance(.milliseconds(100))
    let reader = reader(of: bench)
    reader.follow()
    #expect(reader.claims == ["connected"])
    bench.advance(.milliseconds(200))
    #expect(reader.claims == ["connected", "connecting since 50"])
  }

  @Test func `an alarm is set only while states are read`() {
    let (bench, _) = Bench.following()
    #expect(bench.clock.alarms.count == 1, "the poll's deadline")
    let reader = reader(of: bench)
    for _ in 1...20 {
      bench.tell { $0.networkChanged() }
      #expect(bench.clock.alarms.count == 2)
      bench.advance(.milliseconds(10))
    }
    bench.tell { $0.stop() }
    #expect(bench.clock.alarms == [])
    #expect(reader.next()?.freshness.claim == .halted(.stopped))
  }

  /// "Too many requests" is no missing connection.
  @Test func `a state says why the last attempt failed, until one succeeds`() {
    let (bench, _) = Bench.following()
    let reader = reader(of: bench)
    reader.follow()
    #expect(reader.seen.value.last?.trouble == nil)
    for failure in [SyncFailure.rateLimited(after: .seconds(3)), .serverFault, .unreachable] {
      waitForPoll(bench)
      bench.source.fail(failure)
      bench.advance(.milliseconds(400))
      #expect(reader.seen.value.last?.trouble == failure)
    }
    waitForPoll(bench)
    bench.source.batch(from: bench.read { $0.client.finger!.index } + 1, [])
    bench.advance(.milliseconds(1))
    #expect(bench.claim == "connected")
    #expect(reader.seen.value.last?.trouble == nil)
    // Nobody answers until the deadline.
    waitForPoll(bench)
    bench.advance(.seconds(110))
    #expect(reader.seen.value.last?.trouble == .timedOut)
  }

  private func waitForPoll(_ bench: Bench) {
    for _ in 1...200 where bench.source.open.isEmpty { bench.advance(.milliseconds(500)) }
  }

  @Test func `alarms do not cause a busy loop`() {
    let (bench, _) = Bench.following()
    let reader = reader(of: bench)
    reader.follow()
    for _ in 1...20 {
      bench.source.batch(from: bench.read { $0.client.finger!.index } + 1, [nil])
      bench.advance(.seconds(30))
    }
    // Each poll makes three inputs, and freshness wakes the reader at most once in a poll's
    // deadline.
    #expect(reader.seen.value.count <= 20 * 5)
  }

  @Test func `states end with the machine, which is released with its last reference`() {
    let (bench, run) = Bench.following()
    let reader = reader(of: bench)
    reader.next()
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    weak let machine = bench.machine
    #expect(machine != nil)
    #expect(reader.next()?.freshness.claim == .halted(.stopped))
    bench.machine = nil
    #expect(machine == nil, "even though somebody still holds its states")
    #expect(reader.next() == nil)
    #expect(reader.hasEnded.value)
  }

  @Test func `a waiting reader is resumed at the end`() {
    let bench = Bench()
    let reader = reader(of: bench)
    reader.follow()
    #expect(reader.claims == ["unknown"])
    weak let machine = bench.machine
    bench.machine = nil
    bench.drain()
    #expect(machine == nil)
    #expect(reader.hasEnded.value)
  }

  @Test func `a running machine is kept alive only by its run`() {
    let (bench, run) = Bench.following()
    weak let machine = bench.machine
    bench.machine = nil
    #expect(machine != nil)
    run.task.cancel()
    bench.drain()
    #expect(run.isOver.value)
    #expect(machine == nil)
  }

  @Test func `a machine that was logged out is released`() {
    let (bench, _) = Bench.following()
    let (logOut, _) = bench.logOut()
    bench.drain()
    bench.source.answer(.done)
    bench.drain()
    #expect(logOut.isOver.value)
    weak let machine = bench.machine
    bench.machine = nil
    #expect(machine == nil)
  }

  @Test func `several values are read from one state`() {
    let (bench, _) = Bench.following()
    let (entries, upToDateAsOf, claim) = bench.read { machine in
      let state = machine.state
      return (state.model?.entries, state.upToDateAsOf, state.freshness.claim)
    }
    #expect(entries == [1])
    #expect(upToDateAsOf == .ms(0))
    #expect(claim == .connected)
  }
}

/// Counts how many objects of its kind are alive.
private final class Witness: Sendable {
  private let alive: Box<Int>

  init(_ alive: Box<Int>) {
    self.alive = alive
    alive.change { $0 += 1 }
  }

  deinit { alive.change { $0 -= 1 } }
}
