import Testing

@testable import MessageSync
@testable import UpdateMachine

/// Tests that the rest of the model hears what a page settles or repairs in messages.
@Suite struct MendingTests {
  private static let id = MessageID(500)
  static let narrow = MessageFilter<Int>([.channel(ChannelID(1))])

  /// A client of the messages in channel 1. It holds one, which is starred.
  struct Client {
    var store = MessageStore<MessageFilter<Int>>(following: [ChannelID(1)])
    var fetchCount: UInt64 = 0

    init() {
      store.open(MendingTests.narrow)
      take([MendingTests.message(.starred)])
    }

    mutating func begin(
      _ request: PageRequest<MessageFilter<Int>, MessageID>, isAudit: Bool = false
    ) -> RequestID {
      fetchCount += 1
      let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: fetchCount)
      store.begin(fetch, request, isAudit: isAudit)
      return fetch
    }

    /// Takes a page of the whole list.
    mutating func take(_ messages: [ChatMessage<Int>]) {
      let fetch = begin(PageRequest(MendingTests.narrow, .newest, before: 9, after: 0))
      let page = MessagePage(messages: messages, foundOldest: true, foundNewest: true)
      #expect(store.take(page, for: fetch) == .taken)
    }

    /// Takes the answer for one message, which may be that it is not there.
    mutating func take(_ message: ChatMessage<Int>?, for fetch: RequestID) {
      let messages = message.map { [$0] } ?? []
      #expect(store.take(MessagePage(messages: messages), for: fetch) == .taken)
    }

    mutating func hear(_ events: [MessageEvent<Int>] = []) {
      store.asked()
      for event in events { store.apply(event) }
      store.answered()
    }
  }

  static func message(_ number: Int, in channel: Int64) -> ChatMessage<Int> {
    ChatMessage(
      id: MessageID(Int64(number)), sender: UserID(1),
      place: .channel(ChannelID(channel), topic: "a"), content: number)
  }

  static func message(_ flags: MessageFlags) -> ChatMessage<Int> {
    var message = MendingTests.message(500, in: 1)
    message.flags = flags
    return message
  }

  /// Two changes that the server has merged. Nobody can tell which came last.
  private static let contrary = [true, false].map {
    MessageEvent<Int>.flagged([id, MessageID(1)], .starred, isSet: $0)
  }

  @Test func `a doubt that a page settles is reported as mended once`() {
    var client = Client()
    #expect(client.store.takeMended() == [])
    client.hear(Self.contrary)
    #expect(client.store.doubtful == [Self.id])
    client.take(Self.message(.starred), for: client.begin(PageRequest(Self.id)))
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == [Self.id])
    #expect(client.store.takeMended() == [])
  }

  @Test func `only a page that left after the doubt settles it`() {
    var client = Client()
    let early = client.begin(PageRequest(Self.id))
    client.hear(Self.contrary)
    client.take(Self.message([]), for: early)
    #expect(client.store.doubtful == [Self.id])
    #expect(client.store.takeMended() == [])
    // Everybody hears an event that ends a doubt.
    client.hear([.flagged([Self.id], .starred, isSet: true)])
    client.take(Self.message(.starred), for: client.begin(PageRequest(Self.id)))
    #expect(client.store.takeMended() == [])
  }

  @Test func `the audit reports repairs as mended, not suspicions`() {
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

  @Test func `the audit reports dropped messages as mended`() {
    var client = Client()
    client.take([])
    client.hear()
    client.take(nil, for: client.begin(PageRequest(Self.id), isAudit: true))
    #expect(client.store[Self.id] == nil)
    #expect(client.store.takeMended() == [Self.id])
  }

  // MARK: What is not held, and counted

  /// A client that counts stars. A message that it does not hold has a star in doubt.
  private static func counting(_ events: [MessageEvent<Int>]) -> Client {
    var client = Client()
    client.store.countedFlags = [.starred, .read]
    client.hear(events)
    return client
  }

  private static let stranger = MessageID(400)
  private static let contraryOfStranger = [true, false].map {
    MessageEvent<Int>.flagged([stranger, MessageID(1)], .starred, isSet: $0)
  }

  private static func stranger(_ flags: MessageFlags) -> ChatMessage<Int> {
    var message = MendingTests.message(400, in: 1)
    message.flags = flags
    return message
  }

  @Test func `messages that are not held are asked for only if the app counts them`() {
    var client = Client()
    client.hear(Self.contraryOfStranger)
    #expect(client.store.doubtful == [])
    #expect(Self.counting(Self.contraryOfStranger).store.doubtful == [Self.stranger])
    let both = Self.counting(Self.contrary + Self.contraryOfStranger)
    #expect(both.store.doubtful == [Self.stranger, Self.id])
    let other = [true, false].map {
      MessageEvent<Int>.flagged([Self.stranger, MessageID(1)], .collapsed, isSet: $0)
    }
    #expect(Self.counting(other).store.doubtful == [])
  }

  /// Without it, nothing is known of its flags: it may only be out of the user's sight.
  @Test(arguments: [true, false])
  func `a page with the message mends the doubt, and one without it ends it`(_ isThere: Bool) {
    var client = Self.counting(Self.contraryOfStranger)
    let copy = isThere ? Self.stranger(.starred) : nil
    client.take(copy, for: client.begin(PageRequest(Self.stranger)))
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == (isThere ? [Self.stranger] : []))
    #expect(client.store[Self.stranger] == copy)
  }

  @Test func `a page that left before the doubt does not mend it, the next one does`() {
    var client = Client()
    client.store.countedFlags = .starred
    let early = client.begin(PageRequest(Self.stranger))
    client.hear(Self.contraryOfStranger)
    client.take(Self.stranger([]), for: early)
    #expect(client.store.doubtful == [Self.stranger])
    #expect(client.store.takeMended() == [])
    client.take(Self.stranger(.starred), for: client.begin(PageRequest(Self.stranger)))
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == [Self.stranger])
  }

  @Test(arguments: [
    MessageEvent.flagged([stranger], .starred, isSet: true), .deleted([stranger]),
    .flaggedAll(.starred, isSet: false), .new(stranger([])),
  ])
  func `an event that names the flag ends the doubt`(_ event: MessageEvent<Int>) {
    var client = Self.counting(Self.contraryOfStranger)
    client.hear([event])
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == [])
  }

  @Test func `a page from a channel without events ends the doubt and repairs nothing`() {
    var client = Self.counting(Self.contraryOfStranger)
    let elsewhere = MendingTests.message(400, in: 9)
    client.take(elsewhere, for: client.begin(PageRequest(Self.stranger)))
    #expect(client.store.doubtful == [])
    #expect(client.store.takeMended() == [])
  }

  @Test func `a message that is no longer held stays in doubt`() {
    var client = Self.counting(Self.contrary)
    client.store.drop(Self.id)
    #expect(client.store[Self.id] == nil)
    #expect(client.store.doubtful == [Self.id])
  }
}
