import Testing

@testable import UpdateMachine

/// Tests `stop()`: nothing goes on, and nothing is lost.
@Suite struct DriverStopTests {
  @Test func `stop ends run, keeps finger and log, and the next start goes on from there`() {
    let (bench, run) = Bench.following()
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    #expect(bench.summary == "halted(stopped), [1], a:7")
    #expect(bench.claim == "halted(stopped)", "SyncBugs 21")
    #expect(bench.store?.content == "[1] a:7")
    bench.expectNothingPending()
    let again = bench.run()
    bench.drain()
    #expect(bench.source.asked.last == "poll a:7, quick")
    #expect(bench.store?.done == ["load"], "the saved form is not read again")
    #expect(!again.isOver.value)
  }

  @Test func `a second stop changes nothing`() {
    let (bench, run) = Bench.following()
    bench.tell { $0.stop() }
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    bench.expectNoEffectAfterwards()
    let (other, otherRun) = Bench.following()
    other.start { await $0.stop() }
    other.start { await $0.stop() }
    other.drain()
    #expect(otherRun.isOver.value)
    other.expectNoEffectAfterwards()
  }

  @Test func `stop before run changes nothing for the run that follows`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    bench.tell { $0.stop() }
    #expect(bench.state.freshness.claim == .unknown)
    let run = bench.run()
    bench.drain()
    #expect(!run.isOver.value)
    #expect(bench.source.asked == ["poll a:7, quick"])
  }

  @Test func `run right after stop waits for the old run to end, then continues`() {
    let (bench, old) = Bench.following(endsWhenCancelled: false)
    bench.tell { $0.stop() }
    let new = bench.run()
    bench.drain()
    #expect(!old.isOver.value, "its poll has not ended")
    #expect(bench.source.open.count == 1)
    bench.source.batch(from: 8, [66])
    bench.drain()
    #expect(old.isOver.value)
    #expect(!new.isOver.value)
    #expect(bench.entries == [1], "an answer after the stop is not taken")
    #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", 7), waits: false)])
  }

  @Test func `a stop while a run waits for the old one ends the waiting run, too`() {
    let (bench, old) = Bench.following(endsWhenCancelled: false)
    bench.tell { $0.stop() }
    let new = bench.run()
    bench.drain()
    bench.tell { $0.stop() }
    bench.source.fail(.unreachable)
    bench.drain()
    #expect(old.isOver.value)
    #expect(new.isOver.value)
    bench.expectNoEffectAfterwards()
  }

  /// Found by seed 1414 with actors. The start told the machine at its end what had been true at
  /// its beginning.
  @Test func `a run that waited begins in the background if the user left meanwhile`() {
    let (bench, old) = Bench.following(endsWhenCancelled: false)
    bench.tell { $0.stop() }
    let new = bench.run()
    bench.drain()
    bench.tell { $0.enterBackground() }
    bench.drain()
    bench.source.fail(.unreachable)
    bench.drain()
    #expect(old.isOver.value)
    #expect(!new.isOver.value)
    #expect(bench.source.open.isEmpty, "in the background nothing is asked")
    bench.tell { $0.enterForeground() }
    bench.drain()
    #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", 7), waits: false)])
  }

  @Test func `a run that is cancelled while it waits never begins`() {
    let (bench, _) = Bench.following(endsWhenCancelled: false)
    bench.tell { $0.stop() }
    let new = bench.run()
    bench.drain()
    new.task.cancel()
    bench.drain()
    bench.source.fail(.unreachable)
    bench.drain()
    #expect(new.isOver.value)
    bench.expectNoEffectAfterwards()
  }

  @Test func `a run that begins right after the old one was cancelled waits for it`() {
    let (bench, old) = Bench.following()
    old.task.cancel()
    let new = bench.run()  // A view that disappears and reappears at once does this.
    bench.drain()
    #expect(old.isOver.value)
    #expect(!new.isOver.value)
    #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", 7), waits: false)])
    #expect(bench.entries == [1])
  }

  @Test(arguments: [nil, Bench.saved], [nil, 1, 2, 3] as [UInt64?])
  func `bug 19: a request that was about to be sent is not sent after a stop`(
    saved: SavedReplica<Ledger, Spot>?, seed: UInt64?
  ) {
    for steps in 0..<60 {
      let bench = Bench(store: ScriptedStore(saved), endsWhenCancelled: false, seed: seed)
      let run = bench.run()
      for _ in 0..<steps { bench.executor.step() }
      let isStopped = Box(false)
      let asked = Box(0)
      let source = bench.source
      bench.start { machine in
        await machine.stop()
        asked.value = source.asked.count
        isStopped.value = true
      }
      bench.drain()
      #expect(isStopped.value)
      // A stop that came before the run does not apply to it.
      if bench.inputs.value[0].hasPrefix("stopped") { continue }
      #expect(source.asked.count == asked.value, "stop after \(steps) steps")
      for call in source.open { source.answer(call.number, .failure(.unreachable)) }
      bench.drain()
      #expect(run.isOver.value)
      bench.expectNoEffectAfterwards("stop after \(steps) steps")
    }
  }

  @Test(arguments: [nil, 1, 2, 3, 4] as [UInt64?])
  func `bug 33: pause and resume at any moment lose no request and no timer`(seed: UInt64?) {
    for steps in 0..<80 {
      let bench = Bench(store: ScriptedStore(Bench.saved), seed: seed)
      _ = bench.run()
      for _ in 0..<steps { bench.executor.step() }
      bench.start { machine in
        await machine.enterBackground()
        await machine.enterForeground()
      }
      bench.drain()
      #expect(bench.source.open.count == 1, "after \(steps) steps")
      #expect(bench.clock.alarms.count >= 1, "after \(steps) steps")
      bench.source.batch(from: 8, [2])
      bench.drain()
      #expect(bench.entries == [1, 2], "after \(steps) steps")
      #expect(bench.source.open.count == 1, "after \(steps) steps")
    }
  }

  @Test func `bug 9: a request that never settled is given up after the device wakes`() {
    let (bench, _) = Bench.following(endsWhenCancelled: false)
    let stuck = bench.source.open[0].number
    bench.advance(.milliseconds(100_100))  // No answer ever comes.
    #expect(bench.source.open.map(\.number) == [stuck, stuck + 1], "the client asks again")
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(bench.entries == [1, 2])
    #expect(bench.claim == "connected")
  }

  @Test func `bug 20: a timer and a write that end after stop have no effect`() {
    let (bench, run) = Bench.following()
    bench.store?.isSlow = true
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(bench.store?.open == ["save a:8"])
    bench.tell { $0.stop() }
    #expect(bench.clock.alarms == [], "no timer survives")
    #expect(!run.isOver.value, "the write may end")
    bench.store?.finish()
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.store?.content == "[1, 2] a:8")
    bench.expectNoEffectAfterwards()
  }

  @Test func `stop during a wait for a retry leaves nothing behind`() {
    let (bench, run) = Bench.following()
    bench.source.fail(.unreachable)
    bench.drain()
    #expect(bench.clock.alarms.count == 1)
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    bench.expectNoEffectAfterwards()
  }

  @Test func `a second run while the first goes on is a programmer's mistake, and traps`() async {
    await #expect(processExitsWith: .failure) {
      let (bench, _) = Bench.following()
      _ = bench.run()
      bench.drain()
    }
  }
}
