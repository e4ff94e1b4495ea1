import Testing

@testable import MessageSync
@testable import UpdateMachine

/// Tests windows on the actor: what is fetched for them, what they show, and what ends them.
@Suite struct DriverWindowTests {
  // MARK: Filling

  @Test func `a window on the newest is filled by one fetch`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    #expect(bench.asked == ["about newest, 3 before, 0 after"])
    #expect(viewer.rows == ["gap"])
    bench.page()
    #expect(viewer.rows == ["gap", "980 990 1000"])
    #expect(viewer.seen.value.last?.isComplete == true)
    #expect(viewer.seen.value.last?.items.map(\.content) == [980, 990, 1000])
    #expect(bench.source.pagesOut.isEmpty)
    bench.advance(.seconds(60))
    #expect(bench.source.pagesAsked.count == 1)
  }

  @Test func `two windows on one list never fetch the same page at once`() {
    let (bench, _) = PageBench.following()
    let first = bench.look(PageBench.a, .newest(3))
    let second = bench.look(PageBench.a, .newest(3))
    first.follow()
    second.follow()
    #expect(bench.source.pagesOut.count == 1)
    bench.page()
    #expect(first.rows.last == "980 990 1000")
    #expect(second.rows.last == "980 990 1000")
    // One window stays and the other closes. The fetch that is out belongs to the one that stays.
    bench.tell { $0.moveWindow(first.id, to: .newest(5)) }
    bench.tell { $0.closeWindow(second.id) }
    #expect(bench.asked == ["about 980, 20 before, 0 after"])
    bench.page()
    #expect(first.rows.last == "960 970 980 990 1000")
    #expect(second.hasEnded.value)
  }

  @Test func `a window opened before there is a model waits for one`() {
    let bench = PageBench()
    let viewer = bench.look(PageBench.a, .newest(2))
    viewer.follow()
    #expect(viewer.rows == ["gap"])
    let run = bench.start { await $0.run() }
    bench.drain()
    #expect(bench.source.pagesOut.isEmpty)
    bench.register()
    #expect(bench.asked == ["about newest, 2 before, 0 after"])
    bench.page()
    #expect(viewer.rows == ["gap", "990 1000"])
    #expect(!run.isOver.value)
  }

  /// In the background nothing else changes when the model comes. Seed 40773 of the world messages.
  @Test func `the first model tells whether a list can be known`() {
    let bench = PageBench()
    let viewer = bench.look(ShelfNarrow([.channel(ChannelID(77))]), .newest(2))
    viewer.follow()
    _ = bench.start { await $0.run() }
    bench.drain()
    bench.tell { $0.enterBackground() }
    #expect(viewer.seen.value.map(\.isSnapshot) == [false])
    bench.register()
    #expect(viewer.seen.value.map(\.isSnapshot) == [false, true])
  }

  @Test func `an event changes only the windows that it concerns`() {
    let (bench, _) = PageBench.following()
    let one = bench.look(PageBench.a, .newest(2))
    let other = bench.look(PageBench.b, .newest(2))
    one.follow()
    other.follow()
    bench.page()
    bench.page()
    bench.batch([.new(PageBench.message(2000, in: 1))])
    #expect(one.rows == ["gap", "990 1000", "1000 2000"])
    #expect(other.rows == ["gap", "991 1001"])
    #expect(bench.source.pagesAsked.count == 2)
  }

  @Test func `a slow reader gets the present view, and then the newest`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(2))
    bench.page()
    bench.batch([.new(PageBench.message(2000, in: 1))])
    #expect(viewer.next().map(Viewer.words) == "1000 2000")
    bench.batch([.deleted([MessageID(2000)])])
    bench.batch([.deleted([MessageID(1000)])])
    // The newest message is gone, so the window reaches into what is not held.
    #expect(viewer.next()?.items.map(\.content) == [990])
  }

  @Test func `a page also changes the states`() {
    let (bench, _) = PageBench.following()
    let counts = Box<[Int]>([])
    bench.start { machine in
      for await state in await machine.states() {
        counts.change { $0.append(state.model?.lists.count ?? -1) }
      }
    }
    let viewer = bench.look(PageBench.a, .newest(2))
    bench.page()
    #expect(counts.value.last == 2)
    #expect(viewer.next()?.items.count == 2)
  }

  // MARK: Failures

  @Test func `a failed page is fetched again with growing waits`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(3))
    var asked: [Moment] = []
    for _ in 0..<1200 {
      while !bench.source.pagesOut.isEmpty {
        asked.append(bench.clock.now)
        bench.failPage(.unreachable)
      }
      bench.advance(.milliseconds(50))
    }
    #expect((5...7).contains(asked.count), "in a minute: \(asked)")
    for _ in 0..<60 where bench.source.pagesOut.isEmpty { bench.advance(.seconds(1)) }
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "980 990 1000")
    #expect(bench.read { $0.client.status.isLive }, "the machine's own requests are not affected")
  }

  @Test func `a rejected fetch is reported, and not repeated soon`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(3))
    let rejection = SyncFailure.rejected(RejectionCode("NO"))
    bench.failPage(rejection)
    #expect(bench.reports.value == [.failure(rejection)])
    for step in 1...20 {
      bench.tell { $0.moveWindow(viewer.id, to: .newest(Int64(step))) }
      bench.advance(.seconds(2))
    }
    #expect(bench.source.pagesAsked.count == 1)
  }

  @Test func `a fetch that is never answered is given up at its deadline and repeated`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(3))
    bench.advance(.milliseconds(29_999))
    #expect(bench.source.pagesAsked.count == 1)
    bench.advance(.milliseconds(1))
    #expect(bench.source.pagesOut.isEmpty)
    bench.advance(.milliseconds(500))
    #expect(bench.source.pagesAsked.count == 2)
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "980 990 1000")
  }

  @Test func `pages are fetched even while polls fail`() {
    let (bench, _) = PageBench.following()
    bench.failPoll(.unreachable)
    let viewer = bench.look(PageBench.a, .newest(1))
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "1000")
  }

  // MARK: Ends of a window

  /// How a window ends.
  enum End: CaseIterable {
    case close, drop, cancel, moveOn
  }

  @Test(arguments: End.allCases, [true, false])
  func `closing a window cancels its fetch`(end: End, endsWhenCancelled: Bool) {
    let (bench, _) = PageBench.following(endsWhenCancelled: endsWhenCancelled)
    let viewer = bench.look(PageBench.a, .newest(3))
    if end == .cancel { viewer.follow() }
    let fetch = bench.source.pagesOut[0].number
    switch end {
    case .close: bench.tell { $0.closeWindow(viewer.id) }
    case .drop: viewer.leave()
    case .cancel: viewer.cancel()
    case .moveOn:
      bench.tell { $0.moveWindow(viewer.id, to: ListWindow(.oldest, before: 0, after: 2)) }
    }
    let first = bench.source.open.first { $0.number == fetch }
    #expect(first?.isCancelled ?? true)
    #expect((first == nil) == endsWhenCancelled)
    #expect(bench.source.pagesAsked.count == (end == .moveOn ? 2 : 1))
    // A late page changes nothing.
    let page = bench.page(PageRequest(PageBench.a, .newest, before: 3, after: 0))
    bench.source.answer(fetch, .page(page))
    bench.drain()
    #expect(bench.read { $0.client.model?.lists.count } == 0)
    if end == .moveOn {
      bench.page()
      #expect(viewer.next().map(Viewer.words) == "10 20")
    } else {
      bench.advance(.minutes(2))
      #expect(bench.source.pagesOut.isEmpty)
    }
  }

  @Test func `views that are never read keep their window open until they are dropped`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(3))
    bench.page()
    bench.tell { $0.moveWindow(viewer.id, to: .newest(7)) }
    #expect(bench.source.pagesOut.count == 1)
    viewer.leave()
    #expect(bench.source.pagesOut.isEmpty)
  }

  @Test func `a window closed without run is not fetched by the next run`() {
    let (bench, run) = PageBench.following()
    let stays = bench.look(PageBench.a, .newest(2))
    let goes = bench.look(PageBench.b, .newest(2))
    bench.tell { $0.stop() }
    #expect(run.isOver.value)
    goes.leave()
    bench.start { await $0.run() }
    bench.drain()
    #expect(bench.source.pagesOut.map(\.ask.request?.narrow) == [PageBench.a])
    bench.page()
    #expect(stays.next().map(Viewer.words) == "990 1000")
    // A moved window is noticed in this run, too.
    bench.tell { $0.moveWindow(stays.id, to: .newest(7)) }
    #expect(bench.source.pagesOut.count == 1)
    stays.leave()
    #expect(bench.source.pagesOut.isEmpty)
  }

  @Test func `views do not keep the machine alive, and end with it`() {
    let bench = PageBench()
    let viewer = bench.look(PageBench.a, .newest(2))
    viewer.follow()
    weak let machine = bench.machine
    bench.machine = nil
    bench.drain()
    #expect(machine == nil)
    #expect(viewer.hasEnded.value)
  }

  @Test func `moving or closing a window that is closed does nothing`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(2))
    bench.page()
    bench.tell { machine in
      machine.closeWindow(viewer.id)
      machine.closeWindow(viewer.id)
      machine.moveWindow(viewer.id, to: .newest(50))
      machine.closeWindow(WindowID(77))
    }
    #expect(bench.source.pagesAsked.count == 1)
  }
}

/// Tests windows while the machine itself changes: new generations, the background, stop and
/// log-out.
@Suite struct DriverWindowLifeTests {
  @Test(arguments: [true, false])
  func `losing the finger ends every fetch, and the next generation repeats it`(
    endsWhenCancelled: Bool
  ) {
    let (bench, _) = PageBench.following(endsWhenCancelled: endsWhenCancelled)
    let held = bench.look(PageBench.a, .newest(2))
    held.follow()
    bench.page()
    let waiting = bench.look(PageBench.b, .newest(2))
    waiting.follow()
    let old = bench.source.pagesOut[0]
    bench.failPoll(.expired)
    #expect(bench.source.pagesOut.allSatisfy { $0.isCancelled })
    #expect(bench.source.pagesAsked.count >= 2)
    let before = bench.source.pagesAsked.count
    bench.advance(.seconds(5))
    #expect(bench.source.pagesAsked.count == before, "no page is fetched without a finger")
    bench.register()
    #expect(held.rows.last == "(990) (1000) gap", "former rows are shown as former")
    let asked = bench.source.pagesOut.filter { !$0.isCancelled }
    #expect(asked.map(\.ask.request?.narrow) == [PageBench.a, PageBench.b])
    // The page of the old generation comes last of all.
    bench.source.answer(old.number, .page(MessagePage(messages: [], foundOldest: true)))
    for call in asked {
      bench.source.answer(call.number, .page(bench.page(call.ask.request!)))
    }
    bench.drain()
    #expect(held.rows.last == "990 1000")
    #expect(waiting.rows.last == "991 1001")
  }

  @Test(arguments: [true, false])
  func `stop ends fetches, and the next run repeats them`(endsWhenCancelled: Bool) {
    let (bench, run) = PageBench.following(endsWhenCancelled: endsWhenCancelled)
    let viewer = bench.look(PageBench.a, .newest(2))
    bench.tell { $0.stop() }
    #expect(run.isOver.value == endsWhenCancelled)
    for call in bench.source.open {
      #expect(call.isCancelled)
      let page = bench.page(PageRequest(PageBench.a, .newest, before: 2, after: 0))
      bench.source.answer(call.number, call.ask.request == nil ? .failure(.timedOut) : .page(page))
    }
    bench.drain()
    #expect(run.isOver.value)
    bench.expectNothingPending()
    #expect(bench.read { $0.client.model?.lists.count } == 0)
    bench.advance(.minutes(5))
    bench.expectNothingPending()
    bench.start { await $0.run() }
    bench.drain()
    #expect(bench.asked == ["about newest, 2 before, 0 after"])
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "990 1000")
  }

  @Test func `log-out ends fetches and empties all windows`() {
    let (bench, run) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(2))
    viewer.follow()
    bench.page()
    bench.tell { $0.moveWindow(viewer.id, to: .newest(9)) }
    #expect(bench.source.pagesOut.count == 1)
    let logOut = bench.start { try? await $0.logOut() }
    bench.drain()
    #expect(bench.source.pagesOut.isEmpty)
    for call in bench.source.open { bench.source.answer(call.number, .done) }
    bench.drain()
    #expect(logOut.isOver.value)
    #expect(run.isOver.value)
    #expect(viewer.rows.last == "gap")
    bench.expectNothingPending()
  }

  @Test func `cancelling run ends fetches, and the source's errors are no failures`() {
    let (bench, run) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(2))
    run.task.cancel()
    bench.drain()
    #expect(run.isOver.value)
    #expect(bench.reports.value == [])
    bench.expectNothingPending()
    bench.start { await $0.run() }
    bench.drain()
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "990 1000")
  }

  @Test func `windows fetch nothing in the background, and are filled back in the foreground`() {
    let (bench, _) = PageBench.following()
    let viewer = bench.look(PageBench.a, .newest(2))
    bench.tell { $0.enterBackground() }
    #expect(bench.source.pagesOut.isEmpty)
    bench.advance(.minutes(10))
    #expect(bench.source.pagesAsked.count == 1)
    bench.tell { $0.enterForeground() }
    #expect(bench.source.pagesOut.count == 1)
    bench.page()
    #expect(viewer.next().map(Viewer.words) == "990 1000")
  }

  @Test func `going live again fetches only what open windows lack`() {
    let (bench, _) = PageBench.following()
    for index in 0..<50 {
      let viewer = bench.look(index % 2 == 0 ? PageBench.a : PageBench.b, .newest(2))
      while !bench.source.pagesOut.isEmpty { bench.page() }
      viewer.leave()
    }
    let open = bench.look(PageBench.b, .newest(2))
    let before = bench.source.pagesAsked.count
    #expect(before == 2, "held messages are not fetched")
    bench.failPoll(.expired)
    bench.advance(.seconds(5))
    bench.register()
    #expect(bench.source.pagesOut.map(\.ask.request?.narrow) == [PageBench.b])
    bench.page()
    bench.advance(.minutes(1))
    #expect(bench.source.pagesAsked.count == before + 1)
    #expect(open.next().map(Viewer.words) == "991 1001")
  }

  @Test(arguments: [true, false], [nil, 1, 2, 3] as [UInt64?])
  func `a run with windows, cancelled after any number of steps, leaves nothing behind`(
    endsWhenCancelled: Bool, seed: UInt64?
  ) {
    for steps in 0..<120 {
      let (bench, run) = PageBench.following(endsWhenCancelled: endsWhenCancelled, seed: seed)
      let views = Box<[WindowViews<MessageStore<ShelfNarrow>>]>([])
      bench.start { machine in
        let first = await machine.openWindow(on: PageBench.a, showing: .newest(5))
        let second = await machine.openWindow(on: PageBench.b, showing: .newest(5))
        views.value = [first]
        await machine.moveWindow(second.id, to: ListWindow(.oldest, before: 0, after: 5))
      }
      for _ in 0..<steps {
        if bench.executor.step() { continue }
        guard let call = bench.source.pagesOut.first(where: { !$0.isCancelled }) else { break }
        bench.source.answer(call.number, .page(bench.page(call.ask.request!)))
      }
      if steps % 2 == 0 { run.task.cancel() } else { bench.start { await $0.stop() } }
      bench.drain()
      for call in bench.source.open {
        #expect(call.isCancelled, "after \(steps) steps")
        bench.source.answer(call.number, .failure(.unreachable))
      }
      bench.drain()
      #expect(run.isOver.value, "after \(steps) steps")
      bench.expectNothingPending("after \(steps) steps")
      let asked = bench.source.pagesAsked.count
      bench.advance(.minutes(2))
      #expect(bench.source.pagesAsked.count == asked, "after \(steps) steps")
    }
  }
}
