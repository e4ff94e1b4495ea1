import TestSupport
import Testing

@testable import UpdateMachine

/// An answer after which the server has more: the first page of many, a view from a replica that
/// lags, a stream with a hole (TheMachine §6).
@Suite struct IncompleteAnswerTests {
  // MARK: The machine

  /// A machine that has been up to date since 0, with a waiting poll out since 50.
  private func following(
    cadence: Cadence = .waits, settings: MachineSettings = MachineSettings()
  ) -> Attended {
    var terms = testTerms
    terms.cadence = cadence
    var client = Attended(restored: Spot("a", 7), terms: terms, settings: settings)
    client.put(.started(foreground: true))
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    return client
  }

  /// Its settings: nothing waits for a write.
  private var unsaved: MachineSettings {
    var settings = MachineSettings()
    settings.isDurable = false
    return settings
  }

  @Test func `an incomplete answer moves the finger, is saved, and is followed by a quick poll`() {
    var client = following()
    #expect(
      client.put(
        .polled(client.request, movedTo: client.next, isComplete: false), after: .seconds(20)) == [
          "disarm 2", "persist 1",
        ])
    #expect(client.machine.finger == Spot("a", 8))
    #expect(
      client.put(.written(WriteID(1)), after: .milliseconds(3)) == [
        "poll 3 from a:8, quick", "arm 3 in 10 s",
      ])
  }

  @Test func `an incomplete answer is not up to date, which shows after the debounce`() {
    var client = following(settings: unsaved)
    client.put(
      .polled(client.request, movedTo: client.next, isComplete: false), after: .seconds(20))
    #expect(client.freshness == "connected, as of 0")
    #expect(client.machine.freshnessChange(after: client.now) == .ms(20_350))
    client.now = .ms(20_350)
    #expect(client.freshness == "connecting since 20050, as of 0")
  }

  @Test func `incomplete answers leave an outage as it is, and a complete one ends it`() {
    var client = following(settings: unsaved)
    client.put(.failed(client.request, .unreachable), after: .seconds(20))
    client.put(.fired(client.timer!), after: .seconds(1))
    for _ in 0..<3 {
      client.put(
        .polled(client.request, movedTo: client.next, isComplete: false), after: .seconds(1))
      #expect(client.freshness == "unreachable since 20050, as of 0")
    }
    client.put(.polled(client.request, movedTo: nil), after: .milliseconds(50))
    #expect(client.freshness == "connected, as of 24050")
  }

  @Test func `an incomplete answer with nothing new is repeated after growing waits`() {
    var client = following()
    var waits: [String] = []
    for _ in 0..<9 {
      let texts = client.put(
        .polled(client.request, movedTo: nil, isComplete: false), after: .milliseconds(50))
      #expect(client.status == "live.pausing")
      waits.append(texts.last ?? "")
      let texts2 = client.put(.fired(client.timer!), after: .seconds(1))
      #expect(texts2.first?.hasSuffix("from a:7, quick") == true)
    }
    #expect(waits.first == "arm 3 in (0, 0.1 s]")
    #expect(waits[6].hasSuffix("in (0, 6.4 s]"))
    #expect(waits.last?.hasSuffix("in (0, 10 s]") == true)
  }

  @Test func `a waiting poll that did its work but is incomplete pauses as well`() {
    var client = following()
    #expect(
      client.put(.polled(client.request, movedTo: nil, isComplete: false), after: .seconds(50)) == [
        "disarm 2", "arm 3 in (0, 0.1 s]",
      ])
  }

  @Test func `pages that each move the finger are asked for at the pace`() {
    var client = following(settings: unsaved)
    var count = 0
    let end = client.now + .seconds(60)
    while client.now < end {
      if client.status == "live.polling" {
        client.put(.polled(client.request, movedTo: client.next, isComplete: false))
        count += 1
      } else {
        client.put(.fired(client.timer!), after: .milliseconds(400))
      }
    }
    #expect((150...162).contains(count))
    #expect(client.freshness == "connecting since 50, as of 0")
  }

  @Test func `an incomplete snapshot is followed, and is as of no moment`() {
    var client = following(settings: unsaved)
    client.put(.failed(client.request, .expired), after: .seconds(90))
    client.put(.fired(client.timer!), after: .seconds(5))
    #expect(client.status == "registering")
    #expect(
      client.put(
        .snapshotArrived(client.request, finger: Spot("b", 0), terms: testTerms, isComplete: false),
        after: .milliseconds(50)) == ["disarm 4", "poll 4 from b:0, quick", "arm 5 in 10 s"])
    #expect(client.freshness == "connecting since 90050, as of none")
    client.put(.polled(client.request, movedTo: client.next), after: .milliseconds(50))
    #expect(client.freshness == "connected, as of 95100")
  }

  @Test func `an incomplete answer that slept in the device is lost since it was due`() {
    var client = following(settings: unsaved)
    #expect(
      client.put(
        .polled(client.request, movedTo: client.next, isComplete: false), after: .seconds(200))
        == ["disarm 2", "poll 3 from a:8, quick", "arm 3 in 10 s"])
    #expect(client.freshness == "connecting since 100050, as of 0")
  }

  @Test func `the rhythm of a protocol does not delay the poll after an incomplete answer`() {
    var client = following(cadence: .every(.seconds(30)), settings: unsaved)
    client.put(.fired(client.timer!), after: .seconds(30))
    #expect(
      client.put(
        .polled(client.request, movedTo: client.next, isComplete: false), after: .milliseconds(50))
        == ["disarm 3", "poll 3 from a:8, quick", "arm 4 in 10 s"])
  }

  @Test func `an incomplete push ends the subscription, and a quick poll asks for the rest`() {
    var client = following(cadence: .pushed, settings: unsaved)
    #expect(
      client.put(
        .polled(client.request, movedTo: client.next, isComplete: false), after: .seconds(20)) == [
          "cancel 2", "disarm 2", "poll 3 from a:8, quick", "arm 3 in 10 s",
        ])
    #expect(
      client.put(.polled(client.request, movedTo: nil, isComplete: false)) == [
        "disarm 3", "arm 4 in (0, 0.1 s]",
      ])
  }

  @Test func `in the background an incomplete answer to a refresh ends at rest`() {
    for next in [Spot("a", 8), nil] {
      var settings = unsaved
      settings.refreshPeriod = .seconds(60)
      var client = following(settings: settings)
      client.put(.backgrounded)
      client.put(.fired(client.timer!), after: .seconds(60))
      client.put(.polled(client.request, movedTo: next, isComplete: false))
      #expect(client.freshness == "resting, as of 0")
    }
  }

  // MARK: The client

  /// The board's protocol, whose answers may be incomplete. The server knows no IDs.
  private struct Named: SyncModel {
    typealias Change = BoardChange
    typealias Refusal = Never
    private(set) var state: Board

    init(snapshot: Board) { state = snapshot }
    mutating func apply(_ event: Board) { state = event }
    var client: ClientID? { ClientID(7) }
    var confirmation: MutationConfirmation { MutationConfirmation(last: .none) }
    static var delivery: MutationDelivery { .atMostOnce }
  }

  private struct Batch: EventBatch {
    var events: [Board] = []
    var isComplete: Bool
    var count: Int { events.count }
    func event(at index: Int) -> Board? { events[index] }
  }

  private enum Sync: SyncProtocol {
    static func advance(_ finger: Spot, over batch: Batch) -> SyncAdvance<Spot> {
      guard batch.count > 0 else { return batch.isComplete ? .seen : .incomplete }
      let next = Spot(finger.log, finger.index + batch.count)
      return .next(next, first: 0, isComplete: batch.isComplete)
    }
  }

  private typealias Hand = ClientHand<Named, Sync>

  /// A client with a change that the server has accepted, and a quick poll out that left later.
  private func accepted() throws -> Hand {
    var hand = Hand()
    hand.put(.started(foreground: true))
    hand.put(.snapshotArrived(hand.request!, Board(), finger: Spot("a", 0), terms: testTerms))
    try hand.mutate(.set("a", 1))
    hand.put(.pushAnswered(hand.pushes.last!.id, .accepted), after: .milliseconds(1))
    hand.put(.app(.networkChanged), after: .milliseconds(1))
    return hand
  }

  private func isPending(_ hand: Hand) -> Bool {
    hand.client.local?.outbox.state(of: MutationTicket(1)) == .sent
  }

  @Test(arguments: [[], [Board(["b": 2])]])
  func `an incomplete answer confirms no accepted change`(events: [Board]) throws {
    var hand = try accepted()
    hand.put(.batchArrived(hand.request!, Batch(events: events, isComplete: false)))
    #expect(isPending(hand))
    #expect(hand.client.model?.state == events.last ?? Board())
    if hand.request == nil { hand.fire(.machine) }
    hand.put(.batchArrived(hand.request!, Batch(isComplete: true)))
    #expect(!isPending(hand))
  }

  @Test(arguments: [true, false])
  func `an incomplete snapshot confirms no accepted change`(isComplete: Bool) throws {
    var hand = try accepted()
    hand.put(.failed(hand.request!, .expired, hasLeft: true), after: .milliseconds(1))
    hand.fire(.machine)
    hand.put(
      .snapshotArrived(
        hand.request!, Board(), finger: Spot("b", 0), terms: testTerms, isComplete: isComplete))
    #expect(isPending(hand) != isComplete)
    hand.put(.batchArrived(hand.request!, Batch(isComplete: true)))
    #expect(!isPending(hand))
  }
}
