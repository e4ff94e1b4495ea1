import Testing

@testable import UpdateMachine

/// What a page settles or repairs of messages is heard by the rest of the model.
@Suite struct MendingTests {
  private static let id = MessageID(500)

  /// A client of messages in channel 1, one of which it holds, starred.
  struct Client {
    var store = MessageStore<ShelfNarrow>(following: [ChannelID(1)])
    var fetchCount: UInt64 = 0

    init() {
      store.open(PageBench.a)
      take([MendingTests.message(.starred)])
    }

    mutating func begin(_ request: PageRequest<ShelfNarrow>, isAudit: Bool = false) -> FetchID {
      fetchCount += 1
      let fetch = FetchID(life: Life(1), number: fetchCount)
      store.begin(fetch, request, isAudit: isAudit)
      return fetch
    }

    /// The whole list.
    mutating func take(_ messages: [Message<Int>]) {
      let fetch = begin(PageRequest(PageBench.a, .newest, before: 9, after: 0))
      let page = MessagePage(messages: messages, foundOldest: true, foundNewest: true)
      #expect(store.take(page, for: fetch) == .taken)
    }

    /// One message, or its lack.
    mutating func take(_ message: Message<Int>?, for fetch: FetchID) {
      let messages = message.map { [$0] } ?? []
      #expect(store.take(MessagePage(messages: messages), for: fetch) == .taken)
    }

    mutating func hear(_ events: [MessageEvent<Int>] = []) {
      store.asked()
      for event in events { store.apply(event) }
      store.answered()
    }
  }

  static func message(_ flags: MessageFlags) -> Message<Int> {
    var message = PageBench.message(500, in: 1)
    message.flags = flags
    return message
  }

  /// Merged by the server: nobody can tell which came last.
  private static let contrary = [true, false].map {
    MessageEvent<Int>.flagged([id, MessageID(1)], .starred, isSet: $0)
  }

  @Test func `a doubt that a page settles is noted once`() {
    var client = Client()
    #expect(client.store.takeMended() == [])
    client.hear(Self.contrary)
    #expect(client.store.doubtful == [Self.id])
    client.take(Self.message(.starred), for: client.begin(PageRequest(Self.id)))
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == [Self.id])
    #expect(client.store.takeMended() == [])
  }

  @Test func `a page that left before the doubt settles nothing, nor does one without any`() {
    var client = Client()
    let early = client.begin(PageRequest(Self.id))
    client.hear(Self.contrary)
    client.take(Self.message([]), for: early)
    #expect(client.store.doubtful == [Self.id])
    #expect(client.store.takeMended() == [])
    // An event that ends a doubt is heard by everybody.
    client.hear([.flagged([Self.id], .starred, isSet: true)])
    client.take(Self.message(.starred), for: client.begin(PageRequest(Self.id)))
    #expect(client.store.takeMended() == [])
  }

  @Test func `what the audit repairs is noted, not what it only suspects`() {
    var client = Client()
    client.take([Self.message([])])
    client.hear()
    #expect(client.store.suspects == [Self.id])
    #expect(client.store.takeMended() == [])
    let reading = client.begin(PageRequest(Self.id), isAudit: true)
    client.take(Self.message([]), for: reading)
    #expect(client.store[Self.id]?.flags == [])
    #expect(client.store.takeMended() == [Self.id])
  }

  @Test func `what the audit drops is noted, too`() {
    var client = Client()
    client.take([])
    client.hear()
    client.take(nil, for: client.begin(PageRequest(Self.id), isAudit: true))
    #expect(client.store[Self.id] == nil)
    #expect(client.store.takeMended() == [Self.id])
  }

  @Test func `the model hears of it as soon as the page is taken, and once`() {
    let (bench, _) = PageBench.following()
    bench.messages = [Self.message([])]
    let viewer = bench.look(PageBench.a, .newest(3))
    viewer.follow()
    bench.page()
    bench.batch(Self.contrary.reversed())
    #expect(bench.asked == ["message 500"])
    #expect(bench.read { $0.state.model?.heard } == [])
    // It is in the states that are shown with the page, and in what is saved next.
    let seen = Box<[[MessageID]]>([])
    bench.start { machine in
      for await state in await machine.states() {
        seen.change { $0.append(state.model?.heard ?? []) }
      }
    }
    bench.drain()
    bench.page()
    #expect(seen.value == [[], [Self.id]])
    #expect(bench.read { $0.replica.saved?.model.heard } == [Self.id])
    bench.batch([.reacted(Self.id, Reaction(user: UserID(1), emoji: "a"), isSet: true)])
    #expect(bench.read { $0.state.model?.heard } == [Self.id])
  }
}
