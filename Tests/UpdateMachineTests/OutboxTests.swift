import TestSupport
import Testing
import UpdateMachine

@Suite struct OutboxTests {
  // MARK: From the app to the server

  @Test func `a mutation is stored, sent, accepted and acknowledged, in this order`() throws {
    var desk = Desk.started()
    let ticket = try desk.mutate(.set("a", 1))
    #expect(desk.heard == ["persist v2"])
    #expect(desk.view.state == Board(["a": 1]))
    #expect(!desk.box.isStored(ticket))
    #expect(desk.state(ticket) == .queued)

    #expect(desk.save() == ["push 1: 1 set", "arm 1 in 30 s"])
    #expect(desk.state(ticket) == .sent)
    #expect(desk.box.isStored(ticket))
    #expect(desk.answer() == ["disarm 1", "arm 2 in 30 s"])
    #expect(desk.state(ticket) == .sent)
    #expect(desk.confirm(Board(["a": 1]), through: 1) == ["disarm 2"])
    #expect(desk.state(ticket) == .acknowledged)
    #expect(desk.box.isEmpty)
  }

  @Test func `a mutation is not sent before it is durable`() throws {
    var desk = Desk.started()
    try desk.mutate(.set("a", 1))
    let before = desk.box.currentVersion
    desk.save()
    desk.answer()
    try desk.mutate(.set("b", 2))
    let pushes = desk.box.handle(.stored(upTo: before), at: desk.now)
    #expect(pushes.push == nil)
    #expect(desk.box.status == .storing)
    desk.save()
    #expect(desk.pushed == [2])
  }

  @Test func `an outbox without a store sends at once`() throws {
    var settings = OutboxSettings()
    settings.machine.isDurable = false
    var desk = Desk.started(settings: settings)
    let ticket = try desk.mutate(.set("a", 1))
    #expect(desk.heard == ["push 1: 1 set", "arm 1 in 30 s"])
    #expect(desk.box.isStored(ticket))
  }

  @Test func `mutations made during a push are in the next one, in order`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    _ = try desk.send(.set("b", 2), .set("c", 3))
    #expect(desk.pushed == [1])
    desk.answer()
    desk.save()
    #expect(desk.pushed == [2, 3])
  }

  @Test func `accepted mutations that are not confirmed are resent with growing waits`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    #expect(desk.answer() == ["disarm 1", "arm 2 in 30 s"])
    desk.pass(.seconds(30))
    #expect(desk.fire() == ["push 2: 1 set", "arm 3 in 30 s"])
    #expect(desk.answer() == ["disarm 3", "arm 4 in 60 s"])
    // A change made meanwhile is sent alone, and does not delay the other.
    desk.pass(.seconds(10))
    _ = try desk.send(.set("b", 1))
    #expect(desk.pushed == [2])
    #expect(desk.answer().last == "arm 6 in 50 s")
  }

  @Test func `a push has at most the configured number of mutations`() throws {
    var settings = OutboxSettings()
    settings.batchMaximum = 2
    var desk = Desk.started(settings: settings)
    _ = try desk.send(.set("a", 1))
    for value in 0..<5 as Range<Int64> { try desk.mutate(.add("a", value)) }
    desk.save()
    desk.answer()
    desk.save()
    #expect(desk.pushed == [2, 3])
    desk.answer()
    desk.save()
    #expect(desk.pushed == [4, 5])
    desk.answer()
    desk.save()
    #expect(desk.pushed == [6])
  }

  @Test func `pushes keep the pace whatever the server does`() throws {
    var desk = Desk.started()
    try desk.mutate(.set("a", 0))
    for round in 1...11 as ClosedRange<UInt64> {
      desk.save()
      #expect(desk.pushed == [round])
      desk.answer()
      try desk.mutate(.add("a", 1))
    }
    #expect(desk.box.status == .pausing)
    #expect(desk.feed(.retryRequested) == [])
    desk.pass(.milliseconds(400))
    desk.fire()
    desk.save()
    #expect(desk.pushed == [12])
  }

  // MARK: Bounds

  @Test func `a full outbox throws and loses nothing`() throws {
    var settings = OutboxSettings()
    settings.pendingMaximum = 2
    var desk = Desk(settings: settings)
    try desk.mutate(.set("a", 1))
    try desk.mutate(.set("b", 2))
    let before = (desk.box, desk.view.state)
    #expect(throws: MutationError<BoardChange.Refusal>.full) { try desk.mutate(.set("c", 3)) }
    #expect(desk.box == before.0)
    #expect(desk.view.state == before.1)
    try desk.mutate(.set("b", 3))  // It is coalesced, so it takes no extra place.
    #expect(desk.box.count == 2)
  }

  @Test func `size is bounded in the app's own measure`() throws {
    var settings = OutboxSettings()
    settings.sizeMaximum = 25
    var desk = Desk(settings: settings)
    try desk.mutate(.set("a", 1))
    let second = try desk.mutate(.set("b", 2))
    #expect(throws: MutationError<BoardChange.Refusal>.full) { try desk.mutate(.set("c", 3)) }
    desk.feed(.discarded(second))
    try desk.mutate(.set("c", 3))
    #expect(desk.box.violation() == nil)
  }

  @Test func `a mutation that throws when it is made is not queued`() throws {
    var desk = Desk.started()
    #expect(throws: MutationError.refused(BoardChange.Refusal.missing)) {
      try desk.mutate(.add("none", 1))
    }
    #expect(desk.box.isEmpty)
    #expect(desk.heard == [])
    #expect(desk.box.newestTicket == MutationTicket(0))
  }

  // MARK: Coalescing

  @Test func `two unsent mutations coalesce into one, and resolve together`() throws {
    var desk = Desk()
    let first = try desk.mutate(.set("a", 1))
    let second = try desk.mutate(.set("a", 2))
    #expect(desk.stages == ["#1–2 set unsent"])
    desk.feed(.started(foreground: true))
    desk.save()
    #expect(desk.push?.mutations.map(\.change) == [.set("a", 2)])
    #expect(desk.state(first) == .sent)
    desk.confirm(Board(["a": 2]), through: 1)
    #expect(desk.state(first) == .acknowledged)
    #expect(desk.state(second) == .acknowledged)
  }

  @Test func `coalescing never involves a mutation that may have left`() throws {
    var desk = Desk.started()
    _ = try desk.send(.set("a", 1))
    try desk.mutate(.set("a", 2))
    #expect(desk.stages == ["#1 set marked 1", "#2 set unsent"])
    desk.fail(.unreachable)
    try desk.mutate(.set("a", 3))
    #expect(desk.stages == ["#1 set sent 1", "#2–3 set unsent"])
  }

  @Test func `a mutation coalesces only with its predecessor, and not with one that throws`() throws
  {
    var desk = Desk(Board(["n": 0]))
    try desk.mutate(.set("a", 1))
    let between = try desk.mutate(.set("b", 1))
    try desk.mutate(.set("a", 2))
    #expect(desk.box.count == 3)
    desk.feed(.discarded(MutationTicket(3)))
    desk.feed(.discarded(between))
    try desk.mutate(.set("a", 4))  // Tickets 2 and 3 lie between.
    #expect(desk.stages == ["#1 set unsent", "#4 set unsent"])
    #expect(desk.state(between) == .discarded)
  }

  // MARK: What never left

  @Test func `an unsent mutation can be edited and discarded`() throws {
    var desk = Desk.started(Board(["n": 0]))
    let first = try desk.send(.set("a", 1))[0]
    let second = try desk.mutate(.set("b", 2))
    let third = try desk.mutate(.add("n", 1))
    #expect(desk.pushed == [1])
    #expect(!desk.box.canDiscard(first) && !desk.box.canEdit(first))
    #expect(desk.box.canDiscard(second) && desk.box.canEdit(third))
    desk.feed(.discarded(second))
    desk.feed(.edited(third, .add("n", 5)))
    desk.feed(.discarded(first))  // It is too late, and is absorbed.
    #expect(desk.view.state == Board(["a": 1, "n": 5]))
    desk.answer()
    desk.save()
    #expect(desk.pushed == [2])
    #expect(desk.push?.mutations.first?.ticket == third)
    #expect(desk.state(second) == .discarded)
  }

  @Test func `a mutation that is being stored can be edited and discarded`() throws {
    var desk = Desk.started(Board(["n": 0]))
    let tickets = [try desk.mutate(.set("a", 1)), try desk.mutate(.add("n", 1))]
    #expect(desk.stages == ["#1 set marked 1", "#2 add marked 2"])
    let before = desk.box.currentVersion
    desk.feed(.discarded(tickets[0]))
    desk.feed(.edited(tickets[1], .add("n", 5)))
    #expect(desk.stages == ["#2 add marked 1"])
    desk.feed(.stored(upTo: before))
    #expect(desk.push == nil)  // On disk the other one still has this ID.
    desk.save()
    #expect(desk.push?.mutations.map(\.change) == [.add("n", 5)])
    #expect(desk.pushed == [1])
  }

  @Test func `a push that never left counts as never tried`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1))
    #expect(
      desk.fail(.unreachable, hasLeft: false) == ["disarm 1", "arm 2 in (0, 0.1 s]"])
    #expect(desk.stages == ["#1 set unsent"])
    desk.feed(.discarded(tickets[0]))
    _ = try desk.send(.set("b", 2))
    desk.pass(.milliseconds(100))
    desk.fire()
    desk.save()
    #expect(desk.pushed == [1])
    #expect(desk.push?.mutations.map(\.change) == [.set("b", 2)])
  }

  @Test func `an old ticket is not called acknowledged if it may have been discarded`() throws {
    var settings = OutboxSettings()
    settings.discardsRemembered = 2
    var desk = Desk(settings: settings)
    for _ in 1...3 {
      let ticket = try desk.mutate(.set("a", 1))
      desk.feed(.discarded(ticket))
    }
    #expect(desk.state(MutationTicket(1)) == nil)
    #expect(desk.state(MutationTicket(2)) == .discarded)
    #expect(desk.state(MutationTicket(4)) == nil)
  }
}
