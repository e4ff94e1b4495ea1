import Testing

@testable import UpdateMachine

/// Which comes first, push or pull.
@Suite struct PushOrderTests {
  /// As ``BoardSync``, but what is pushed must be made on what is level.
  private enum PullFirst: SyncProtocol {
    static var order: PushOrder { .pullFirst }

    static func advance(_ finger: Spot, over batch: BoardBatch) -> Advance<Spot> {
      BoardSync.advance(finger, over: batch)
    }
  }

  /// A replica with its outbox, whose effects are performed at once; saving always succeeds.
  private struct Hand<Sync: SyncProtocol>
  where Sync.Place == Spot, Sync.Batch == BoardBatch {
    var replica = Replica<BoardModel, Sync>(life: Life(1))
    var server = BoardServer()
    var pushes: [Outbox<BoardChange>.Push] = []
    var request: RequestID?
    var now = Moment.ms(0)

    mutating func put(_ input: Replica<BoardModel, Sync>.Input) {
      if case .snapshotArrived = input { request = nil }
      let effects = replica.handle(input, at: now)
      if let cancel = effects.cancel, cancel == request { request = nil }
      switch effects.request {
      case .register(let id), .poll(let id, _, _): request = id
      case nil: break
      }
      for effects in replica.passOn(input, at: now) { perform(effects) }
      if let write = effects.persist { put(.written(write)) }
      if let next = replica.takeInput() { put(next) }
    }

    mutating func tell(_ input: Outbox<BoardChange>.Input) {
      let (one, other) = replica.handle(input, at: now)
      perform(one)
      perform(other)
      if let next = replica.takeInput() { put(next) }
    }

    private mutating func perform(_ effects: Outbox<BoardChange>.Effects) {
      if let version = effects.persist { tell(.stored(upTo: version)) }
      if let push = effects.push { pushes.append(push) }
    }

    mutating func mutate(_ change: BoardChange) throws {
      perform(try replica.mutate(change, at: now).effects)
    }

    mutating func begin(every cadence: TimeSpan) {
      var terms = testTerms
      terms.cadence = .every(cadence)
      put(.loaded(nil, age: nil))
      put(.started(foreground: true))
      put(.snapshotArrived(request!, server.news, finger: server.spot, terms: terms))
    }

    mutating func answerPoll(_ news: BoardNews? = nil) {
      server.spot.index += 1
      let id = request!
      request = nil
      now = now + .seconds(1)
      put(
        .batchArrived(id, BoardBatch(first: server.spot.index, events: [news ?? server.news])))
    }

    mutating func answerPush() {
      let push = pushes.last!
      tell(.answered(push.id, server.run(push)))
    }
  }

  @Test func `what was pushed while a poll was out is asked for once more`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.put(.networkChanged)
    let poll = hand.request
    #expect(poll != nil)
    let old = hand.server.news
    try hand.mutate(.set("a", 1))
    hand.answerPush()
    #expect(hand.request == poll, "the poll that is out is let be")
    hand.answerPoll(old)
    #expect(hand.request != nil, "its answer was made before")
    #expect(hand.replica.model?.local.outbox.isEmpty == false)
    hand.answerPoll()
    #expect(hand.replica.model?.local.outbox.isEmpty == true)
    #expect(hand.request == nil, "now the cadence holds")
  }

  @Test func `a poll that was out and brings what was pushed is enough`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    hand.put(.networkChanged)
    try hand.mutate(.set("a", 1))
    hand.answerPush()
    hand.answerPoll()
    #expect(hand.replica.model?.local.outbox.isEmpty == true)
    #expect(hand.request == nil)
  }

  @Test func `a server that only accepts is asked once for each answer, and no more`() throws {
    var hand = Hand<BoardSync>()
    hand.begin(every: .seconds(60))
    try hand.mutate(.set("a", 1))
    let old = hand.server.news
    hand.answerPush()
    #expect(hand.request != nil)
    hand.answerPoll(old)
    #expect(hand.request == nil, "asking again would not hasten it")
  }

  @Test func `where pull comes first nothing is pushed by a client that is not level`() throws {
    var hand = Hand<PullFirst>()
    hand.begin(every: .seconds(60))
    #expect(hand.replica.freshness(at: hand.now).claim == .connected)
    try hand.mutate(.set("a", 1))
    #expect(hand.pushes.count == 1, "level, so it goes at once")
    hand.answerPush()
    hand.put(.networkChanged)
    hand.answerPoll()

    // It stops, comes back from what was saved, and does not know yet what has happened.
    let saved = hand.replica.saved
    hand.replica = Replica(life: Life(2))
    hand.request = nil
    hand.put(.loaded(saved, age: .seconds(5)))
    hand.put(.started(foreground: true))
    try hand.mutate(.set("b", 2))
    #expect(hand.replica.model?.local.outbox.block == .heldBack)
    #expect(hand.pushes.count == 1)
    hand.answerPoll()
    #expect(hand.replica.freshness(at: hand.now).claim == .connected, "\(hand.replica)")
    #expect(hand.pushes.count == 2)
    #expect(hand.replica.model?.local.outbox.block == nil)
  }

  @Test func `where pull comes first nothing is pushed by a client that is level no more`() throws {
    var hand = Hand<PullFirst>()
    hand.begin(every: .seconds(60))
    hand.now = hand.now + .seconds(120)
    #expect(hand.replica.freshness(at: hand.now).claim != .connected, "it slept")
    try hand.mutate(.set("a", 1))
    hand.tell(.retryRequested)
    #expect(hand.pushes.isEmpty)
    hand.put(.backgrounded)
    hand.put(.foregrounded)
    #expect(hand.pushes.isEmpty)
    try #require(hand.request != nil, "\(hand.replica)")
    hand.answerPoll()
    #expect(hand.replica.freshness(at: hand.now).claim == .connected, "\(hand.replica)")
    #expect(hand.pushes.count == 1)
  }
}
