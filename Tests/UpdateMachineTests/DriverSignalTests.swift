import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what the app says, and when it says it.
@Suite struct DriverSignalTests {
  @Test func `signals before the start are kept for it`() {
    let bench = Bench(store: ScriptedStore(Bench.saved))
    bench.tell { machine in
      machine.networkChanged()
      machine.retryNow()
      machine.credentialsChanged()
      machine.enterForeground()
    }
    #expect(bench.source.asked == [])
    #expect(bench.store?.done == [])
    _ = bench.run(foreground: false)
    bench.drain()
    #expect(bench.store?.done == ["load"])
    #expect(bench.source.asked == [])
    #expect(bench.claim == "resting")
    bench.tell { $0.enterForeground() }
    #expect(bench.source.asked == ["poll a:7, quick"])
  }

  @Test func `a client that reads its saved form knows nothing, and the last signal counts`() {
    let store = ScriptedStore(Bench.saved)
    store.isSlow = true
    let bench = Bench(store: store)
    _ = bench.run()
    bench.drain()
    #expect(bench.state.holding == .unknown)
    #expect(bench.state.status == nil)
    #expect(bench.claim == "unknown")
    bench.tell { $0.enterBackground() }
    store.finish()
    bench.drain()
    #expect(bench.entries == [1])
    #expect(bench.claim == "resting")
    #expect(bench.source.asked == [])
    bench.tell { $0.enterForeground() }
    #expect(bench.source.asked == ["poll a:7, quick"])
  }

  @Test func `signals between two runs start nothing`() {
    let (bench, run) = Bench.following()
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    bench.expectNoEffectAfterwards()
    _ = bench.run()
    bench.drain()
    #expect(bench.source.asked.last == "poll a:7, quick")
  }

  @Test func `a saved form that cannot be read is reported and left unchanged`() {
    let store = ScriptedStore(Bench.saved)
    store.failure = .unreadable("a newer version's")
    let bench = Bench(store: store)
    _ = bench.run()
    bench.drain()
    #expect(bench.reports.value == [.store(.unreadable("a newer version's"))])
    #expect(bench.source.asked == ["register"])
    #expect(store.content == "[1] a:7")
  }

  @Test func `the age of the saved form is told by the wall clock`() {
    for (writtenAt, age) in [
      (940_000, "60 s old"), (1_000_000, "0 s old"), (1_000_001, "of unknown age"),
    ] {
      let bench = Bench(store: ScriptedStore(Bench.saved, writtenAt: Int64(writtenAt)))
      _ = bench.run()
      bench.drain()
      #expect(bench.inputs.value.contains { $0.hasPrefix("loaded a:7, \(age)") })
    }
  }

  @Test func `a write that fails is reported, and tried again`() {
    let (bench, _) = Bench.following()
    bench.store?.failure = .failed("full")
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(bench.reports.value == [.store(.failed("full"))])
    #expect(bench.entries == [1, 2], "the model may show what is not yet written")
    #expect(bench.store?.content == "[1] a:7")
    bench.store?.failure = nil
    bench.advance(.milliseconds(100))
    #expect(bench.store?.content == "[1, 2] a:8")
    #expect(bench.source.asked.last == "poll a:8, quick")
  }
}
