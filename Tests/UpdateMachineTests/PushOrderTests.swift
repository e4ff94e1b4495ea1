import TestSupport
import Testing

@testable import UpdateMachine

/// Tests which comes first, push or pull.
@Suite struct PushOrderTests {
  /// Like ``BoardSync``, but only an up-to-date client may push.
  private enum PullFirst: SyncProtocol {
    static var order: PushOrder { .pullFirst }

    static func advance(_ finger: Spot, over batch: BoardBatch) -> SyncAdvance<Spot> {
      BoardSync.advance(finger, over: batch)
    }
  }

  /// A client with its server. Effects are performed at once, and saving always succeeds.
  private struct Hand<Sync: SyncProtocol>
  where Sync.Place == Spot, Sync.Batch == BoardBatch {
    var hand = ClientHand<BoardModel, Sync>()
    var server = BoardServer()

    var client: SyncClient<BoardModel, Sync> { hand.client }
    var outbox: Outbox<BoardChange>? { client.local?.outbox }
    var pushes: [PushRequest<BoardChange>] { hand.pushes }
    var request: RequestID? { hand.request }

    mutating func begin(every cadence: TimeSpan) {
      var terms = testTerms
      terms.cadence = .every(cadence)
      hand.put(.started(foreground: true))
      hand.put(.snapshotArrived(request!, server.news, finger: server.spot, terms: terms))
    }

    mutating func answerPoll(_ news: BoardNews? = nil) {
      server.spot.index += 1
      hand.put(
        .batchArrived(
          request!, BoardBatch(first: server.spot.index, events: [news ?? server.news])),
        after: .seconds(1))
    }

    mutating func answerPush() {
      let push = pushes.last!
      hand.put(.pushAnswered(push.id, server.run(push)))
    }
  }

  @Test func `a push during an open poll is followed by one more poll`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.hand.put(.networkChanged)
    let poll = hand.request
    #expect(poll != nil)
    let old = hand.server.news
    try hand.hand.mutate(.set("a", 1))
    hand.answerPush()
    #expect(hand.request == poll, "the open poll is left alone")
    hand.answerPoll(old)
    #expect(hand.request != nil, "the open poll may have been answered before the push")
    #expect(hand.outbox?.isEmpty == false)
    hand.answerPoll()
    #expect(hand.outbox?.isEmpty == true)
    #expect(hand.request == nil, "from now on the cadence holds")
  }

  @Test func `an open poll that brings the pushed mutation needs no other`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.hand.put(.networkChanged)
    try hand.hand.mutate(.set("a", 1))
    hand.answerPush()
    hand.answerPoll()
    #expect(hand.outbox?.isEmpty == true)
    #expect(hand.request == nil)
  }

  @Test func `a server that only accepts is polled once for each answer`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    try hand.hand.mutate(.set("a", 1))
    let old = hand.server.news
    hand.answerPush()
    #expect(hand.request != nil)
    hand.answerPoll(old)
    #expect(hand.request == nil, "polling again would not make it faster")
  }

  @Test func `with pull first, a client that is not up to date pushes nothing`() throws {
    var hand = Hand<PullFirst>()
    hand.begin(every: .seconds(60))
    #expect(hand.client.freshness(at: hand.hand.now).claim == .connected)
    try hand.hand.mutate(.set("a", 1))
    #expect(hand.pushes.count == 1, "up to date, so it goes at once")
    hand.answerPush()
    hand.hand.put(.networkChanged)
    hand.answerPoll()

    // The client stops and is restored from what was saved. It does not know yet what has happened
    // meanwhile.
    let saved = hand.client.saved
    let (pushed, now) = (hand.pushes, hand.hand.now)
    hand.hand = ClientHand(incarnation: 2, store: nil)
    (hand.hand.pushes, hand.hand.now) = (pushed, now)
    hand.hand.put(.started(foreground: true))
    hand.hand.put(.loaded(saved, age: .seconds(5)))
    hand.hand.store = .works
    try hand.hand.mutate(.set("b", 2))
    #expect(hand.outbox?.block == .heldBack)
    #expect(hand.pushes.count == 1)
    hand.answerPoll()
    #expect(hand.client.freshness(at: hand.hand.now).claim == .connected, "\(hand.client)")
    #expect(hand.pushes.count == 2)
    #expect(hand.outbox?.block == nil)
  }

  @Test func `with pull first, a client that is no longer up to date pushes nothing`() throws {
    var hand = Hand<PullFirst>()
    hand.begin(every: .seconds(60))
    hand.hand.now = hand.hand.now + .seconds(120)
    #expect(hand.client.freshness(at: hand.hand.now).claim != .connected, "it slept")
    try hand.hand.mutate(.set("a", 1))
    hand.hand.put(.retryRequested)
    #expect(hand.pushes.isEmpty)
    hand.hand.put(.backgrounded)
    hand.hand.put(.foregrounded)
    #expect(hand.pushes.isEmpty)
    try #require(hand.request != nil, "\(hand.client)")
    hand.answerPoll()
    #expect(hand.client.freshness(at: hand.hand.now).claim == .connected, "\(hand.client)")
    #expect(hand.pushes.count == 1)
  }
}
