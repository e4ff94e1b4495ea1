import TestSupport
import Testing

@testable import UpdateMachine

/// Tests an outbox with servers that run pushes late, refuse whole pushes, or say impossible
/// things.
@Suite struct OutboxTrustTests {
  private let bad = SyncFailure.rejected(RejectionCode("BAD"))

  // MARK: Refusals of whole pushes

  @Test func `a late refusal precedes counting a mutation refused with its whole push`() throws {
    var desk = Desk.started()
    let first = try desk.send(.set("a", 1))[0]
    desk.answer()
    let lost = try desk.send(.set("b", 2))[0]
    desk.fail(bad)
    desk.feed(.discarded(lost))
    let second = try desk.send(.set("b", 3))[0]
    #expect(desk.pushed == [3])
    #expect(desk.push?.voided == [MutationID(2)])
    #expect(desk.push?.knownRefusal == MutationID.none, "the server has confirmed no refusal")
    // The server accepted 1 and has since refused it. It ignored the push of 3, which does not know
    // of that refusal.
    desk.answer(.refused(MutationRefusal(MutationID(1))))
    #expect(desk.state(first) == .setAside)
    #expect(desk.state(second) == .queued)
    desk.feed(.discarded(first))
    desk.save()
    #expect(desk.pushed == [4], "2 must still be counted, and 3 was on its way behind it")
    #expect(desk.push?.voided == [MutationID(2), MutationID(3)])
    #expect(desk.push?.knownRefusal == MutationID(1))
    desk.confirm(Board(["b": 3]), through: 4, refusal: MutationRefusal(MutationID(3)))
    #expect(desk.state(second) == .acknowledged)
    desk.answer()
    _ = try desk.send(.set("c", 3))
    #expect(desk.push?.description == "push 5 knowing 3: 5 set")
  }

  @Test func `a resent mutation that is refused with its push is counted first`() throws {
    var desk = Desk.started()
    let first = try desk.send(.set("a", 1))[0]
    desk.answer()
    let second = try desk.send(.set("b", 2))[0]
    desk.fail(bad)
    desk.feed(.discarded(second))
    desk.save()
    desk.pass(.minutes(10))
    desk.fire()
    #expect(desk.pushed == [1], "it was accepted, but never confirmed")
    desk.fail(bad)
    desk.feed(.discarded(first))
    _ = try desk.send(.set("c", 3))
    #expect(desk.pushed == [3])
    #expect(desk.push?.voided == [MutationID(1), MutationID(2)])
    #expect(desk.box.violation() == nil)
  }

  @Test func `a server without IDs gets no void IDs`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    for number in 0..<3 as Range<Int64> {
      let ticket = try desk.send(.set("a", number))[0]
      desk.fail(bad)
      desk.feed(.discarded(ticket))
      desk.save()
    }
    _ = try desk.send(.set("b", 1))
    #expect(desk.push?.voided == [])
  }

  // MARK: What cannot be

  @Test func `an unsent mutation is never taken for run, whatever the server says`() throws {
    var desk = Desk.started()
    let ticket = try desk.mutate(.set("a", 1))
    #expect(desk.stages == ["#1 set marked 1"])
    desk.confirm(Board(), through: .max)
    #expect(desk.state(ticket) == .queued)
    desk.save()
    #expect(desk.pushed == [1 << 62 + 1])
    #expect(desk.box.violation() == nil)
  }

  @Test func `mutations behind an open push are not taken for run`() throws {
    var desk = Desk.started()
    let first = try desk.mutate(.set("a", 1))
    let version = desk.box.currentVersion
    let second = try desk.mutate(.set("b", 2))
    desk.feed(.stored(upTo: version))
    #expect(desk.stages == ["#1 set marked 1", "#2 set marked 2"])
    #expect(desk.pushed == [1])
    desk.confirm(Board(["a": 1]), through: 2)
    #expect(desk.state(first) == .acknowledged)
    #expect(desk.state(second) == .queued)
    desk.answer()
    desk.save()
    #expect(desk.pushed == [3])
  }

  @Test func `a refusal of another outbox with the same ID does not stop this one for ever`() throws
  {
    var desk = Desk.started()
    desk.confirm(Board(), through: 9, refusal: MutationRefusal(MutationID(9)))
    _ = try desk.send(.set("a", 1))
    #expect(desk.push?.description == "push 1 knowing 9: 10 set")
  }

  @Test func `a refusal above the last mutation ID is not believed`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .add("b", 1))
    desk.confirm(Board(["a": 1]), through: 1, refusal: MutationRefusal(MutationID(.max)))
    #expect(tickets.map { desk.state($0) } == [.acknowledged, .sent, .sent])
    desk.fail(.unreachable)
    desk.pass(.seconds(5))
    desk.fire()
    #expect(desk.push?.knownRefusal == MutationID.none)
  }

  @Test func `answers with the greatest numbers leave a working outbox`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.answer(.refused(MutationRefusal(MutationID(.max))))
    #expect(tickets.map { desk.state($0) } == [.sent, .sent])
    #expect(desk.box.violation() == nil)
    desk.pass(.minutes(5))
    desk.fire()
    desk.confirm(Board(), through: .max, refusal: MutationRefusal(MutationID(.max)))
    #expect(desk.box.violation() == nil)
    _ = try desk.send(.set("c", 3), .set("d", 4))
    desk.feed(.failed(RequestID(incarnation: Incarnation(9), number: .max), bad, hasLeft: true))
    #expect(desk.box.violation() == nil)
  }

  // MARK: Sizes

  /// A change with the size that it says.
  private struct Weight: Mutation {
    var size: Int64
    var name: String { "weigh" }
    func apply(to sum: inout Int) throws(Never) { sum += 1 }
  }

  @Test(arguments: [Int64.max, Int64.min, -1])
  func `extreme sizes do not trap`(_ size: Int64) throws {
    var settings = OutboxSettings()
    settings.sizeMaximum = .max
    var box = Outbox<Weight>(client: ClientID(1), settings: settings)
    var view = LocalView<Weight>(of: 0)
    let now = Moment(milliseconds: 0)
    _ = box.handle(.started(foreground: true), at: now)
    for _ in 0..<4 { _ = try box.mutate(Weight(size: size), &view, at: now) }
    _ = box.handle(.stored(upTo: box.currentVersion), at: now)
    _ = try box.mutate(Weight(size: 1), &view, at: now)
    _ = box.handle(.edited(box.newestTicket, Weight(size: size)), at: now)
    #expect(box.violation() == nil)
    box.confirm(through: MutationID(4))
    _ = box.replay(&view, at: now)
    _ = box.handle(.discarded(box.newestTicket), at: now)
    #expect(box.isEmpty)
    #expect(box.size == 0)
    #expect(box.violation() == nil)
  }

  @Test func `sizes are measured anew after an app update`() throws {
    var settings = OutboxSettings()
    settings.sizeMaximum = 10
    var desk = Desk(settings: settings)
    try desk.mutate(.set("a", 1))
    desk.save()
    desk.disk?.size = 1000  // An older version measured the size differently.
    desk.restart()
    desk.save()
    desk.confirm(Board(["a": 1]), through: 1)
    #expect(throws: Never.self) { try desk.mutate(.set("b", 1)) }
  }

  @Test func `a mutation refused with its push, but run before a later refusal, is acknowledged`()
    throws
  {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.answer()  // The server runs them later, and will refuse the second.
    desk.pass(.minutes(10))
    desk.fire()
    desk.fail(bad)
    #expect(desk.state(tickets[0]) == .setAside)
    desk.confirm(Board(["a": 1]), through: 2, refusal: MutationRefusal(MutationID(2)))
    #expect(desk.state(tickets[0]) == .acknowledged)
    #expect(desk.state(tickets[1]) == .setAside)
  }

  @Test func `mutations behind one refused with its push keep their IDs or are voided`() throws {
    var desk = Desk.started()
    let tickets = try desk.send(.set("a", 1), .set("b", 2), .set("c", 3))
    desk.fail(bad)
    desk.confirm(Board(), through: 1, refusal: MutationRefusal(MutationID(1)))
    #expect(desk.box.canEdit(tickets[0]), "the server itself refused it")
    desk.feed(.retried(tickets[0]))
    desk.save()
    #expect(desk.pushed == [2, 3, 4], "no ID is left out")
    #expect(desk.push?.voided == [])
  }

  /// Found by seed 81 of the servers that run late. The decision was lost in a crash, but its push
  /// was not.
  @Test func `an ID is sent as void only once the decision that freed it is durable`() throws {
    var desk = Desk.started()
    let first = try desk.send(.set("a", 1))[0]
    desk.fail(bad)
    desk.save()
    _ = try desk.mutate(.set("b", 2))
    desk.save()
    let before = desk.push
    desk.feed(.discarded(first))
    #expect(desk.push == before, "the decision is not durable")
    desk.save()
    #expect(desk.push?.voided == [MutationID(1)])
  }
}
