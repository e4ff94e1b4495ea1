import Testing

@testable import UpdateMachine

/// Tests a server that makes no progress, and readers who wait for what never comes, on the actor.
@Suite struct DriverTrustTests {
  private struct Value: ViewQuery {
    var key: String
    func answer(in board: Board) -> Int64? { board.values[key] }
  }

  @Test func `bug 75: mutations are sent again while the confirmed state does not advance`() {
    let (bench, _) = MutationBench.following()
    let ticket = bench.ticket(.set("a", 1))
    // The server accepts the push, and forgets it.
    bench.answer(.pushed(.accepted)) { $0.push != nil }
    let told = bench.awaitAcknowledged(ticket)
    for _ in 0..<10 {
      if bench.source.open.contains(where: { $0.isPoll }) { bench.answerPoll() }
      bench.advance(.seconds(2))
    }
    #expect(told.value == nil)
    #expect(bench.state(of: ticket) == .sent)
    #expect(bench.state.pending.count == 1)
    #expect(bench.values == ["a": 1])
    #expect(bench.pushes == [["1 set"]], "it is given some time")
    bench.advance(.seconds(30))
    #expect(bench.pushes == [["1 set"], ["1 set"]])
    bench.serve()
    #expect(told.value == .acknowledged)
    #expect(bench.server.ran == ["set"])
  }

  @Test func `bug 75: a finger that does not advance is polled at the pace, and drops nothing`() {
    let (bench, _) = MutationBench.following()
    let ticket = bench.ticket(.set("a", 1))
    bench.answerPush()
    let polls = bench.source.all.count { $0.isPoll }
    for _ in 0..<200 {
      let old = BoardBatch(first: 1, events: [BoardNews(board: Board())])
      if let poll = bench.source.open.last(where: { $0.isPoll }) {
        bench.source.answer(poll, .batch(old))
      }
      bench.advance(.milliseconds(100))
    }
    #expect(bench.source.all.count { $0.isPoll } - polls < 40, "in 20 s")
    #expect(bench.state(of: ticket) == .sent)
    #expect(bench.values == ["a": 1])
    bench.advance(.seconds(10))
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
    #expect(bench.server.ran == ["set"])
  }

  @Test func `a subscription from before the first state ends with a log-out`() {
    let bench = MutationBench()
    let looking = bench.start { machine in
      for await _ in await machine.changes(of: Value(key: "a")) {}
    }
    bench.drain()
    #expect(!looking.isOver.value)
    bench.start { try? await $0.logOut() }
    bench.drain()
    #expect(looking.isOver.value)
    bench.expectNothingPending()
  }

  @Test func `a subscription ends with a log-out during the first register`() {
    let bench = MutationBench()
    let run = bench.start { await $0.run() }
    let looking = bench.start { machine in
      for await _ in await machine.changes(of: Value(key: "a")) {}
    }
    bench.drain()
    bench.start { try? await $0.logOut() }
    bench.drain()
    #expect(run.isOver.value)
    #expect(looking.isOver.value)
  }

  @Test func `readers that leave are forgotten in any state`() {
    let (bench, _) = MutationBench.following()
    bench.answer(.failure(.unreachable)) { $0.isPoll }
    let ticket = bench.ticket(.set("a", 1))
    let waiting = (0..<20).map { _ in
      bench.start { _ = await $0.acknowledged(ticket) }
    }
    bench.drain()
    for task in waiting { task.task.cancel() }
    bench.drain()
    #expect(waiting.allSatisfy { $0.isOver.value })
    weak let machine = bench.machine
    bench.start { await $0.stop() }
    bench.drain()
    bench.machine = nil
    bench.drain()
    #expect(machine == nil, "nothing holds it")
  }
}
