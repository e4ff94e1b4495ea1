import TestSupport
import Testing
import UpdateMachine

@Suite struct OutboxRefusalTests {
  let refused2 = MutationRefusal(MutationID(2), RejectionCode("NO"))

  /// A desk with three mutations out. The first is "a".
  func three() throws -> (Desk, [MutationTicket]) {
    var settings = OutboxSettings()
    settings.machine.isDurable = false
    var desk = Desk(settings: settings)
    let tickets = [
      try desk.mutate(.set("a", 1)), try desk.mutate(.set("b", 2)), try desk.mutate(.set("c", 3)),
    ]
    desk.feed(.started(foreground: true))
    #expect(desk.pushed == [1, 2, 3])
    return (desk, tickets)
  }

  // MARK: Refused for good

  @Test func `a refusal in the answer sets one mutation aside and stops the rest`() throws {
    var (desk, tickets) = try three()
    #expect(desk.answer(.refused(refused2)) == ["disarm 1", "report rejected(NO)"])
    #expect(desk.state(tickets[0]) == .sent)
    #expect(desk.state(tickets[1]) == .setAside)
    #expect(desk.state(tickets[2]) == .queued)
    #expect(desk.box.block == .refused(tickets[1]))
    #expect(desk.view.state == Board(["a": 1, "c": 3]))
    #expect(desk.box.setAside.map(\.reason) == [.refused(RejectionCode("NO"))])
    try desk.mutate(.set("d", 4))
    #expect(desk.box.status == .resting)
    #expect(desk.box.violation() == nil)
  }

  @Test func `a refusal in the confirmed state sets one mutation aside and ends the push`() throws {
    var (desk, tickets) = try three()
    let effects = desk.confirm(Board(["a": 1]), through: 2, refusal: refused2)
    #expect(effects == ["cancel 1", "disarm 1"])
    #expect(tickets.map { desk.state($0) } == [.acknowledged, .setAside, .queued])
    desk.feed(.answered(desk.push!.id, .refused(refused2)))  // It is late, and is absorbed.
    #expect(desk.box.setAside.count == 1)
    #expect(desk.box.violation() == nil)
  }

  /// An outbox that was restored from a backup sends again what an earlier one had sent. The server
  /// repeats its last refusal, and does not say that it had refused one before that.
  @Test func `a refusal from before a known one frees no numbers`() throws {
    var (desk, tickets) = try three()
    desk.answer(.refused(MutationRefusal(MutationID(3), RejectionCode("NO"))))
    #expect(tickets.map { desk.state($0) } == [.sent, .sent, .setAside])
    desk.confirm(Board(["a": 1]), through: 2, refusal: refused2)
    #expect(tickets.map { desk.state($0) } == [.acknowledged, .setAside, .setAside])
    #expect(desk.box.violation() == nil)
    for ticket in tickets.dropFirst() { desk.feed(.discarded(ticket)) }
    try desk.mutate(.set("d", 4))
    #expect(desk.pushed == [4], "3 is another's number")
    #expect(desk.push?.knownRefusal == MutationID(3))
  }

  @Test func `a retried mutation precedes its followers, all with new IDs`() throws {
    var (desk, tickets) = try three()
    desk.answer(.refused(refused2))
    desk.feed(.retried(tickets[1]))
    #expect(desk.pushed == [3, 4])
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[1], tickets[2]])
    #expect(desk.push?.knownRefusal == MutationID(2))
    #expect(desk.view.state == Board(["a": 1, "b": 2, "c": 3]))
    desk.answer()
    desk.confirm(Board(["a": 1, "b": 2, "c": 3]), through: 4, refusal: refused2)
    #expect(tickets.map { desk.state($0) } == [.acknowledged, .acknowledged, .acknowledged])
  }

  @Test func `an edited mutation keeps its ticket`() throws {
    var (desk, tickets) = try three()
    desk.answer(.refused(refused2))
    desk.feed(.edited(tickets[1], .set("e", 5)))
    #expect(desk.push?.mutations.map(\.change) == [.set("e", 5), .set("c", 3)])
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[1], tickets[2]])
  }

  @Test func `a discarded mutation is gone, and the rest is sent`() throws {
    var (desk, tickets) = try three()
    desk.answer(.refused(refused2))
    desk.feed(.discarded(tickets[1]))
    #expect(desk.pushed == [3])
    #expect(desk.state(tickets[1]) == .discarded)
  }

  @Test func `a refusal of the whole push counts for its first mutation`() throws {
    var (desk, tickets) = try three()
    desk.fail(.rejected(RejectionCode("BAD")))
    #expect(tickets.map { desk.state($0) } == [.setAside, .sent, .sent])
    desk.feed(.discarded(tickets[0]))
    desk.save()
    #expect(desk.pushed == [2, 3])
    #expect(desk.push?.knownRefusal == MutationID.none, "the server has confirmed no refusal")
    // The server may never have seen the refused IDs. It is told to count them until it has.
    #expect(desk.push?.voided == [MutationID(1)])
    desk.fail(.rejected(RejectionCode("BAD")))
    desk.feed(.discarded(tickets[1]))
    desk.save()
    #expect(desk.push?.voided == [MutationID(1), MutationID(2)])
    desk.fail(.unreachable)
    desk.confirm(Board(), through: 2, refusal: refused2)
    desk.pass(.seconds(1))
    desk.fire()
    #expect(desk.pushed == [3])
    #expect(desk.push?.voided == [])
  }

  @Test func `a server that ran a refused mutation is believed`() throws {
    var (desk, tickets) = try three()
    desk.fail(.rejected(.none))
    desk.confirm(Board(["a": 1]), through: 1)
    #expect(desk.state(tickets[0]) == .acknowledged)
    #expect(desk.box.setAside.isEmpty)
    #expect(desk.pushed == [2, 3])
  }

  @Test func `a refusal of an unsent mutation is malformed`() throws {
    var (desk, tickets) = try three()
    let effects = desk.answer(.refused(MutationRefusal(MutationID(9))))
    #expect(effects == ["disarm 1", "report malformed", "arm 2 in (0, 1 s]"])
    #expect(tickets.map { desk.state($0) } == [.sent, .sent, .sent])
  }

  @Test func `an accepted mutation refused later is set aside, its followers renumbered`() throws {
    var (desk, tickets) = try three()
    desk.answer()
    let fourth = try desk.mutate(.set("d", 4))
    #expect(desk.pushed == [4])
    desk.confirm(Board(["a": 1]), through: 2, refusal: refused2)
    #expect(desk.state(fourth) == .queued)
    desk.feed(.retried(tickets[1]))
    #expect(desk.pushed == [3, 4, 5])
  }

  @Test func `a lower last mutation ID changes nothing`() throws {
    var (desk, _) = try three()
    desk.confirm(Board(["a": 1, "b": 2]), through: 2)
    let before = desk.box
    desk.box.confirm(through: MutationID(1))
    #expect(desk.box == before)
    desk.box.confirm(through: MutationID(2), refusal: refused2)
    #expect(desk.box == before)
  }

  @Test func `mutations of another outbox with the same client ID are not taken for ours`() throws {
    var (desk, _) = try three()
    desk.confirm(Board(), through: 9)
    try desk.mutate(.set("d", 4))
    desk.answer()
    #expect(desk.pushed == [10])
    desk.answer()
    desk.confirm(Board(), through: .max)
    try desk.mutate(.set("e", 5))
    #expect(desk.pushed == [1 << 62 + 1])
    #expect(desk.box.violation() == nil)
  }

  @Test func `a refusal and the app's decision on it survive a restart`() throws {
    var desk = Desk.started()
    let first = try desk.mutate(.set("a", 1))
    try desk.mutate(.set("b", 2))
    desk.save()
    desk.answer(.refused(MutationRefusal(MutationID(1))))
    desk.disk = desk.box
    desk.restart()
    #expect(desk.state(first) == .setAside)
    #expect(desk.box.block == .refused(first))
    desk.feed(.retried(first))
    desk.save()
    #expect(desk.pushed == [2, 3])
    #expect(desk.push?.knownRefusal == MutationID(1))
  }

  // MARK: Thrown in replay

  @Test func `a mutation that throws in replay is set aside, and its followers go on`() throws {
    var desk = Desk(Board(["a": 1]))
    let first = try desk.mutate(.add("a", 1))
    let second = try desk.mutate(.set("b", 2))
    desk.feed(.started(foreground: false))
    desk.confirm(Board(), through: 0)
    #expect(desk.view.state == Board(["b": 2]))
    #expect(desk.state(first) == .setAside)
    #expect(desk.box.setAside.map(\.reason) == [.threw(.missing)])
    desk.feed(.foregrounded)
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == [second])
    desk.answer()
    #expect(desk.box.block == .threw(first))

    // A newer state makes the change possible.
    desk.confirm(Board(["a": 5]), through: 0)
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == [first])
    #expect(desk.pushed == [2])
    #expect(desk.view.state == Board(["a": 6, "b": 2]))
  }

  @Test func `a mutation that throws can be edited or discarded`() throws {
    for isEdited in [true, false] {
      var desk = Desk.started(Board(["a": 1]))
      desk.feed(.heldBack(true))
      let first = try desk.mutate(.add("a", 1))
      try desk.mutate(.set("b", 2))
      desk.confirm(Board(), through: 0)
      desk.feed(.heldBack(false))
      desk.feed(isEdited ? .edited(first, .set("a", 1)) : .discarded(first))
      desk.save()
      #expect(desk.pushed == (isEdited ? [1, 2] : [1]))
    }
  }

  @Test func `a mutation that throws while it is being stored is not sent`() throws {
    var desk = Desk.started(Board(["a": 1]))
    try desk.mutate(.add("a", 1))
    try desk.mutate(.set("b", 2))
    #expect(desk.box.status == .storing)
    desk.confirm(Board(), through: 0)
    desk.save()
    #expect(desk.push?.mutations.map(\.change) == [.set("b", 2)])
    #expect(desk.stages == ["#2 set marked 1", "#1 add unsent, threw"])
  }

  @Test func `a sent mutation continues even if it throws in replay`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let first = try desk.send(.add("a", 1))[0]
    desk.confirm(Board(), through: 0)
    #expect(desk.state(first) == .sent)
    #expect(desk.box.setAside.count == 1)
    desk.fail(.unreachable)
    desk.pass(.seconds(1))
    #expect(desk.fire().first == "push 2: 1 add")
  }

  // MARK: Uncertain

  @Test func `mutations without idempotency are sent one at a time`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    #expect(desk.pushed == [1])
    #expect(desk.answer().contains { $0.hasPrefix("persist") })
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[1]])
    desk.box.echo(of: tickets[0])
    desk.view.confirm(Board(["a": 1]))
    desk.replay()
    #expect(desk.state(tickets[0]) == .acknowledged)
    #expect(desk.state(tickets[1]) == .sent)
  }

  @Test(arguments: [
    SyncFailure.unreachable, .timedOut, .serverFault, .malformed,
  ])
  func `a lost answer makes a mutation without idempotency uncertain`(failure: SyncFailure) throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.fail(failure)
    #expect(desk.state(tickets[0]) == .uncertain)
    #expect(desk.box.uncertain.map(\.ticket) == [tickets[0]])
    desk.pass(.seconds(1))
    #expect(desk.fire() == [])
    #expect(desk.box.block == .uncertain(tickets[0]))
    #expect(desk.box.status == .resting)

    desk.box.echo(of: tickets[0])
    desk.replay()
    desk.save()
    #expect(desk.state(tickets[0]) == .acknowledged)
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[1]])
  }

  @Test(arguments: [
    (SyncFailure.unreachable, false), (.rateLimited(after: nil), true), (.unauthorized, true),
  ])
  func `a mutation that certainly did not arrive is sent again`(failure: SyncFailure, hasLeft: Bool)
    throws
  {
    var desk = Desk.started(delivery: .atMostOnce)
    _ = try desk.send(.set("a", 1))
    #expect(desk.fail(failure, hasLeft: hasLeft).contains { $0.hasPrefix("persist") })
    #expect(desk.box.uncertain.isEmpty)
    desk.save()
    var other = desk
    other.restart()
    #expect(other.box.uncertain.isEmpty, "the mark was taken back on the disk, too")
    desk.pass(.seconds(1))
    desk.feed(.credentialsChanged)
    desk.fire()
    desk.save()
    #expect(desk.push?.id.number == 2)
  }

  @Test func `the mutation that was out is uncertain after a stop, a sleep or a restart`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    var other = desk
    desk.feed(.stopped)
    #expect(desk.state(ticket) == .uncertain)
    desk = other
    desk.pass(.minutes(60))
    desk.fire()
    #expect(desk.state(ticket) == .uncertain)
    other.restart()
    #expect(other.state(ticket) == .uncertain)
    #expect(other.box.block == .uncertain(ticket))
  }

  @Test func `the app may retry or discard an uncertain mutation`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.fail(.unreachable)
    desk.pass(.seconds(1))
    desk.fire()
    #expect(!desk.box.canEdit(tickets[0]))
    var other = desk
    desk.feed(.retried(tickets[0]))
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[0]])
    other.feed(.discarded(tickets[0]))
    other.save()
    #expect(other.push?.mutations.map(\.ticket) == [tickets[1]])
    #expect(other.state(tickets[0]) == .discarded)
    // Its echo may come all the same, although the app gave it up.
    other.box.echo(of: tickets[0])
    #expect(other.state(tickets[0]) == .discarded)
  }

  @Test func `a retried uncertain mutation cannot be edited or coalesced`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.fail(.timedOut)
    desk.feed(.retried(ticket))
    #expect(!desk.box.canEdit(ticket) && desk.box.canDiscard(ticket))
    desk.feed(.edited(ticket, .set("a", 9)))
    try desk.mutate(.set("a", 2))
    #expect(desk.stages == ["#1 set unsent", "#2 set unsent"])
    desk.pass(.seconds(1))
    desk.fire()
    desk.save()
    #expect(desk.push?.mutations.map(\.change) == [.set("a", 1)])
    desk.fail(.rejected(.none))
    #expect(!desk.box.canEdit(ticket) && desk.box.canRetry(ticket))
  }

  @Test func `an echo may come before the answer, or for a retried or refused mutation`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    var (retried, refused) = (desk, desk)
    desk.box.echo(of: ticket)
    desk.replay()
    desk.answer()
    #expect(desk.box.isEmpty)
    #expect(desk.box.violation() == nil)

    retried.fail(.timedOut)
    retried.feed(.retried(ticket))
    retried.box.echo(of: ticket)
    #expect(retried.state(ticket) == .acknowledged)

    refused.fail(.rejected(.none))
    #expect(refused.state(ticket) == .setAside)
    refused.box.echo(of: ticket)
    #expect(refused.state(ticket) == .acknowledged)
  }

  @Test func `an accepted mutation is in a snapshot that was requested later`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.pass(.seconds(1))
    desk.answer()
    desk.box.confirmAccepted(before: desk.now)
    #expect(desk.state(ticket) == .sent)
    desk.box.confirmAccepted(before: desk.now + .milliseconds(1))
    #expect(desk.state(ticket) == .acknowledged)
  }

  @Test func `a mutation accepted before a restart is not uncertain after it`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.answer()
    desk.save()
    desk.restart()
    #expect(desk.state(ticket) == .sent)
    #expect(desk.box.block == nil)
  }

  // MARK: Names

  @Test func `a mutation refused with its whole push is retried under its own ID`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let tickets = try desk.send(.set("a", 2))
    desk.fail(.timedOut)
    desk.fire()
    #expect(desk.pushed == [1])
    desk.fail(.rejected(RejectionCode("NO")))
    #expect(desk.state(tickets[0]) == .setAside)
    desk.feed(.retried(tickets[0]))
    desk.save()
    #expect(desk.pushed == [1], "the first push may have been run: it must not be made twice")
    #expect(desk.push?.voided == [])
    desk.confirm(Board(["a": 2]), through: 1)
    #expect(desk.state(tickets[0]) == .acknowledged)
  }

  @Test func `a mutation refused with its whole push may still take effect, and is not edited`()
    throws
  {
    var desk = Desk.started(Board(["a": 1]))
    let tickets = try desk.send(.set("a", 2), .set("b", 1))
    #expect(!desk.box.canEdit(tickets[0]))
    desk.fail(.rejected(RejectionCode("NO")))
    #expect(desk.box.mayHaveCopy(of: tickets[0]))
    #expect(!desk.box.canEdit(tickets[0]))
    desk.feed(.edited(tickets[0], .set("a", 3)))
    #expect(desk.state(tickets[0]) == .setAside, "absorbed")
    desk.feed(.discarded(tickets[0]))
    desk.save()
    #expect(desk.pushed == [2], "the next gets an ID that nobody has used")
    #expect(desk.push?.voided == [MutationID(1)])
  }

  @Test func `a mutation that is tried again says that the server may have a copy`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let tickets = try desk.send(.set("a", 2))
    #expect(desk.box.pending.map(\.mayHaveCopy) == [false])
    desk.fail(.rejected(RejectionCode("NO")))
    desk.feed(.retried(tickets[0]))
    #expect(desk.box.pending.map(\.mayHaveCopy) == [true])
    #expect(!desk.box.canEdit(tickets[0]))
  }

  @Test func `a mutation that the server itself refused may be edited`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let tickets = try desk.send(.set("a", 2))
    desk.fail(.rejected(RejectionCode("NO")))
    desk.feed(.retried(tickets[0]))
    desk.save()
    desk.answer(.refused(MutationRefusal(MutationID(1))))
    #expect(!desk.box.mayHaveCopy(of: tickets[0]))
    #expect(desk.box.canEdit(tickets[0]))
  }

  @Test func `unsent mutations are sent under a new client ID, and the rest is set aside`() throws {
    var desk = Desk.started(Board(["a": 1]))
    let sent = try desk.send(.set("a", 2), .set("b", 2))
    let unsent = try desk.mutate(.add("a", 1))
    let taken = Outbox(client: ClientID(8), takingOver: desk.box)
    #expect(taken.violation() == nil)
    #expect(taken.client == ClientID(8))
    #expect(sent.map { taken.state(of: $0) } == [.setAside, .setAside])
    #expect(taken.setAside.map { "\($0.reason)" }.allSatisfy { $0.contains("NAME_LOST") })
    #expect(taken.state(of: unsent) == .queued)
    #expect(taken.newestTicket == desk.box.newestTicket)

    desk.box = taken
    desk.view = LocalView(of: Board(["a": 1]))
    desk.replay()
    desk.push = nil
    desk.feed(.started(foreground: true))
    desk.save()
    #expect(desk.push == nil, "nothing is sent before the app has decided about those")
    desk.feed(.retried(sent[0]))
    desk.feed(.discarded(sent[1]))
    desk.save()
    #expect(desk.push?.client == ClientID(8))
    #expect(desk.push?.mutations.map(\.change.name) == ["set", "add"])
    #expect(desk.pushed == [1, 2])
    #expect(desk.push?.voided == [])
  }
}
