import TestSupport
import Testing

@testable import UpdateMachine

/// Tests local changes on the actor: what is seen, stored and sent, and who is told.
@Suite struct DriverMutationTests {
  // MARK: The two awaits

  @Test func `a change is seen at once, stored offline, and acknowledged by the log`() throws {
    let (bench, _) = MutationBench.following()
    let mutated = try bench.mutate(.reserve(9, by: "me")).get()
    #expect(mutated.value == "RESERVED")
    #expect(bench.state.view?.hours[9] == "me")
    #expect(bench.state.pending.count == 1)
    let stored = bench.awaitStored(mutated.ticket)
    let acknowledged = bench.awaitAcknowledged(mutated.ticket)
    #expect(stored.value == true)
    #expect(
      bench.store?.stored?.outbox?.pending.map(\.stage) == [.marked(MutationID(1))])
    #expect(bench.pushes == [["1 reserve"]])
    bench.answerPush()
    #expect(acknowledged.value == nil, "the answer to a push acknowledges nothing")
    #expect(bench.state(of: mutated.ticket) == .sent)
    bench.answerPoll()
    #expect(acknowledged.value == .acknowledged)
    #expect(bench.state.pending.isEmpty)
    #expect(bench.state.view?.hours[9] == "me")
    #expect(bench.server.ran == ["reserve"])
  }

  @Test func `a push comes with the confirmed state, without what is pending`() {
    let (bench, _) = MutationBench.following()
    _ = bench.ticket(.set("a", 1))
    bench.answerPush()
    bench.answerPoll()
    _ = bench.ticket(.set("b", 2))
    #expect(bench.source.pushedOver.map { $0?.values } == [[:], ["a": 1]])
  }

  @Test func `bug 77: a change made offline is stored at once and acknowledged later`() {
    let (bench, _) = MutationBench.following()
    bench.answer(.failure(.unreachable)) { $0.isPoll }
    let ticket = bench.ticket(.set("a", 1))
    let stored = bench.awaitStored(ticket)
    let acknowledged = bench.awaitAcknowledged(ticket)
    #expect(stored.value == true)
    for _ in 0..<5 {
      bench.failPush(.unreachable, hasLeft: false)
      bench.advance(.seconds(10))
    }
    #expect(bench.values == ["a": 1])
    #expect(acknowledged.value == nil)
    bench.serve()
    #expect(acknowledged.value == .acknowledged)
    #expect(bench.server.ran == ["set"])
  }

  @Test func `no change is taken before a state is held`() {
    let bench = MutationBench()
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try bench.mutate(.set("a", 1)).get()
    }
    bench.start { await $0.run() }
    #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try bench.mutate(.set("a", 1)).get()
    }
    #expect(bench.awaitStored(MutationTicket(1)).value == false)
    #expect(bench.awaitAcknowledged(MutationTicket(1)).value == .some(nil))
    bench.serve()
    #expect(throws: MutationError.refused(BoardChange.Refusal.missing)) {
      try bench.mutate(.add("a", 1)).get()
    }
    #expect(throws: Never.self) { try bench.mutate(.set("a", 1)).get() }
  }

  @Test func `a change without a store counts as stored at once, and is sent`() {
    let (bench, _) = MutationBench.following(store: nil)
    let ticket = bench.ticket(.set("a", 1))
    #expect(bench.awaitStored(ticket).value == true)
    #expect(bench.pushes == [["1 set"]])
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
  }

  private func driver<Origin: SyncSource>(of source: Origin) -> UpdateMachine<Origin> {
    UpdateMachine(source: source)
  }

  @Test func `a driver can be made on any actor`() async {
    let machine = driver(of: PushScript(terms: testTerms))
    await #expect(throws: MutationError<BoardChange.Refusal>.nothingHeld) {
      try await machine.mutate(.set("a", 1))
    }
  }

  @Test func `a task that waits can be cancelled`() {
    let (bench, _) = MutationBench.following()
    let ticket = bench.ticket(.set("a", 1))
    let told = Box<MutationState??>(nil)
    let waiting = bench.start { told.value = .some(await $0.acknowledged(ticket)) }
    bench.drain()
    #expect(told.value == nil)
    waiting.task.cancel()
    bench.drain()
    #expect(told.value == .some(nil))
  }

  // MARK: Whatever goes on

  @Test func `a change made while stale, halted or in the background is sent later`() {
    let (bench, _) = MutationBench.following()
    bench.tell { $0.enterBackground() }
    #expect(bench.awaitStored(bench.ticket(.set("background", 1))).value == true)
    #expect(bench.pushes.isEmpty)
    bench.tell { $0.enterForeground() }
    bench.answer(.failure(.unauthorized)) { $0.isPoll }
    #expect(bench.state.status == .halted(.credentials))
    #expect(bench.awaitStored(bench.ticket(.set("halted", 2))).value == true)
    bench.failPush(.unauthorized)
    bench.advance(.minutes(5))
    #expect(bench.push() == nil, "only the app can go on")
    bench.tell { $0.credentialsChanged() }
    bench.drain()
    #expect(bench.push() != nil)
    bench.expire()
    #expect(bench.state.model != nil && bench.read { $0.client.finger } == nil)
    #expect(bench.awaitStored(bench.ticket(.set("stale", 3))).value == true)
    bench.advance(.seconds(10))
    bench.serve()
    #expect(bench.server.board.values == ["background": 1, "halted": 2, "stale": 3])
    #expect(bench.state.pending.isEmpty)
    #expect(bench.server.ran.count == 3)
  }

  @Test func `bugs 28 and 72: a new snapshot keeps sent and waiting mutations`() {
    let (bench, _) = MutationBench.following()
    let sent = bench.ticket(.set("sent", 1))
    bench.drain()
    let waits = bench.ticket(.set("waits", 2))
    bench.answer(.batch(BoardBatch(first: 99, events: [bench.server.news]))) { $0.isPoll }
    bench.server.spot = Spot("b", 0)
    bench.server.board.values["other"] = 3
    bench.advance(.seconds(2))
    bench.answer(.snapshot(bench.server.news, bench.server.spot)) { $0.isRegister }
    #expect(bench.values == ["other": 3, "sent": 1, "waits": 2])
    #expect(bench.push()?.isCancelled == false)
    bench.serve()
    #expect(bench.state(of: sent) == .acknowledged)
    #expect(bench.state(of: waits) == .acknowledged)
    #expect(bench.server.ran == ["set", "set"])
  }

  @Test func `bug 62: a mutator that throws in replay does not stop incoming events`() {
    let (bench, _) = MutationBench.following(
      server: BoardServer(board: Board(["a": 1, "b": 1])))
    _ = bench.ticket(.set("c", 1))
    #expect(bench.push() != nil, "so the others wait")
    let throwing = bench.ticket(.add("a", 1))
    let after = bench.ticket(.add("b", 1))
    bench.server.board.values["a"] = nil
    bench.answerPoll()
    #expect(bench.values == ["b": 2, "c": 1])
    #expect(bench.state.setAside.map(\.reason) == [.threw(.missing)])
    #expect(bench.awaitAcknowledged(throwing).value == .setAside)
    bench.server.board.values["d"] = 5
    bench.answerPoll()
    #expect(bench.values == ["b": 2, "c": 1, "d": 5])
    bench.answerPush()
    bench.advance(.seconds(1))
    #expect(bench.pushes.last == ["2 add"], "it holds nothing up")
    #expect(bench.read { $0.discard(throwing) })
    bench.serve()
    #expect(bench.state(of: throwing) == .discarded)
    #expect(bench.state(of: after) == .acknowledged)
  }

  @Test func `bug 63: a change made during a push is pushed after it`() {
    let (bench, _) = MutationBench.following()
    _ = bench.ticket(.set("a", 1))
    #expect(bench.pushes == [["1 set"]])
    let second = bench.ticket(.set("b", 2))
    #expect(bench.pushes.count == 1, "one push at a time")
    bench.answerPush()
    bench.advance(.milliseconds(400))
    #expect(bench.pushes == [["1 set"], ["2 set"]])
    bench.serve()
    #expect(bench.state(of: second) == .acknowledged)
  }

  @Test func `bug 65: failed and lost pushes are repeated until one succeeds`() {
    let (bench, _) = MutationBench.following()
    let ticket = bench.ticket(.set("a", 1))
    let failures: [SyncFailure] = [
      .serverFault, .rateLimited(after: .seconds(3)), .malformed, .expired, .timedOut,
    ]
    for failure in failures {
      bench.failPush(failure)
      bench.advance(.minutes(2))
    }
    bench.advance(.minutes(10))  // The deadline of an unanswered push passes.
    #expect(bench.source.all.contains { $0.push != nil && $0.isCancelled })
    bench.serve()
    #expect(bench.state(of: ticket) == .acknowledged)
    #expect(bench.server.ran == ["set"])
  }

  @Test func `a client that pushes first polls after an answered push`() {
    var terms = testTerms
    terms.cadence = .every(.seconds(60))
    let (bench, _) = MutationBench.following(terms: terms)
    bench.advance(.seconds(5))
    #expect(bench.source.open.isEmpty, "the next poll is due in a minute")
    let ticket = bench.ticket(.set("a", 1))
    #expect(bench.source.open.map(\.isPoll) == [false], "push comes before pull")
    bench.answerPush()
    bench.answerPoll()
    #expect(bench.state(of: ticket) == .acknowledged)
    #expect(bench.source.open.isEmpty)
  }

  @Test func `an answer to a push does not affect an open poll`() {
    let (bench, _) = MutationBench.following()
    let before = bench.source.all.count
    _ = bench.ticket(.set("a", 1))
    bench.answerPush()
    #expect(bench.source.all.count == before + 1)
    #expect(bench.source.open.map(\.isPoll) == [true])
    #expect(!bench.source.all.contains { $0.isPoll && $0.isCancelled })
  }

  // MARK: Refusals

  @Test func `a refused mutation stays set aside until the app decides`() {
    let (bench, _) = MutationBench.following(server: BoardServer(refuses: ["reserve"]))
    let ticket = bench.ticket(.reserve(9, by: "me"))
    let other = bench.ticket(.set("a", 1))
    let told = bench.awaitAcknowledged(ticket)
    bench.serve()
    #expect(told.value == .setAside)
    #expect(bench.state.setAside.map(\.ticket) == [ticket])
    #expect(bench.state.setAside.map(\.reason) == [.refused(RejectionCode("NO"))])
    #expect(bench.state.view?.hours[9] == nil)
    #expect(bench.state(of: other) == .queued, "nothing overtakes it")

    #expect(bench.read { $0.retry(ticket) })
    #expect(bench.state.view?.hours[9] == "me")
    bench.serve()
    #expect(bench.state(of: ticket) == .setAside)

    #expect(bench.read { $0.edit(ticket, to: .set("b", 2)) })
    let again = bench.awaitAcknowledged(ticket)
    bench.serve()
    #expect(again.value == .acknowledged)
    #expect(bench.state(of: other) == .acknowledged)
    #expect(bench.server.board.values == ["a": 1, "b": 2])

    let third = bench.ticket(.reserve(10, by: "me"))
    bench.serve()
    #expect(bench.read { $0.discard(third) })
    #expect(bench.awaitAcknowledged(third).value == .discarded)
    #expect(bench.awaitStored(third).value == true)
    #expect(!bench.read { $0.retry(third) }, "the mutation is gone")
    #expect(!bench.read { $0.discard(other) }, "the mutation is confirmed")
    #expect(bench.state.setAside.isEmpty)
  }

  // MARK: Subscriptions

  private struct Hour: ViewQuery {
    var hour: Int64
    func answer(in board: Board) -> String { board.hours[hour] ?? "free" }
  }

  @Test func `a subscription fires once, and then only when its answer changes`() {
    let bench = MutationBench()
    let answers = Box<[String]>([])
    let hasEnded = bench.start { machine in
      for await answer in await machine.changes(of: Hour(hour: 9)) {
        answers.change { $0.append(answer) }
      }
    }
    bench.drain()
    #expect(answers.value == [], "there is no view yet")
    bench.start { await $0.run() }
    bench.serve()
    #expect(answers.value == ["free"])
    _ = bench.ticket(.reserve(8, by: "me"))
    bench.serve()
    #expect(answers.value == ["free"])
    _ = bench.ticket(.reserve(9, by: "me"))
    #expect(answers.value == ["free", "me"])
    bench.serve()
    #expect(answers.value == ["free", "me"], "confirming it changes nothing")
    bench.server.board.hours[9] = "Ada"
    bench.answerPoll()
    #expect(answers.value == ["free", "me", "Ada"])
    bench.start { try? await $0.logOut() }
    bench.serve()
    #expect(hasEnded.isOver.value)
  }

  @Test func `a slow reader skips answers, and never gets one twice in a row`() {
    let (bench, _) = MutationBench.following()
    let places = Box(Places(answers: bench.read { $0.changes(of: Hour(hour: 9)) }))
    let seen = Box<[String]>([])
    let ask = {
      bench.start { _ in
        var now = places.value
        if now.iterator == nil { now.iterator = now.answers.makeAsyncIterator() }
        if let answer = await now.iterator?.next() { seen.change { $0.append(answer) } }
        places.value = now
      }
      bench.drain()
    }
    ask()
    #expect(seen.value == ["free"])
    bench.server.board.hours[9] = "Ada"
    bench.answerPoll()
    bench.server.board.hours[9] = nil
    bench.answerPoll()
    ask()
    #expect(seen.value == ["free"], "the hour is free again, as the reader knows")
    bench.server.board.hours[9] = "Bob"
    bench.answerPoll()
    #expect(seen.value == ["free", "Bob"])
  }

  /// An iterator that a test hands from one of its tasks to the next, one at a time.
  private struct Places: @unchecked Sendable {
    var answers: ViewAnswers<String>
    var iterator: ViewAnswers<String>.Iterator?
  }
}
