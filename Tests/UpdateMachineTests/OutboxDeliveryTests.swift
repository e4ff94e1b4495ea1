import TestSupport
import Testing

@testable import UpdateMachine

/// Servers to which a mutation may be sent twice, but which do not count IDs.
@Suite struct OutboxDeliveryTests {
  @Test func `a push without an answer is sent again, whole`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .remove("a"), .set("b", 2))
    desk.fail(.timedOut)
    #expect(tickets.map(desk.state) == [.sent, .sent, .sent])
    desk.fire()
    #expect(desk.pushed == [1, 2, 3])
    desk.fail(.malformed)
    #expect(desk.stages == ["#1 set sent 1", "#2 remove sent 2", "#3 set sent 3"])
    #expect(desk.box.uncertain.isEmpty)
    #expect(desk.box.violation() == nil)
  }

  @Test func `an accepted push leaves with a poll that was sent later`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.box.pollLeft()
    desk.answer()
    desk.box.pollWasAnswered()
    #expect(desk.state(ticket) == .sent)
    desk.box.pollLeft()
    desk.box.pollWasAnswered()
    desk.replay()
    #expect(desk.state(ticket) == .acknowledged)
  }

  @Test func `an accepted push is not sent again by itself`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    _ = try desk.send(.set("a", 1))
    let texts = desk.answer()
    #expect(!texts.contains { $0.hasPrefix("arm") })
    #expect(desk.box.status == .resting)
    #expect(desk.box.violation() == nil)
  }

  @Test func `a restart sends again what had left, but not what was accepted`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1))
    desk.answer()
    let second = try desk.send(.remove("a"))[0]
    desk.restart()
    #expect(desk.stages == ["#1 set accepted 1", "#2 remove sent 2"])
    #expect(desk.pushed == [2])
    #expect(desk.state(second) == .sent)
    #expect(desk.box.delivery == .atLeastOnce)
    // The snapshot of this run was asked for after the last run's answer.
    desk.box.confirmAccepted(before: .ms(1))
    desk.replay()
    #expect(desk.state(tickets[0]) == .acknowledged)
    #expect(desk.state(second) == .sent)
  }

  @Test func `a mutation that was out before it was refused may not be edited`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1))
    desk.fail(.timedOut)
    desk.fire()
    desk.fail(.rejected(RejectionCode("NO")))
    #expect(desk.state(tickets[0]) == .setAside)
    #expect(desk.box.mayHaveCopy(of: tickets[0]))
    #expect(!desk.box.canEdit(tickets[0]))
    #expect(desk.box.canRetry(tickets[0]))
    #expect(desk.box.canDiscard(tickets[0]))
  }

  @Test func `a mutation behind a refused one may not be edited if it was out before`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    let (first, second) = (tickets[0], tickets[1])
    desk.fail(.timedOut)
    desk.fire()
    #expect(desk.pushed == [1, 2])
    desk.answer(.refused(MutationRefusal(MutationID(1), RejectionCode("NO"))))
    #expect(desk.stages == ["#2 set unsent"])
    #expect(!desk.box.canEdit(second))
    desk.feed(.discarded(first))
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == [second])
    #expect(desk.push?.voided == [])
    #expect(desk.box.violation() == nil)
  }

  @Test func `a mutation that was refused at its first sending may be edited`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1))
    desk.answer(.refused(MutationRefusal(MutationID(1), RejectionCode("NO"))))
    #expect(desk.box.canEdit(tickets[0]))
    desk.feed(.edited(tickets[0], .set("a", 2)))
    desk.save()
    #expect(desk.push?.mutations.map(\.change) == [.set("a", 2)])
  }

  @Test func `mutations before a refused one wait for a poll that is sent later`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let first = try desk.send(.set("a", 1), .set("b", 2))[0]
    desk.fail(.timedOut)
    desk.fire()
    #expect(desk.pushed == [1, 2])
    desk.pass(.seconds(9))
    desk.answer(.refused(MutationRefusal(MutationID(2), RejectionCode("NO"))))
    // A snapshot that was asked for before the answer proves nothing.
    desk.box.confirmAccepted(before: desk.now)
    #expect(desk.state(first) == .sent)
    desk.box.confirmAccepted(before: desk.now + .milliseconds(1))
    desk.replay()
    #expect(desk.state(first) == .acknowledged)
  }

  @Test func `the saved form keeps each way of delivery`() throws {
    for delivery in [MutationDelivery.exactlyOnce, .atLeastOnce, .atMostOnce] {
      var desk = Desk.started(delivery: delivery)
      _ = try desk.send(.set("a", 1))
      desk.restart()
      #expect(desk.box.delivery == delivery)
    }
  }

  /// One ID says nothing of several mutations, and a server that counts confirms them in order.
  @Test(arguments: [(MutationDelivery.exactlyOnce, 1), (.atLeastOnce, 2), (.atLeastOnce, 1)])
  func `an ID that was created counts for one mutation`(
    delivery: MutationDelivery, count: Int
  ) throws {
    var desk = Desk.started(delivery: delivery)
    _ = try count == 1 ? desk.send(.set("a", 1)) : desk.send(.set("a", 1), .set("b", 2))
    desk.answer(.created(70))
    #expect(desk.box.pending.allSatisfy { $0.stage == .accepted($0.id!, at: desk.now) })
    let isNoted = desk.box.heldMutation { _, created in created == 70 } != nil
    #expect(isNoted == (delivery == .atLeastOnce && count == 1))
    #expect(desk.box.violation() == nil)
  }

  @Test func `of a push that is taken in part, the rest is sent again at once`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    let push = try #require(desk.push)
    desk.answer(.acceptedOnly([MutationID(1), MutationID(3)]))
    #expect(desk.stages == ["#1 set accepted 1", "#2 set marked 4", "#3 set accepted 3"])
    #expect(desk.box.canEdit(tickets[1]), "the server has done nothing about it")
    desk.save()
    #expect(desk.pushed == [4])
    #expect(desk.push?.id != push.id)
    // A poll that left before the answer to the second push proves nothing about that one.
    desk.box.pollLeft()
    desk.answer()
    desk.box.pollWasAnswered()
    desk.replay()
    #expect(desk.state(tickets[1]) == .sent)
    desk.box.pollLeft()
    desk.box.pollWasAnswered()
    desk.replay()
    #expect(tickets.map(desk.state) == [.acknowledged, .acknowledged, .acknowledged])
  }

  @Test func `a push of which nothing is taken is sent again after a wait`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    _ = try desk.send(.set("a", 1))
    let push = try #require(desk.push)
    desk.answer(.acceptedOnly([]))
    #expect(desk.box.status == .waiting)
    #expect(desk.push?.id == push.id)
    desk.fire()
    desk.save()
    #expect(desk.push?.id != push.id)
  }

  @Test func `a mutation that is taken keeps its ID when an earlier one is refused`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.answer(.acceptedOnly([MutationID(2)]))
    desk.save()
    #expect(desk.pushed == [3])
    desk.answer(.refused(MutationRefusal(MutationID(3), RejectionCode("NO"))))
    #expect(desk.stages == ["#2 set accepted 2"])
    #expect(desk.state(tickets[0]) == .setAside)
    #expect(desk.box.canEdit(tickets[0]), "the server has never had a copy")
    desk.feed(.discarded(tickets[0]))
    let third = try desk.send(.set("c", 3))[0]
    #expect(desk.pushed == [4])
    #expect(desk.push?.mutations.map(\.ticket) == [third])
    #expect(desk.box.violation() == nil)
  }

  @Test(arguments: [MutationDelivery.exactlyOnce, .atLeastOnce, .atMostOnce])
  func `a push that is behind is held, and counts as never sent`(
    delivery: MutationDelivery
  ) throws {
    var desk = Desk.started(delivery: delivery)
    let ticket = try desk.send(.set("a", 1))[0]
    let push = try #require(desk.push)
    desk.answer(.behind)
    #expect(desk.stages == ["#1 set unsent"])
    #expect(desk.box.block == .heldBack)
    #expect(desk.box.wantsPull)
    #expect(desk.box.canEdit(ticket))
    desk.save()
    #expect(desk.push?.id == push.id)
    desk.feed(.heldBack(false))
    #expect(desk.push?.id == push.id, "the next time, the wait would be longer")
    desk.fire()
    desk.save()
    #expect(desk.push?.id != push.id)
    #expect(desk.pushed == [1])
    #expect(desk.box.violation() == nil)
  }

  /// The ID of the third stands behind one that has none.
  @Test(arguments: [false, true])
  func `a refusal may come between mutations that are taken`(isRetried: Bool) throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    desk.answer(.acceptedOnly([MutationID(3)]))
    desk.save()
    #expect(desk.pushed == [4, 5])
    desk.answer(.refused(MutationRefusal(MutationID(4), RejectionCode("NO"))))
    #expect(desk.stages == ["#2 set unsent", "#3 set accepted 3"])
    #expect(desk.box.violation() == nil)
    desk.feed(.backgrounded)
    desk.feed(isRetried ? .retried(tickets[0]) : .discarded(tickets[0]))
    #expect(desk.box.violation() == nil)
    desk.feed(.foregrounded)
    desk.save()
    #expect(desk.push?.mutations.map(\.ticket) == Array(tickets[(isRetried ? 0 : 1)..<2]))
    desk.feed(.backgrounded)
    #expect(desk.box.violation() == nil)
  }

  @Test func `a refusal of what was echoed meanwhile says that those before it were run`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    desk.fail(.timedOut)
    desk.fire()
    desk.box.echo(of: tickets[1])
    let texts = desk.answer(.refused(MutationRefusal(MutationID(2))))
    #expect(!texts.contains { $0.hasPrefix("report") })
    #expect(desk.stages == ["#1 set accepted 1", "#3 set sent 3"])
    #expect(desk.pushed == [3])
  }

  @Test func `an outbox that is taken over without a store counts as stored`() throws {
    var settings = OutboxSettings()
    settings.machine.isDurable = false
    var desk = Desk.started(settings: settings)
    let ticket = try desk.mutate(.set("a", 1))
    let next = Outbox(client: ClientID(8), takingOver: desk.box)
    #expect(next.isStored(ticket))
  }

  /// The second is accepted under an ID above that of the first, which is refused.
  @Test func `a new ID is above all that are in use`() throws {
    var desk = Desk.started(delivery: .atLeastOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    desk.fail(.timedOut)
    desk.fire()
    #expect(desk.pushed == [1, 2, 3])
    desk.answer(.acceptedOnly([MutationID(2)]))
    #expect(desk.pushed == [1])  // A batch ends at one that is accepted.
    desk.answer(.refused(MutationRefusal(MutationID(1), RejectionCode("NO"))))
    desk.feed(.retried(tickets[0]))
    desk.save()
    #expect(desk.pushed == [3])
    desk.answer()
    desk.save()
    #expect(desk.pushed == [4])
    #expect(desk.push?.mutations.map(\.ticket) == [tickets[2]])
    #expect(desk.box.violation() == nil)
  }

  /// An update of the app may say that a second copy has no effect, or no longer say so.
  @Test func `a saved outbox is taken over if neither version's server counts IDs`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.fail(.timedOut)
    desk.save()
    func read(_ box: Outbox<BoardChange>, _ delivery: MutationDelivery) throws -> [String] {
      var rows = RowDisk()
      rows.write(box.rows(since: nil))
      let read = try Outbox<BoardChange>(stored: rows.rows, delivery: delivery)
      #expect(read.delivery == delivery)
      return read.pending.map { "\($0)" }
    }
    #expect(desk.state(tickets[0]) == .uncertain)
    #expect(try read(desk.box, .atLeastOnce) == ["#1 set sent 1", "#2 set unsent"])
    #expect(throws: StoredFormError.self) { try read(desk.box, .exactlyOnce) }

    var other = Desk.started(delivery: .atLeastOnce)
    _ = try other.send(.set("a", 1))
    other.fail(.timedOut)
    #expect(try read(other.box, .atMostOnce) == ["#1 set uncertain 1"])
    let counted = Desk.started(delivery: .exactlyOnce).box
    #expect(throws: StoredFormError.self) { try read(counted, .atLeastOnce) }
  }
}
