import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what ends local changes, and what they survive: stop, log-out, crashes, and stores that
/// fail.
@Suite struct DriverMutationEndTests {
  // MARK: Stop and log-out

  @Test func `stop gives up the push, keeps what is pending, and leaves nothing behind`() {
    let (bench, run) = MutationBench.following()
    let ticket = bench.ticket(.set("a", 1))
    #expect(bench.push() != nil)
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    #expect(bench.values == ["a": 1])
    #expect(bench.state(of: ticket) == .sent)
    bench.expectNothingPending()
    bench.tell { machine in
      machine.networkChanged()
      machine.enterForeground()
      machine.retryNow()
    }
    bench.advance(.minutes(5))
    #expect(bench.pushes.count == 1)
    bench.expectNothingPending()
    bench.start { await $0.run() }
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
    #expect(bench.server.ran == ["set"])
  }

  @Test func `a change that is awaited without run is stored, and the next run sends it`() {
    let (bench, _) = MutationBench.following()
    bench.tell { $0.stop() }
    let ticket = bench.ticket(.set("a", 1))
    #expect(bench.values == ["a": 1])
    #expect(bench.store?.stored?.outbox?.count == 0)
    let stored = bench.awaitStored(ticket)
    #expect(stored.value == true)
    #expect(bench.store?.stored?.outbox?.count == 1)
    #expect(bench.pushes.isEmpty)
    bench.expectNothingPending()
    bench.start { await $0.run() }
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
  }

  @Test func `each waiter without run tries a failing store once, and so does the next run`() {
    let (bench, _) = MutationBench.following()
    bench.tell { $0.stop() }
    let before = bench.store!.saves
    bench.store?.failure = .failed("full")
    let ticket = bench.ticket(.set("a", 1))
    let first = bench.awaitStored(ticket)
    let second = bench.awaitStored(ticket)
    #expect(first.value == nil && second.value == nil)
    #expect(bench.store?.saves == before + 2)
    #expect(bench.reports.value == [.store(.failed("full")), .store(.failed("full"))])
    bench.expectNothingPending()
    bench.store?.failure = nil
    bench.start { await $0.run() }
    bench.drain()
    #expect(first.value == true && second.value == true)
  }

  @Test func `a run that begins during a save waits for it, and runs`() {
    for steps in 0..<20 {
      let (bench, _) = MutationBench.following()
      bench.tell { $0.stop() }
      let ticket = bench.ticket(.set("a", 1))
      let stored = Box(false)
      bench.start { stored.value = await $0.stored(ticket) }
      for _ in 0..<steps { bench.executor.step() }
      let run = bench.start { await $0.run() }
      bench.serve()
      #expect(stored.value, "after \(steps) steps")
      #expect(!run.isOver.value, "after \(steps) steps")
      #expect(bench.state(of: ticket) == .acknowledged, "after \(steps) steps")
    }
  }

  @Test func `log-out drops pending mutations and ends all waits for them`() {
    let (bench, run) = MutationBench.following()
    bench.store?.isSlow = true
    let ticket = bench.ticket(.set("a", 1))
    let stored = bench.awaitStored(ticket)
    let acknowledged = bench.awaitAcknowledged(ticket)
    let logOut = bench.start { try? await $0.logOut() }
    bench.drain()
    #expect(stored.value == false)
    #expect(acknowledged.value == .some(nil))
    #expect(bench.state.model == nil)
    bench.store?.finish()
    bench.serve()
    #expect(run.isOver.value && logOut.isOver.value)
    #expect(bench.store?.stored == nil)
    #expect(bench.pushes.isEmpty, "the mutation was not durable")
    bench.expectNothingPending()
    bench.store?.isSlow = false
    bench.start { await $0.run() }
    bench.serve()
    bench.advance(.minutes(2))
    #expect(bench.pushes.isEmpty, "another user may have logged in")
    #expect(bench.state.pending.isEmpty)
  }

  @Test func `log-out gives up a push that is out`() {
    let (bench, _) = MutationBench.following()
    _ = bench.ticket(.set("a", 1))
    #expect(bench.push() != nil)
    bench.start { try? await $0.logOut() }
    bench.drain()
    #expect(bench.push() == nil)
    #expect(bench.source.all.contains { $0.push != nil && $0.isCancelled })
    bench.serve()
    bench.expectNothingPending()
  }

  @Test func `an app that has lost its client ID loses no change`() {
    let (bench, _) = MutationBench.following()
    let old = bench.ticket(.set("a", 1))
    _ = bench.ticket(.set("a", 2))
    let oldTold = bench.awaitAcknowledged(old)
    bench.answerPush()
    bench.store?.isSlow = true
    for number in 3..<9 { _ = bench.ticket(.set("\(number)", 1)) }
    #expect(bench.store?.isBusy == true)
    bench.expire()
    bench.advance(.seconds(10))
    (bench.server.client, bench.server.last) = (ClientID(8), .none)
    bench.server.spot = Spot("b", 0)
    bench.answer(.snapshot(bench.server.news, bench.server.spot)) { $0.isRegister }
    #expect(oldTold.value == .setAside, "the server may have it under the old client ID")
    #expect(bench.state.setAside.map(\.ticket).first == old)
    #expect(bench.push() == nil)
    let lost = bench.state.setAside.map(\.ticket)

    // The save under way is the old outbox's, at a version that the new one has not reached.
    let new = bench.ticket(.set("new", 1))
    let stored = bench.awaitStored(new)
    bench.tell { machine in for ticket in lost { machine.discard(ticket) } }
    bench.store?.isSlow = false
    bench.store?.failure = .failed("full")
    bench.store?.finish()
    bench.drain()
    #expect(stored.value == nil)
    bench.store?.failure = nil
    bench.serve()
    bench.advance(.seconds(1))
    bench.serve()
    #expect(stored.value == true)
    #expect(bench.state(of: new) == .acknowledged)
    #expect(bench.store?.stored?.outbox?.client == ClientID(8))
  }

  // MARK: A store that cannot be read

  @Test func `a saved form that cannot be read yet is awaited, and not replaced`() {
    let store = BoardStore()
    let (first, run) = MutationBench.following(store: store)
    let ticket = first.ticket(.set("a", 1))
    first.drain()
    #expect(first.awaitStored(ticket).value == true)
    first.tell { $0.stop() }
    #expect(run.isOver.value)

    // The device is still locked, so its files cannot be read.
    store.failure = .failed("locked")
    let bench = MutationBench(store: store, server: first.server, incarnation: 2)
    let running = bench.start { await $0.run() }
    bench.advance(.seconds(30))
    #expect(bench.source.open.isEmpty, "the client does not begin again")
    #expect(bench.state.status == nil, "nothing is known of the saved form")
    #expect(bench.reports.value.count > 3)
    store.failure = nil
    bench.advance(.seconds(11))
    #expect(bench.state(of: ticket) != nil)
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
    bench.tell { $0.stop() }
    #expect(running.isOver.value)
  }

  @Test func `a stop ends the wait for the saved form, and the next run reads it`() {
    let store = BoardStore()
    store.failure = .failed("locked")
    let bench = MutationBench(store: store)
    let run = bench.start { await $0.run() }
    bench.advance(.seconds(5))
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    bench.expectNothingPending()
    store.failure = nil
    bench.start { await $0.run() }
    bench.serve()
    #expect(bench.state.view != nil)
  }

  @Test func `an unreadable saved form is not awaited`() {
    let store = BoardStore()
    store.failure = .unreadable("nobody's")
    let bench = MutationBench(store: store)
    bench.start { await $0.run() }
    bench.drain()
    #expect(bench.source.open.contains { $0.isRegister })
  }

  // MARK: Crashes

  @Test func `bug 76: a stored change survives a crash at any moment and takes effect once`() {
    var notStored = 0
    for steps in 0..<200 {
      let store = BoardStore()
      let (bench, _) = MutationBench.following(
        store: store, server: BoardServer(board: Board(["a": 1])))
      let stored = Box<[Bool]>([])
      bench.start { machine in
        for _ in 0..<3 {
          guard let mutated = try? await machine.mutate(.add("a", 1)) else { return }
          await machine.stored(mutated.ticket)
          stored.change { $0.append(true) }
        }
      }
      // The process is killed in the middle. The server may have run what was out.
      for step in 0..<steps {
        bench.executor.step()
        if step % 10 == 9, let push = bench.push()?.push { _ = bench.server.run(push) }
      }
      let count = stored.value.count
      if count < 3 { notStored += 1 }

      let next = MutationBench(store: store, server: bench.server, incarnation: 2)
      next.start { await $0.run() }
      next.serve()
      next.advance(.seconds(1))
      next.serve()
      let sum = next.server.board.values["a"]!
      #expect(sum >= 1 + Int64(count), "killed after \(steps) steps")
      #expect(sum <= 1 + Int64(count) + 1, "killed after \(steps) steps")
      #expect(Int64(next.server.ran.count) == sum - 1)
      #expect(next.values?["a"] == sum, "killed after \(steps) steps")
      #expect(next.state.pending.isEmpty)
    }
    #expect((20..<180).contains(notStored), "some were stored, and some were not")
  }

  @Test func `a ticket from before a restart is valid after it`() {
    let store = BoardStore()
    let (bench, _) = MutationBench.following(store: store)
    bench.tell { $0.enterBackground() }
    let ticket = bench.ticket(.set("a", 1))
    bench.drain()
    let next = MutationBench(store: store, server: bench.server, incarnation: 2)
    next.start { await $0.run() }
    next.drain()
    #expect(next.values == ["a": 1])
    #expect(next.awaitStored(ticket).value == true)
    let told = next.awaitAcknowledged(ticket)
    #expect(told.value == nil)
    next.serve()
    #expect(told.value == .acknowledged)
  }

  // MARK: Stores

  @Test func `a failed save is repeated, and nothing is sent before it succeeds`() {
    let (bench, _) = MutationBench.following()
    bench.store?.failure = .failed("full")
    let before = bench.store!.saves
    let ticket = bench.ticket(.set("a", 1))
    let stored = bench.awaitStored(ticket)
    #expect(bench.reports.value == [.store(.failed("full"))])
    #expect(bench.values == ["a": 1])
    bench.advance(.milliseconds(99))
    #expect(bench.store?.saves == before + 1)
    bench.advance(.milliseconds(1))
    #expect(bench.store?.saves == before + 2)
    _ = bench.ticket(.set("b", 2))
    #expect(bench.store?.saves == before + 2, "the wait also holds for this change")
    bench.advance(.milliseconds(200))
    #expect(bench.store?.saves == before + 3)
    #expect(stored.value == nil)
    #expect(bench.pushes.isEmpty)
    bench.store?.failure = nil
    bench.advance(.milliseconds(400))
    #expect(stored.value == true)
    #expect(bench.pushes == [["1 set", "2 set"]])
    bench.serve()
    #expect(bench.state.pending.isEmpty)
  }

  @Test func `a save makes durable what it contains, and nothing newer`() {
    let (bench, _) = MutationBench.following()
    bench.store?.isSlow = true
    let first = bench.awaitStored(bench.ticket(.set("a", 1)))
    let second = bench.awaitStored(bench.ticket(.set("b", 1)))
    #expect(first.value == nil)
    bench.store?.finish()
    bench.drain()
    #expect(first.value == true)
    #expect(second.value == nil)
    #expect(bench.pushes == [["1 set"]])
    bench.store?.finish()
    bench.drain()
    #expect(second.value == true)
  }

  @Test func `the wait after a failed save ends with stop`() {
    let (bench, run) = MutationBench.following()
    bench.store?.failure = .failed("full")
    let ticket = bench.ticket(.set("a", 1))
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    bench.expectNothingPending()
    bench.store?.failure = nil
    bench.start { await $0.run() }
    bench.drain()
    #expect(bench.awaitStored(ticket).value == true)
  }

  @Test func `changes that are made during a save are saved together, with the machine's own`() {
    let (bench, _) = MutationBench.following()
    let before = bench.store!.saves
    bench.store?.isSlow = true
    let tickets = (0..<10).map { bench.ticket(.reserve(Int64($0), by: "me")) }
    bench.server.board.values["other"] = 1
    bench.answerPoll()
    _ = bench.ticket(.set("later", 1))
    #expect(bench.store?.saves == before + 1)
    #expect(bench.source.open.isEmpty, "nothing is acknowledged or sent that is not durable")
    bench.store?.finish()
    bench.drain()
    #expect(bench.store?.saves == before + 2)
    bench.store?.finish()
    bench.drain()
    let stored = bench.awaitStored(tickets[9])
    while bench.store!.isBusy {
      bench.store?.finish()
      bench.drain()
    }
    #expect(stored.value == true)
    #expect(bench.store!.saves <= before + 4)
    #expect(bench.source.open.contains { $0.isPoll })
    #expect(bench.push() != nil)
  }
}
