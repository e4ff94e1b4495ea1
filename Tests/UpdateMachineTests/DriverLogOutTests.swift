import Testing

@testable import UpdateMachine

/// Tests `logOut()`: the account goes.
@Suite struct DriverLogOutTests {
  @Test func `log-out without run erases, and releases the saved log`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    let (logOut, failure) = bench.logOut()
    bench.drain()
    #expect(bench.source.asked == ["release a"])
    #expect(bench.store?.done == ["load", "erase"])
    #expect(!logOut.isOver.value, "the log-out waits for the release")
    bench.source.answer(.done)
    bench.drain()
    #expect(logOut.isOver.value)
    #expect(failure.value == nil)
    #expect(bench.store?.content == "nothing")
    #expect(bench.state.holding == .nothing)
    bench.expectNoEffectAfterwards()
  }

  @Test func `log-out during run ends the run when all is done`() {
    let (bench, run) = Bench.following()
    let (logOut, failure) = bench.logOut()
    bench.drain()
    #expect(bench.source.open.map(\.ask) == [.release("a")])
    #expect(!run.isOver.value)
    #expect(!logOut.isOver.value)
    bench.source.answer(.done)
    bench.drain()
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(failure.value == nil)
    #expect(bench.state.upToDateAsOf == nil)
    #expect(bench.store?.done == ["load", "erase"])
    bench.expectNoEffectAfterwards()
  }

  @Test func `a release that never returns is given up after five seconds`() {
    let (bench, run) = Bench.following()
    let (logOut, _) = bench.logOut()
    bench.drain()
    bench.advance(.milliseconds(4_999))
    #expect(!run.isOver.value)
    #expect(bench.source.open.map(\.ask) == [.release("a")])
    bench.advance(.milliseconds(1))
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(bench.store?.content == "nothing")
    bench.expectNoEffectAfterwards()
  }

  @Test(arguments: [true, false])
  func `bug 18: the answer to a register is not taken after a log-out`(
    endsWhenCancelled: Bool
  ) {
    let bench = Bench(store: ScriptedStore(), endsWhenCancelled: endsWhenCancelled)
    let run = bench.run()
    bench.drain()
    #expect(bench.source.asked == ["register"])
    let (logOut, _) = bench.logOut()
    bench.drain()
    #expect(logOut.isOver.value == endsWhenCancelled)
    bench.source.answer(0, .snapshot([9], Spot("late", 0), testTerms))
    bench.drain()
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(bench.state.holding == .nothing)
    #expect(bench.store?.content == "nothing")
    bench.expectNoEffectAfterwards()
  }

  @Test func `the erase comes after the write under way`() {
    let (bench, run) = Bench.following()
    bench.store?.isSlow = true
    bench.source.batch(from: 8, [2])
    bench.drain()
    let (logOut, _) = bench.logOut()
    bench.drain()
    #expect(bench.store?.open == ["save a:8"])
    bench.source.answer(.done)
    bench.store?.finish()
    bench.drain()
    #expect(bench.store?.open == ["erase"])
    #expect(!logOut.isOver.value)
    bench.store?.finish()
    bench.drain()
    #expect(bench.store?.done == ["load", "save a:8", "erase"])
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(bench.store?.content == "nothing")
    bench.expectNoEffectAfterwards()
  }

  @Test func `a log-out that cannot erase throws, and can be called again`() {
    let (bench, run) = Bench.following()
    bench.store?.failure = .failed("read-only")
    let (logOut, failure) = bench.logOut()
    bench.drain()
    bench.source.answer(.done)
    bench.drain()
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(failure.value == .failed("read-only"))
    #expect(bench.reports.value == [.store(.failed("read-only"))])
    #expect(bench.store?.content == "[1] a:7")
    bench.store?.failure = nil
    let (again, nothing) = bench.logOut()
    bench.drain()
    #expect(again.isOver.value)
    #expect(nothing.value == nil)
    #expect(bench.store?.content == "nothing")
  }

  @Test func `each of two log-outs gets the result of its own erase`() {
    let (bench, _) = Bench.following()
    bench.store?.failure = .failed("read-only")
    let (one, oneFailure) = bench.logOut()
    let (other, otherFailure) = bench.logOut()
    bench.drain()
    bench.source.answer(.done)
    bench.drain()
    #expect(one.isOver.value && other.isOver.value)
    #expect(oneFailure.value == .failed("read-only"))
    #expect(otherFailure.value == .failed("read-only"))
  }

  @Test func `log-out after stop, at any moment, erases`() {
    for steps in 0..<40 {
      let (bench, run) = Bench.following()
      bench.start { await $0.stop() }
      for _ in 0..<steps { bench.executor.step() }
      let (logOut, failure) = bench.logOut()
      bench.drain()
      for call in bench.source.open { bench.source.answer(call.number, .done) }
      bench.drain()
      #expect(run.isOver.value, "after \(steps) steps")
      #expect(logOut.isOver.value, "after \(steps) steps")
      #expect(failure.value == nil)
      #expect(bench.source.asked.last == "release a", "after \(steps) steps")
      #expect(bench.store?.content == "nothing", "after \(steps) steps")
      bench.expectNothingPending("after \(steps) steps")
    }
  }

  @Test func `a run that waits to begin never begins after a log-out`() {
    let (bench, _) = Bench.following(endsWhenCancelled: false)
    bench.tell { $0.stop() }
    let new = bench.run()
    bench.drain()
    let (logOut, _) = bench.logOut()
    bench.drain()
    for call in bench.source.open { bench.source.answer(call.number, .done) }
    bench.drain()
    #expect(new.isOver.value)
    #expect(logOut.isOver.value)
    #expect(bench.store?.content == "nothing")
    bench.expectNoEffectAfterwards()
  }

  @Test func `run and log-out in any order of their jobs never trap, and end`() {
    var begun = 0
    for seed: UInt64 in 0..<600 {
      let (bench, old) = Bench.following(seed: seed)
      let stop = bench.start { await $0.stop() }
      while !stop.isOver.value { bench.executor.step() }
      let new = bench.run()
      for _ in 0..<(seed % 20) { bench.executor.step() }
      let (logOut, _) = bench.logOut()
      bench.drain()
      for call in bench.source.open { bench.source.answer(call.number, .done) }
      bench.drain()
      #expect(old.isOver.value && logOut.isOver.value, "seed \(seed)")
      #expect(bench.store?.content == "nothing", "seed \(seed)")
      let isLast = bench.inputs.value.last { $0.hasPrefix("started") || $0.hasPrefix("loggedOut") }
      if isLast?.hasPrefix("started") == true {
        begun += 1  // The log-out came first, so it does not apply to the new run.
        #expect(!new.isOver.value, "seed \(seed)")
        bench.tell { $0.stop() }
      }
      #expect(new.isOver.value, "seed \(seed)")
      bench.expectNoEffectAfterwards("seed \(seed)")
    }
    #expect((1..<500).contains(begun), "both orders occurred")
  }

  @Test func `another run starts anew after a log-out`() {
    let (bench, _) = Bench.following()
    let (logOut, _) = bench.logOut()
    bench.drain()
    bench.source.answer(.done)
    bench.drain()
    #expect(logOut.isOver.value)
    _ = bench.run()
    bench.drain()
    #expect(bench.source.asked.last == "register")
  }
}
