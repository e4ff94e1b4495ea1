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

  @Test func `a push that is behind waits until the finger has moved`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    try hand.hand.mutate(.set("a", 1))
    #expect(hand.hand.pushedFrom == [hand.server.spot])
    hand.hand.put(.pushAnswered(hand.pushes.last!.id, .behind))
    #expect(hand.outbox?.block == .heldBack)
    #expect(hand.request != nil, "the log is asked at once")
    hand.hand.fire(.outbox)
    #expect(hand.pushes.count == 1, "the answer has not come yet")
    #expect(hand.outbox?.block == .heldBack)
    hand.hand.put(.networkChanged)
    hand.answerPoll()
    #expect(hand.pushes.count == 2)
    #expect(hand.hand.pushedFrom.last == hand.server.spot)
    hand.answerPush()
    hand.answerPoll()
    #expect(hand.outbox?.isEmpty == true)
  }

  @Test func `a push is not held if the finger has moved since it left`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.hand.put(.networkChanged)
    try hand.hand.mutate(.set("a", 1))
    hand.answerPoll()
    hand.hand.put(.pushAnswered(hand.pushes.last!.id, .behind))
    #expect(hand.outbox?.block == nil)
    hand.hand.fire(.outbox)
    #expect(hand.pushes.count == 2)
  }

  /// What it collided with may have been undone, so that the finger is where it was.
  @Test func `a push that is behind is sent again once a later poll was answered`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    try hand.hand.mutate(.set("a", 1))
    for count in 2...4 {
      hand.hand.put(.pushAnswered(hand.pushes.last!.id, .behind))
      if hand.request == nil { hand.hand.fire(.machine) }
      hand.hand.put(
        .batchArrived(hand.request!, BoardBatch(first: 0, events: [])), after: .seconds(1))
      #expect(hand.outbox?.block == nil)
      hand.hand.fire(.outbox)
      #expect(hand.pushes.count == count)
    }
  }

  @Test func `the wish to pull is kept until the budget of wakes can pay for it`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(600))
    for _ in 0..<3 {
      hand.hand.put(.networkChanged)
      hand.hand.put(.batchArrived(hand.request!, BoardBatch(first: 1, events: [])))
      hand.hand.now = hand.hand.now + .milliseconds(400)
    }
    try hand.hand.mutate(.set("a", 1))
    hand.answerPush()
    #expect(hand.request == nil, "no wake is left")
    // Whatever happens next, once a wake is left, grants it.
    hand.hand.now = hand.hand.now + .seconds(31)
    hand.hand.put(.saveRequested)
    #expect(hand.request != nil)
  }

  /// Seed 252 of table-sync: the poll that went on with it left, too, though nobody awaited it.
  @Test func `a subscription that ends for the wish to pull does not go on`() throws {
    var terms = testTerms
    terms.cadence = .pushed
    var hand = ClientHand<UncountedModel, BoardSync>()
    hand.put(.started(foreground: true))
    hand.put(
      .snapshotArrived(hand.request!, BoardNews(board: Board()), finger: Spot("a", 0), terms: terms)
    )
    let ping = BoardBatch(first: 0, events: [])
    for _ in 0..<3 {
      hand.put(.networkChanged)
      hand.put(.batchArrived(hand.request!, ping))
      hand.now = hand.now + .milliseconds(400)
    }
    try hand.mutate(.set("a", 1))
    let subscription = hand.request!
    hand.put(.pushAnswered(hand.pushes.last!.id, .accepted))
    #expect(hand.request == subscription, "no wake is left")
    let texts = hand.put(.batchArrived(subscription, ping), after: .seconds(31))
    #expect(
      texts.filter { $0.hasPrefix("poll") } == ["poll \(subscription.number + 1) from a:0, quick"])
  }

  /// Seed 15 of client-view: each input while the server had asked for a wait paid another wake.
  @Test func `the wish to pull pays for no wake while the server wants a wait`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.hand.put(.networkChanged)
    hand.hand.put(.failed(hand.request!, .rateLimited(after: .seconds(50)), hasLeft: true))
    try hand.hand.mutate(.set("a", 1))
    hand.answerPush()
    let armed = hand.hand.timers[.machine]
    for _ in 0..<9 { hand.hand.put(.saveRequested) }
    #expect(hand.hand.timers[.machine] == armed)
    #expect(hand.request == nil)
    hand.hand.fire(.machine)
    #expect(hand.request != nil)
  }

  @Test func `a client that pulls first pushes nothing before it is up to date`() throws {
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

  @Test func `a client that pulls first pushes nothing once it is no longer up to date`() throws {
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
