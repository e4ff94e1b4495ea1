import MessageSync
import Testing

@testable import UpdateMachine

/// Tests when the planner reads a suspect once more (PartialKnowledge R13).
@Suite struct SecondReadingTests {
  typealias Narrow = MessageFilter<UInt32>
  typealias Planner = PagePlanner<MessageStore<Narrow>>

  /// A client that holds one starred message, whose list is open.
  struct Client {
    var store = MessageStore<Narrow>(following: [ChannelID(1)])
    var planner = Planner(incarnation: Incarnation(1))
    var now = Moment(milliseconds: 0)
    let id = MessageID(7)
    let window: WindowID

    var message: ChatMessage<UInt32> {
      ChatMessage(
        id: id, sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 1,
        flags: .starred)
    }

    init() {
      window = planner.open(Narrow(), .newest(5))
      var effects = Planner.Effects()
      planner.plan(&store, &effects, isLive: true, at: now)
      effects = answer(effects.fetch[0].id, [message], isWhole: true)
      #expect(effects.fetch.isEmpty)
    }

    mutating func answer(
      _ fetch: RequestID, _ messages: [ChatMessage<UInt32>], isWhole: Bool = false
    ) -> Planner.Effects {
      let page = MessagePage(messages: messages, foundOldest: isWhole, foundNewest: isWhole)
      let outcome = store.take(page, for: fetch)
      #expect(outcome == .taken)
      return handle(.answered(fetch, outcome, anchor: nil))
    }

    mutating func hear(
      _ events: [MessageEvent<UInt32>] = [], isComplete: Bool = true
    ) -> Planner.Effects {
      store.handle(.asked)
      for event in events { store.apply(event) }
      store.handle(isComplete ? .answered : .answeredInPart)
      return plan()
    }

    mutating func handle(_ input: Planner.Input) -> Planner.Effects {
      var effects = Planner.Effects()
      planner.note(input, &store, &effects, at: now)
      planner.plan(&store, &effects, isLive: true, at: now)
      return effects
    }

    mutating func plan() -> Planner.Effects {
      var effects = Planner.Effects()
      planner.plan(&store, &effects, isLive: true, at: now)
      return effects
    }

    mutating func open(
      _ narrow: Narrow, _ window: ListWindow<MessageID>
    ) -> (WindowID, Planner.Effects) {
      let id = planner.open(narrow, window)
      return (id, plan())
    }

    mutating func wait(_ span: TimeSpan) -> Planner.Effects {
      now = now + span
      return plan()
    }
  }

  /// The story of seed 670 of messages. A flag is in doubt, so the message is fetched by its ID.
  /// But the message is gone, and nobody was told. So it becomes suspect. Its second reading is the
  /// same request as the one for the doubt, and was sent only as that: each minute for ever,
  /// without ever mending anything.
  @Test func `a message in doubt that is gone without an event is dropped`() {
    var client = Client()
    let contrary = [true, false].map {
      MessageEvent<UInt32>.flagged([client.id, MessageID(1)], .starred, isSet: $0)
    }
    var effects = client.hear(contrary)
    #expect(client.store.doubtful == [client.id])
    var questions = 0
    for _ in 0..<60 where client.store[client.id] != nil {
      for (fetch, request) in effects.fetch {
        #expect(request == PageRequest(client.id))
        questions += 1
        _ = client.answer(fetch, [])
      }
      _ = client.hear()
      effects = client.wait(.seconds(5))
    }
    #expect(client.store[client.id] == nil)
    #expect(client.store.auditCounts.repairs == 1)
    #expect(client.store.secondReadings == 1)
    #expect(questions < 10)
  }

  @Test func `each suspect waits for its own pause and is read once`() {
    var client = Client()
    let settings = PageSettings()
    var changed = client.message
    changed.flags = []
    var effects = client.open(Narrow([.channel(ChannelID(1))]), .newest(5)).1
    effects = client.answer(effects.fetch[0].id, [changed], isWhole: true)
    #expect(client.store.openAudits == 1)
    effects = client.hear()
    #expect(client.store.suspects == [client.id])
    #expect(effects.fetch.isEmpty)
    #expect(effects.arm?.range == MomentRange(at: client.now + settings.secondReadingAfter))
    let almost = TimeSpan(milliseconds: settings.secondReadingAfter.milliseconds - 1)
    #expect(client.wait(almost).fetch.isEmpty)
    effects = client.wait(.milliseconds(1))
    #expect(effects.fetch.map(\.request) == [PageRequest(client.id)])
    #expect(client.store.suspects == [])
    #expect(client.wait(.milliseconds(1)).fetch.isEmpty)
    _ = client.answer(effects.fetch[0].id, [changed])
    #expect(client.store[client.id]?.flags == [])
    #expect(client.store.openAudits == 0)
    #expect(client.store.secondReadings == 1)
  }

  @Test func `an answer in part that both sets and clears a flag leaves it in doubt`() {
    var client = Client()
    let contrary = [true, false].map {
      MessageEvent<UInt32>.flagged([client.id, MessageID(1)], .mentioned, isSet: $0)
    }
    _ = client.hear(contrary, isComplete: false)
    #expect(client.store.doubtful == [client.id])
  }

  @Test func `a page's contradiction is suspect after a whole answer, not after one in part`() {
    var client = Client()
    var changed = client.message
    changed.flags = []
    let effects = client.open(Narrow([.channel(ChannelID(1))]), .newest(5)).1
    _ = client.answer(effects.fetch[0].id, [changed], isWhole: true)
    _ = client.hear(isComplete: false)
    #expect(client.store.suspects == [])
    #expect(client.store.openAudits == 1)
    _ = client.hear()
    #expect(client.store.suspects == [client.id])
  }

  /// The story of seed 3397 of messages. The fetch that is out also serves a window that wants
  /// less, but the planner forgot the fetch itself. So when it failed, it was repeated at once.
  @Test func `a failed fetch that became smaller is not repeated at once`() {
    var client = Client()
    let full = ListWindow<MessageID>(.firstUnread, before: 1, after: 2)
    let less = ListWindow<MessageID>(.firstUnread, before: 0, after: 2)
    let (window, opened) = client.open(Narrow([.channel(ChannelID(1))]), full)
    var effects = client.handle(.moved(window, less))
    #expect(effects.cancel.isEmpty && effects.fetch.isEmpty)
    _ = client.handle(.failed(opened.fetch[0].id, .timedOut))
    client.now = client.now + .milliseconds(600)
    effects = client.handle(.moved(window, full))
    #expect(effects.fetch.isEmpty)
    effects = client.wait(.milliseconds(400))
    #expect(effects.fetch.count == 1)
  }
}
