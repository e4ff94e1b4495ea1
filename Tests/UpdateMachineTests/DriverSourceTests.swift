import TestSupport
import Testing

@testable import UpdateMachine

/// Tests a driver whose source answers as it likes.
@Suite struct DriverSourceTests {
  @Test func `a first start registers, writes, and follows`() {
    let bench = Bench(store: ScriptedStore())
    let run = bench.run()
    bench.drain()
    #expect(bench.source.asked == ["register"])
    bench.source.snapshot([4], Spot("a", 0))
    bench.drain()
    #expect(bench.store?.done == ["load", "save a:0"])
    #expect(bench.source.asked == ["register", "poll a:0"])
    bench.source.batch(from: 1, [5, nil, 6])
    bench.drain()
    #expect(bench.entries == [4, 5, 6])
    #expect(bench.store?.content == "[4, 5, 6] a:3")
    #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", 3), waits: true)])
    #expect(bench.claim == "connected")
    #expect(!run.isOver.value)
  }

  @Test func `applied events count as written at once without a store`() {
    let bench = Bench()
    _ = bench.run()
    bench.drain()
    bench.source.snapshot([4], Spot("a", 0))
    bench.drain()
    #expect(bench.source.asked == ["register", "poll a:0"])
    #expect(
      bench.inputs.value.last == "snapshotArrived 1 at a:0, lifetime 600 s → "
        + "disarm 1, poll 2 from a:0, arm 2 in 100 s")
  }

  @Test func `no poll waits for the store with acknowledgement before saving`() {
    let store = ScriptedStore()
    let bench = Bench(store: store, acknowledges: .beforeSaving)
    let run = bench.run()
    bench.drain()
    store.isSlow = true
    bench.source.snapshot([4], Spot("a", 0))
    bench.drain()
    for index in 1...3 {
      bench.source.batch(from: index, [index])
      bench.drain()
    }
    #expect(bench.source.asked.last == "poll a:3")
    #expect(store.open == ["save a:0"])
    #expect(store.content == "nothing", "a crash would lose all of it")
    store.finish()
    bench.drain()
    #expect(store.open == ["save a:3"], "everything that came meanwhile is one step")
    bench.tell { $0.stop() }
    #expect(!run.isOver.value)
    store.finish()
    bench.drain()
    #expect(store.content == "[4, 1, 2, 3] a:3")
    #expect(run.isOver.value, "a stop leaves nothing unsaved")
  }

  @Test func `a failed save in the background is repeated with the next batch`() {
    let store = ScriptedStore()
    let bench = Bench(store: store, acknowledges: .beforeSaving)
    _ = bench.run()
    bench.drain()
    store.failure = .failed("full")
    bench.source.snapshot([4], Spot("a", 0))
    bench.drain()
    #expect(bench.reports.value.contains(.store(.failed("full"))))
    #expect(bench.claim == "connected")
    store.failure = nil
    bench.source.batch(from: 1, [5])
    bench.drain()
    #expect(store.content == "[4, 5] a:1")
  }

  @Test func `a request that is never answered is given up at its deadline and repeated`() {
    let (bench, run) = Bench.following()
    bench.advance(.seconds(100))
    #expect(bench.source.asked.last == "poll a:7")
    #expect(bench.status == "pollFailed")
    bench.advance(.milliseconds(100))
    #expect(bench.source.asked.last == "poll a:7, quick")
    #expect(bench.source.open.count == 1)
    #expect(!run.isOver.value)
  }

  @Test(arguments: [true, false])
  func `an answer to an abandoned request changes nothing`(endsWhenCancelled: Bool) {
    let (bench, _) = Bench.following(endsWhenCancelled: endsWhenCancelled)
    let old = bench.source.open[0].number
    bench.tell { $0.networkChanged() }
    #expect(bench.source.asked.last == "poll a:7, quick")
    #expect(bench.source.open.count == (endsWhenCancelled ? 1 : 2))
    let before = bench.summary
    bench.source.answer(old, .batch(LedgerBatch(first: 8, events: [66])))
    bench.drain()
    #expect(bench.summary == before)
    bench.source.batch(from: 8, [2])
    bench.drain()
    #expect(bench.entries == [1, 2])
  }

  @Test func `only the newer request's answer counts if answers come in the wrong order`() {
    let (bench, _) = Bench.following(endsWhenCancelled: false)
    let old = bench.source.open[0].number
    bench.tell { $0.networkChanged() }
    bench.source.batch(from: 8, [2])  // The newer request is answered first.
    bench.drain()
    bench.source.answer(old, .batch(LedgerBatch(first: 8, events: [66, 67])))
    bench.drain()
    #expect(bench.entries == [1, 2])
    #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", 8), waits: true)])
  }

  @Test func `a failure of an abandoned request is ignored`() {
    let (bench, _) = Bench.following(endsWhenCancelled: true)
    bench.tell { $0.networkChanged() }  // This cancels the poll, which then fails as malformed.
    #expect(!bench.inputs.value.contains { $0.contains("malformed") })
    #expect(bench.reports.value == [])
    #expect(bench.entries == [1])
  }

  @Test func `a repeated answer counts once`() {
    let (bench, _) = Bench.following()
    let first = bench.source.open[0].number
    bench.source.batch(from: 8, [2])
    bench.source.answer(first, .batch(LedgerBatch(first: 8, events: [2])))
    bench.drain()
    bench.source.batch(from: 8, [2])  // The next poll brings the same events again.
    bench.drain()
    #expect(bench.entries == [1, 2])
  }

  @Test func `a snapshot that comes after its register was given up is released`() {
    let bench = Bench(endsWhenCancelled: false)
    _ = bench.run()
    bench.drain()
    bench.advance(.seconds(61))  // The deadline passes, and the wait after it.
    #expect(bench.source.asked == ["register", "register"])
    bench.source.answer(0, .snapshot([9], Spot("old", 0), testTerms))
    bench.drain()
    #expect(bench.source.asked.last == "release old")
    #expect(bench.entries == nil)
  }

  @Test func `a failure is reported, and the request repeated`() {
    let (bench, _) = Bench.following()
    bench.source.fail(.rejected(RejectionCode("NO")))
    bench.drain()
    #expect(bench.reports.value == [.failure(.rejected(RejectionCode("NO")))])
    #expect(bench.source.asked.last == "release a")
    bench.source.answer(.done)
    bench.advance(.seconds(1))
    #expect(bench.source.asked.last == "register")
  }

  @Test func `a subscription is one request, however many batches it brings`() {
    var terms = testTerms
    terms.cadence = .pushed
    let bench = Bench()
    _ = bench.run()
    bench.drain()
    bench.source.snapshot([], Spot("a", 0), terms: terms)
    bench.drain()
    for place in 1...5 {
      #expect(bench.source.open.map(\.ask) == [.poll(Spot("a", place - 1), waits: true)])
      bench.source.batch(from: place, [place])
      bench.drain()
    }
    bench.source.batch(from: 5, [5])  // An event is given twice.
    bench.drain()
    bench.source.batch(from: 6, [])  // A ping.
    bench.drain()
    #expect(bench.entries == [1, 2, 3, 4, 5])
    let requests = bench.inputs.value.filter { $0.contains("poll ") }
    #expect(requests.allSatisfy { $0.contains("poll 2 from ") }, "it is one request, which goes on")
    #expect(bench.source.open.count == 1)
    #expect(bench.clock.alarms.count == 1, "there is one deadline")
    bench.advance(.seconds(100))
    #expect(bench.source.open.isEmpty, "silence is a timeout")
  }

  @Test func `a subscription that is given up brings nothing more`() {
    var terms = testTerms
    terms.cadence = .pushed
    let bench = Bench(endsWhenCancelled: false)
    let run = bench.run()
    bench.drain()
    bench.source.snapshot([], Spot("a", 0), terms: terms)
    bench.drain()
    bench.tell { $0.stop() }
    #expect(!run.isOver.value)
    bench.source.batch(from: 1, [1])
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.entries == [])
    bench.expectNothingPending()
  }
}
