import Testing

@testable import UpdateMachine

/// A server of ledgers that answers by itself, in the order in which it is asked.
struct LedgerServer {
  var log = "a"
  var entries = [1, 2, 3]

  /// Answers the oldest request that can be answered, or ends the oldest write. Returns `false` if
  /// there is nothing to do.
  func attend(_ bench: Bench) -> Bool {
    for call in bench.source.open {
      switch call.ask {
      case .register:
        let spot = Spot(log, entries.count - 1)
        bench.source.answer(call.number, .snapshot(entries, spot, testTerms))
      case .poll(let spot, let waits):
        let news = entries.dropFirst(spot.index + 1)
        if waits, news.isEmpty { continue }
        let batch = LedgerBatch(first: spot.index + 1, events: Array(news))
        bench.source.answer(call.number, .batch(batch))
      case .release: bench.source.answer(call.number, .done)
      }
      return true
    }
    guard let store = bench.store, !store.open.isEmpty else { return false }
    store.finish()
    return true
  }

  /// Lets everything happen that can happen now.
  func serve(_ bench: Bench) {
    bench.drain()
    while attend(bench) { bench.drain() }
  }
}

/// Tests runs that are ended after every possible number of steps.
@Suite struct DriverCancelTests {
  /// How a run is ended.
  enum End: CaseIterable {
    case cancel, stop, logOut
  }

  /// Runs the first steps of a client, up to a given number. In these the saved form is read, the
  /// finger is refused, and there follow a register, a write, a quick poll, events, another write,
  /// a wait, and a network change.
  private func begin(_ bench: Bench, _ server: inout LedgerServer, steps: Int) -> Bool {
    var left = steps
    var events = [4, 5]
    while left > 0 {
      left -= 1
      if bench.executor.step() { continue }
      if server.attend(bench) { continue }
      guard let event = events.popLast() else { return false }
      if event == 4 { bench.start { await $0.networkChanged() } }
      server.entries.append(event)
    }
    return true
  }

  @Test(arguments: End.allCases, [true, false])
  func `a run cancelled after any number of steps ends, and another continues`(
    end: End, endsWhenCancelled: Bool
  ) {
    // First the oldest job runs first; then there is a random order.
    for seed in [nil, 1] as [UInt64?] {
      endAnywhere(end, endsWhenCancelled: endsWhenCancelled, seed: seed)
    }
  }

  private func endAnywhere(_ end: End, endsWhenCancelled: Bool, seed: UInt64?) {
    var steps = 0
    var goesOn = true
    var tooEarly = 0
    while goesOn, steps < 400 {
      defer { steps += 1 }
      let store = ScriptedStore(
        SavedReplica(model: Ledger(entries: [1]), finger: Spot("a", 0), terms: testTerms))
      store.isSlow = true
      store.heedsCancellation = endsWhenCancelled
      let bench = Bench(store: store, endsWhenCancelled: endsWhenCancelled, seed: seed)
      var server = LedgerServer()
      let states = Box<AsyncStream<LedgerState>?>(nil)
      bench.start { states.value = await $0.states() }
      let run = bench.run()
      goesOn = begin(bench, &server, steps: steps)
      let place: Comment = "\(end) after \(steps) steps, seed \(seed ?? 0)"

      var other: Started?
      switch end {
      case .cancel: run.task.cancel()
      case .stop: bench.start { await $0.stop() }
      case .logOut: other = bench.logOut().0
      }
      settle(bench, server)
      if end != .cancel, !run.isOver.value {
        tooEarly += 1  // It came before the run began, so it does not apply to it.
        continue
      }
      #expect(run.isOver.value, place)
      #expect(other?.isOver.value != false, place)
      bench.expectNothingPending(place)
      bench.expectNoEffectAfterwards(place)
      if end != .logOut { #expect(store.content != "nothing", place) }
      if end == .logOut { #expect(store.content == "nothing", place) }
      #expect(
        !bench.reports.value.contains { if case .failure = $0 { true } else { false } }, place)

      let again = bench.run()
      server.serve(bench)
      bench.advance(.seconds(5))
      server.serve(bench)
      #expect(!again.isOver.value, place)
      #expect(bench.entries == server.entries, place)
      #expect(bench.claim == "connected", place)
      #expect(bench.source.open.count == 1, place)
      if end != .logOut { #expect(!bench.source.asked.contains("register"), place) }
    }
    #expect(tooEarly < 20)
    #expect(steps > 40, "a run has more awaits than that")
    #expect(!goesOn, "every step was tried")
  }

  /// Ends what remains: late answers of sources that ignore cancellation, and writes.
  private func settle(_ bench: Bench, _ server: LedgerServer) {
    bench.drain()
    while !bench.source.open.isEmpty || !(bench.store?.open.isEmpty ?? true) {
      if let call = bench.source.open.first {
        switch call.ask {
        case .register: bench.source.answer(call.number, .snapshot([66], Spot("z", 0), testTerms))
        case .poll(let spot, _):
          let batch = LedgerBatch(first: spot.index + 1, events: [66])
          // A late answer is not believed. If nobody gave the poll up, the run goes on and never
          // ends.
          guard call.isCancelled else { return }
          bench.source.answer(call.number, .batch(batch))
        case .release: bench.source.answer(call.number, .done)
        }
      } else {
        bench.store?.finish()
      }
      bench.drain()
    }
  }

  @Test func `a run that is cancelled before its first step does nothing`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    let run = bench.run()
    run.task.cancel()
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.store?.done == [])
    #expect(bench.source.asked == [])
    bench.expectNoEffectAfterwards()
  }

  @Test(arguments: 0...20 as ClosedRange<UInt64>)
  func `a source's error for its own cancellation never reaches the machine`(seed: UInt64) {
    let (bench, run) = Bench.following(seed: seed)
    run.task.cancel()  // The poll ends as `malformed`, which would drop the finger.
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.summary == "halted(stopped), [1], a:7")
    #expect(bench.source.asked.last == "poll a:7")
    #expect(bench.reports.value == [])
  }

  @Test func `a load that is cut short proves nothing about the saved form`() {
    let store = ScriptedStore(Bench.saved)
    store.isSlow = true
    store.heedsCancellation = true
    let bench = Bench(store: store)
    let run = bench.run()
    bench.drain()
    run.task.cancel()
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.state.holding == .unknown)
    #expect(bench.reports.value == [])
    store.isSlow = false
    _ = bench.run()
    bench.drain()
    #expect(bench.entries == [1])
    #expect(bench.source.asked == ["poll a:7, quick"])
  }

  @Test func `cancelling run during a log-out ends both, and the erase is tried`() {
    let (bench, run) = Bench.following()
    let (logOut, failure) = bench.logOut()
    bench.drain()
    run.task.cancel()
    bench.drain()
    #expect(run.isOver.value)
    #expect(logOut.isOver.value)
    #expect(failure.value == nil)
    #expect(bench.store?.content == "nothing")
    bench.expectNoEffectAfterwards()
  }
}
