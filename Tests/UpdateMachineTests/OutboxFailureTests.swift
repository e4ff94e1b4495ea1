import TestSupport
import Testing
import UpdateMachine

@Suite struct OutboxFailureTests {
  // MARK: The failure table

  @Test(arguments: [
    (SyncFailure.unreachable, ["disarm 1", "arm 2 in (0, 0.1 s]"]),
    (.timedOut, ["disarm 1", "arm 2 in (0, 0.1 s]"]),
    (.serverFault, ["disarm 1", "arm 2 in (0, 0.1 s]"]),
    (.rateLimited(after: .seconds(20)), ["disarm 1", "arm 2 in [20 s, 22 s]"]),
    (.rateLimited(after: .minutes(60)), ["disarm 1", "arm 2 in [600 s, 660 s]"]),
    (.rateLimited(after: nil), ["disarm 1", "arm 2 in [0.1 s, 0.2 s]"]),
    (.malformed, ["disarm 1", "report malformed", "arm 2 in (0, 1 s]"]),
    (.expired, ["disarm 1", "report expired", "arm 2 in (0, 1 s]"]),
    (.modelRefused, ["disarm 1", "report modelRefused", "arm 2 in (0, 1 s]"]),
    (.unauthorized, ["disarm 1"]),
    (.unsupported, ["disarm 1"]),
  ])
  func `a failed push waits as the machine does, and repeats the same push`(
    failure: SyncFailure, effects: [String]
  ) throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    #expect(desk.fail(failure) == effects)
    #expect(desk.stages == ["#1 set sent 1"])
    desk.pass(.minutes(11))
    if desk.box.status == .halted(.credentials) {
      #expect(desk.feed(.networkChanged) == [])
      #expect(desk.feed(.credentialsChanged).first == "push 2: 1 set")
    } else if desk.box.status == .halted(.unsupported) {
      #expect(desk.feed(.credentialsChanged) == [])
      #expect(desk.feed(.retryRequested).first == "push 2: 1 set")
    } else {
      #expect(desk.fire().first == "push 2: 1 set")
    }
  }

  @Test func `waits double, and an answer makes them short again`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    var waits: [String] = []
    for _ in 1...8 {
      waits.append(desk.fail(.serverFault).last ?? "")
      desk.pass(.seconds(10))
      desk.fire()
    }
    let ends = ["0.1 s]", "0.2 s]", "0.4 s]", "0.8 s]", "1.6 s]", "3.2 s]", "6.4 s]", "10 s]"]
    #expect(waits.map { $0.split(separator: ", ").last.map(String.init) } == ends)
    desk.answer()
    _ = try desk.send(.set("b", 1))
    #expect(desk.fail(.serverFault).last?.hasSuffix("(0, 0.1 s]") == true)
  }

  @Test func `a push has a deadline, which grows`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.pass(.seconds(30))
    #expect(desk.fire() == ["cancel 1", "arm 2 in (0, 0.1 s]"])
    desk.pass(.milliseconds(100))
    #expect(desk.fire() == ["push 2: 1 set", "arm 3 in 60 s"])
  }

  @Test func `a deadline that was slept through is no failure`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.pass(.minutes(60))
    #expect(desk.fire() == ["cancel 1", "push 2: 1 set", "arm 2 in 30 s"])
  }

  @Test func `wakes shorten our own waits within a budget, never the server's`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    for _ in 1...3 {
      desk.fail(.unreachable)
      #expect(desk.feed(.networkChanged).contains { $0.hasPrefix("push") })
    }
    desk.fail(.unreachable)
    #expect(desk.feed(.networkChanged) == [])
    #expect(desk.feed(.foregrounded) == [])
    desk.pass(.seconds(30))
    desk.fire()
    desk.fail(.rateLimited(after: .seconds(60)))
    #expect(desk.feed(.retryRequested) == ["disarm 10", "arm 11 in 60 s"])
    #expect(desk.box.status == .pausing)
  }

  @Test func `another network does not cut a slow wait`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.fail(.malformed)
    #expect(desk.feed(.networkChanged) == [])
    #expect(desk.feed(.retryRequested).contains { $0.hasPrefix("push") })
  }

  // MARK: Background, stop

  @Test func `an open push may finish in the background, and nothing more is sent`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    #expect(desk.feed(.backgrounded) == [])
    _ = try desk.send(.set("b", 1))
    #expect(desk.answer() == ["disarm 1"])
    #expect(desk.box.status == .resting)
    #expect(desk.box.count == 2)
    desk.feed(.foregrounded)
    desk.save()
    #expect(desk.pushed == [2])
  }

  @Test func `the background drops a wait, but does not forget a slow one`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.fail(.malformed)
    for _ in 1...3 {  // These three returns are paid for; a fourth would not be.
      #expect(desk.feed(.backgrounded).count == 1)
      #expect(desk.feed(.foregrounded).first?.hasPrefix("push") == true)
      desk.fail(.malformed)
    }
    desk.feed(.backgrounded)
    #expect(desk.feed(.foregrounded).first?.hasPrefix("arm") == true)
  }

  @Test func `an outbox sends and loses nothing before the start and after a stop`() throws {
    var desk = Desk()
    _ = try desk.send(.set("a", 1))
    #expect(desk.heard == ["persist v1"])
    desk.feed(.started(foreground: true))
    desk.save()
    #expect(desk.feed(.stopped) == ["cancel 1", "disarm 1"])
    #expect(desk.box.status == .halted(.stopped))
    #expect(desk.feed(.answered(desk.push!.id, .accepted)) == [])
    #expect(desk.feed(.foregrounded) == [])
    #expect(desk.feed(.retryRequested) == [])
    #expect(desk.stages == ["#1 set sent 1"])
    #expect(desk.feed(.started(foreground: true)).first == "push 2: 1 set")
  }

  @Test func `a protocol that wants to be up to date first holds pushes back`() throws {
    var desk = Desk.started()
    desk.feed(.heldBack(true))
    _ = try desk.send(.set("a", 1))
    #expect(desk.push == nil)
    #expect(desk.box.block == .heldBack)
    desk.feed(.heldBack(false))
    desk.save()
    #expect(desk.pushed == [1])
  }

  @Test func `late answers are absorbed`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    let first = desk.push!.id
    desk.fail(.unreachable)
    desk.pass(.seconds(1))
    desk.fire()
    let before = desk.box
    desk.feed(.answered(first, .accepted))
    desk.feed(.failed(first, .rejected(.none), hasLeft: true))
    desk.feed(.fired(TimerID(part: .outbox, 1)))
    #expect(desk.box == before)
    // An answer to an earlier incarnation's push with the same number does not count either.
    desk.feed(
      .answered(RequestID(incarnation: Incarnation(9), number: desk.push!.id.number), .accepted))
    #expect(desk.box == before)
  }

  // MARK: Restart

  @Test func `a mutation that may have left before a restart is sent again under its ID`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    try desk.mutate(.set("b", 2))
    desk.disk = desk.box
    desk.restart()
    #expect(desk.stages == ["#1 set sent 1", "#2 set marked 2"])
    #expect(desk.pushed == [1])  // The other is sent once its mark is durable.
    desk.answer()
    desk.save()
    #expect(desk.pushed == [2])
  }

  @Test func `a mutation accepted before a restart is sent again`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    desk.answer()
    desk.disk = desk.box
    desk.restart()
    #expect(desk.pushed == [1])
    #expect(desk.push?.id.incarnation == Incarnation(2))
  }

  @Test func `a mutation is not sent after a restart before it has been replayed`() throws {
    var desk = Desk(Board(["a": 1]))
    let ticket = try desk.mutate(.add("a", 1))
    var box = desk.box
    box.restored()
    #expect(box.handle(.started(foreground: true), at: desk.now).isEmpty)
    var view = LocalView<BoardChange>(of: Board())
    #expect(box.replay(&view, at: desk.now).isEmpty)  // It now throws.
    #expect(box.block == .threw(ticket))
    #expect(box.violation() == nil)
  }
}
