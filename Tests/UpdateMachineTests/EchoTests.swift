import TestSupport
import Testing

@testable import UpdateMachine

/// Tests what confirms a mutation if the server has no IDs: its echo, a snapshot, or a poll that
/// brings no echo.
@Suite struct EchoTests {
  @Test func `a poll that left after the push's answer confirms mutations without an echo`() throws
  {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .remove("a"))
    desk.answer()
    desk.box.pollLeft()
    desk.save()
    desk.answer()
    #expect(desk.stages == ["#1 set accepted 1", "#2 remove accepted 2"])
    desk.box.pollWasAnswered()
    desk.replay()
    #expect(tickets.map(desk.state) == [.acknowledged, .sent])
    desk.box.pollWasAnswered()  // Nobody has polled since.
    #expect(desk.state(tickets[1]) == .sent)
    #expect(desk.box.violation() == nil)
  }

  @Test func `a poll that was given up confirms nothing`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.box.pollLeft()
    desk.answer()
    desk.box.pollWasAnswered()
    #expect(desk.state(ticket) == .sent)
  }

  @Test func `a poll confirms neither an uncertain mutation nor one on its way`() throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.box.pollLeft()
    desk.box.pollWasAnswered()
    #expect(desk.state(ticket) == .sent)
    desk.fail(.timedOut)
    desk.box.pollLeft()
    desk.box.pollWasAnswered()
    #expect(desk.state(ticket) == .uncertain)
  }

  @Test func `only the last mutation ID confirms on a server with IDs`() throws {
    var desk = Desk.started()
    let ticket = try desk.send(.set("a", 1))[0]
    desk.answer()
    desk.box.pollLeft()
    desk.box.pollWasAnswered()
    desk.box.confirmAccepted(before: .ms(99_999))
    #expect(desk.state(ticket) == .sent)
  }

  @Test(arguments: [MutationDelivery.exactlyOnce, .atLeastOnce, .atMostOnce])
  func `a refused ID is voided only for a server that counts IDs`(
    delivery: MutationDelivery
  ) throws {
    var desk = Desk.started(delivery: delivery)
    let ticket = try desk.send(.set("a", 1))[0]
    desk.fail(.rejected(.none))
    desk.feed(.discarded(ticket))
    _ = try desk.send(.set("b", 1))
    #expect(desk.push?.voided == (delivery == .exactlyOnce ? [MutationID(1)] : []))
  }

  @Test(arguments: [true, false])
  func `a refused retry after the first copy's echo stops nothing`(isAnswer: Bool) throws {
    var desk = Desk.started(delivery: .atMostOnce)
    let tickets = try desk.send(.set("a", 1), .set("b", 2))
    desk.fail(.timedOut)
    desk.feed(.retried(tickets[0]))
    desk.save()
    desk.fire()
    desk.save()
    #expect(desk.pushed == [2])
    desk.box.echo(of: tickets[0])
    desk.replay()
    if isAnswer {
      desk.answer(.refused(MutationRefusal(MutationID(2))))
    } else {
      desk.fail(.rejected(.none))
    }
    #expect(!desk.heard.contains { $0.hasPrefix("report") })
    desk.save()
    #expect(desk.pushed == [3])
    #expect(desk.state(tickets[1]) == .sent)
  }

  // MARK: In a client

  /// A board whose server returns the names that clients give their changes.
  private struct Echoing: SyncModel {
    typealias Change = BoardChange
    typealias Refusal = Never
    struct Event: Sendable {
      var board: Board
      var echo: MutationTicket?
    }
    private(set) var state: Board

    init(snapshot: Board) { state = snapshot }
    mutating func apply(_ event: Event) { state = event.board }
    func echo(in event: Event) -> MutationTicket? { event.echo }
    var client: ClientID? { ClientID(7) }
    var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }
    static var delivery: MutationDelivery { .atMostOnce }
  }

  private struct Batch: EventBatch {
    var first: Int
    var events: [Echoing.Event]
    var count: Int { events.count }
    func event(at index: Int) -> Echoing.Event? { events[index] }
  }

  private enum Sync: SyncProtocol {
    static func advance(_ finger: Spot, over batch: Batch) -> SyncAdvance<Spot> {
      batch.count == 0
        ? .seen : .next(Spot(finger.log, batch.first + batch.count - 1), first: 0)
    }
  }

  /// A client that follows, whose writes succeed at once, and whose one change was accepted.
  private struct Hand {
    var hand = ClientHand<Echoing, Sync>()

    var outbox: Outbox<BoardChange>? { hand.client.local?.outbox }

    mutating func snapshot(_ board: Board, _ log: String) {
      let id = hand.request!
      hand.put(.snapshotArrived(id, board, finger: Spot(log, 0), terms: testTerms))
    }

    /// The log is lost. Goes on until a register is out.
    mutating func expire() {
      hand.put(.failed(hand.request!, .expired))
      if case .registering = hand.client.status { return }
      hand.fire(.machine)
    }

    mutating func batch(_ events: [Echoing.Event]) {
      let first = (hand.client.finger?.index ?? 0) + 1
      hand.put(.batchArrived(hand.request!, Batch(first: first, events: events)))
    }

    init() throws {
      hand.put(.started(foreground: true))
      snapshot(Board(), "a")
      try hand.mutate(.set("a", 1))
    }

    mutating func accept() { hand.put(.pushAnswered(hand.pushes.last!.id, .accepted)) }
  }

  @Test func `an echo confirms with its event`() throws {
    var hand = try Hand()
    hand.accept()
    hand.batch([Echoing.Event(board: Board(["b": 2]), echo: nil)])
    #expect(hand.outbox?.count == 1)
    hand.batch([Echoing.Event(board: Board(["b": 2, "a": 1]), echo: MutationTicket(1))])
    #expect(hand.outbox?.count == 0)
    #expect(hand.hand.client.local?.view.state == Board(["b": 2, "a": 1]))
  }

  @Test func `a snapshot confirms mutations accepted before its request`() throws {
    var hand = try Hand()
    hand.accept()
    hand.hand.now = .ms(1)
    hand.expire()
    hand.snapshot(Board(["a": 1]), "b")
    #expect(hand.outbox?.count == 0)
    #expect(hand.hand.client.local?.view.confirmed == Board(["a": 1]))
  }

  @Test func `a mutation accepted during a register waits for a poll`() throws {
    var hand = try Hand()
    hand.expire()
    hand.hand.now = hand.hand.now + .milliseconds(1)
    hand.accept()
    hand.snapshot(Board(["a": 1]), "b")
    #expect(hand.outbox?.state(of: MutationTicket(1)) == .sent)
    hand.batch([])
    #expect(hand.outbox?.count == 0)
  }
}
