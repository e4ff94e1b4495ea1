import Testing

@testable import MessageSync
@testable import UpdateMachine

/// Tests lists that show copies of messages of which no events come (R15).
@Suite struct CopiesTests {
  private typealias Store = MessageStore<StoredFilter>

  /// A narrow that can be saved.
  struct StoredFilter: MessageNarrow, Storable {
    var isStarred: Bool
    var filter: MessageFilter<Int64> { MessageFilter(isStarred ? [.starred] : []) }
    var reads: MessageFields { filter.reads }
    var isDecidable: Bool { true }
    var channel: ChannelID? { nil }

    func verdict(on partialMessage: PartialMessage<Int64>) -> Verdict {
      filter.verdict(on: partialMessage)
    }

    init(isStarred: Bool) { self.isStarred = isStarred }
    func put(into bytes: inout ByteWriter) { bytes.put(isStarred) }
    init(from bytes: inout ByteReader) throws(StoredFormError) { isStarred = try bytes.takeBool() }
  }

  private static let starred = StoredFilter(isStarred: true)
  private static let everything = StoredFilter(isStarred: false)

  /// A client that follows channel 1. Its user was in channel 2, and has messages from there.
  private struct Client {
    var store = Store(following: [ChannelID(1)])
    var fetches: UInt64 = 0

    init(_ narrows: StoredFilter...) { for narrow in narrows { store.open(narrow) } }

    mutating func take(
      _ request: PageRequest<StoredFilter, MessageID>, _ messages: [ChatMessage<Int64>],
      after events: [MessageEvent<Int64>] = []
    ) {
      fetches += 1
      let fetch = RequestID(incarnation: Incarnation(1), part: .pages, number: fetches)
      store.begin(fetch, request)
      hear(events)
      let isList = request.narrow != nil
      let page = MessagePage(messages: messages, foundOldest: isList, foundNewest: isList)
      #expect(store.take(page, for: fetch) == .taken)
    }

    mutating func take(_ narrow: StoredFilter, _ messages: ChatMessage<Int64>...) {
      take(PageRequest(narrow, .newest, before: 20, after: 0), messages)
    }

    mutating func hear(_ events: [MessageEvent<Int64>]) {
      store.asked()
      for event in events { store.apply(event) }
      store.answered()
    }

    /// "1 (2) 3": what a window on the newest messages shows, copies in brackets.
    func shown(_ narrow: StoredFilter, _ count: Int64 = 9) -> String {
      let view = WindowView(narrow, .newest(count), of: store)
      return view.rows.map { row in
        switch row {
        case .item(let message): "\(message.id)"
        case .former(let id, let message): message == nil ? "(\(id)?)" : "(\(id))"
        case .gap(let gap): "…\(gap)…"
        }
      }.joined(separator: " ")
    }

    func isComplete(_ narrow: StoredFilter) -> Bool {
      WindowView(narrow, .newest(9), of: store).isComplete
    }
  }

  private static func message(
    _ id: Int64, in channel: Int64, _ flags: MessageFlags = .starred
  ) -> ChatMessage<Int64> {
    ChatMessage(
      id: MessageID(id), sender: UserID(1), place: .channel(ChannelID(channel), topic: "a"),
      content: 0, flags: flags)
  }

  @Test func `a starred message of a channel that was left is shown, and the list is complete`() {
    var client = Client(Self.starred)
    client.take(
      Self.starred, Self.message(10, in: 1), Self.message(20, in: 2), Self.message(30, in: 1))
    #expect(client.shown(Self.starred) == "10 (20) 30")
    #expect(client.isComplete(Self.starred))
    #expect(client.store[MessageID(20)] == nil, "it is not held")
    #expect(client.shown(Self.starred, 2) == "(20) 30")
    #expect(client.shown(Self.starred, 1) == "30")
  }

  @Test func `copies count as rows, and none is left out where the window claims its beginning`() {
    var client = Client(Self.starred)
    client.take(
      PageRequest(Self.starred, .newest, before: 20, after: 0),
      [Self.message(5, in: 1)] + (10..<20).map { Self.message($0, in: 2) })
    for count in 1...12 as ClosedRange<Int64> {
      let view = WindowView(Self.starred, .newest(count), of: client.store)
      #expect(view.rows.count == Int(min(count, 11)))
      #expect(view.reachesBeginning == (count >= 11) && view.isComplete)
    }
    let oldest = WindowView(
      Self.starred, ListWindow(.oldest, before: 0, after: 3), of: client.store)
    #expect(oldest.rows.count == 3 && !oldest.reachesEnd && oldest.reachesBeginning)
  }

  @Test func `a copy that moves on without events stays, and what was held goes with its row`() {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(10, in: 1), Self.message(20, in: 2))
    let topic = MessageUpdate<Int64>.Move(
      from: .channel(ChannelID(2), topic: "a"), to: .channel(ChannelID(3), topic: "b"))
    client.hear([.updated(MessageUpdate(moving: [MessageID(20)], topic, version: nil))])
    #expect(client.shown(Self.starred) == "10 (20)")
    let copy = client.store.message(MessageID(20), in: Self.starred)
    #expect(copy?.place == .channel(ChannelID(3), topic: "b"))
    let away = MessageUpdate<Int64>.Move(
      from: .channel(ChannelID(1), topic: "a"), to: .channel(ChannelID(2), topic: "a"))
    client.hear([.updated(MessageUpdate(moving: [MessageID(10)], away, version: nil))])
    #expect(client.shown(Self.starred) == "(20)")
    // The same while a page is out that was read before.
    client.take(
      PageRequest(Self.starred, .newest, before: 20, after: 0), [Self.message(20, in: 2)],
      after: [.updated(MessageUpdate(moving: [MessageID(20)], topic, version: nil))])
    #expect(client.shown(Self.starred) == "(20)")
  }

  @Test func `an empty answer that is older than an event takes nothing away`() {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(20, in: 2))
    client.take(
      PageRequest(MessageID(20)), [],
      after: [.flagged([MessageID(20)], .read, isSet: true)])
    #expect(client.shown(Self.starred) == "(20)")
  }

  @Test func `an edit and a reaction change a copy, which is saved by itself`() throws {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(20, in: 2), Self.message(21, in: 2))
    let before = client.store
    let reaction = MessageReaction(user: UserID(3), emoji: "5")
    client.hear([
      .updated(MessageUpdate(.init(MessageID(20), content: 7), version: 9)),
      .reacted(MessageID(20), reaction, isSet: true),
    ])
    let copy = client.store.message(MessageID(20), in: Self.starred)
    #expect(copy?.content == 7 && copy?.reactions == [reaction])
    var step = RowWriter()
    client.store.store(since: before, into: &step, from: .firstOfModel)
    let copies = Store.Tables(from: .firstOfModel).copies
    #expect(step.rows.filter { $0.key.table == copies }.count == 1)
  }

  @Test func `following another channel keeps the copies, until the list is read anew`() {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(20, in: 2))
    client.hear([.covered(ChannelID(3), follows: true)])
    client.hear([.covered(ChannelID(4), follows: true)])
    #expect(client.shown(Self.starred).contains("(20)"))
  }

  @Test func `who leaves a channel goes on seeing what was there, once the list is read anew`() {
    var client = Client(Self.starred)
    client.hear([.covered(ChannelID(2), follows: true)])
    client.take(Self.starred, Self.message(10, in: 1), Self.message(20, in: 2))
    #expect(client.shown(Self.starred) == "10 20")
    client.hear([.covered(ChannelID(2), follows: false)])
    #expect(client.shown(Self.starred).contains("(20)"), "shown meanwhile")
    client.take(Self.starred, Self.message(10, in: 1), Self.message(20, in: 2))
    #expect(client.shown(Self.starred) == "10 (20)")
    // And who comes back has it as before.
    client.hear([.covered(ChannelID(2), follows: true)])
    client.take(Self.starred, Self.message(10, in: 1), Self.message(20, in: 2))
    #expect(client.shown(Self.starred) == "10 20")
    #expect(client.store[MessageID(20)] != nil)
  }

  @Test func `the user's own flags reach a copy, and it leaves the list with its star`() {
    var client = Client(Self.starred, Self.everything)
    let copy = Self.message(20, in: 2)
    client.take(Self.starred, copy)
    client.take(Self.everything, copy)
    client.hear([.flagged([MessageID(20)], .read, isSet: true)])
    let read = client.store.message(MessageID(20), in: Self.everything)
    #expect(read?.flags == [.starred, .read])
    client.hear([.flagged([MessageID(20)], .starred, isSet: false)])
    #expect(client.shown(Self.starred) == "")
    #expect(client.shown(Self.everything) == "(20)")
    client.hear([.flaggedAll(.read, isSet: false)])
    #expect(client.store.message(MessageID(20), in: Self.everything)?.flags == [])
    client.hear([.deleted([MessageID(20)])])
    #expect(client.shown(Self.everything) == "")
  }

  @Test func `a star brings it in, when the server has said what it is`() {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(10, in: 1))
    client.hear([.flagged([MessageID(20)], .starred, isSet: true)])
    #expect(!client.isComplete(Self.starred))
    client.take(PageRequest(MessageID(20)), [Self.message(20, in: 2)])
    #expect(client.shown(Self.starred) == "10 (20)")
    #expect(client.isComplete(Self.starred))
    // An answer that it is gone takes it out.
    client.take(PageRequest(MessageID(20)), [])
    #expect(client.shown(Self.starred) == "10")
  }

  @Test func `a page that is older than an event does not bring back what the event took`() {
    var client = Client(Self.starred)
    client.take(
      PageRequest(Self.starred, .newest, before: 20, after: 0), [Self.message(20, in: 2)],
      after: [.flagged([MessageID(20)], .starred, isSet: false)])
    #expect(client.shown(Self.starred) == "")
    // Nor does one that lacks it take what an event has brought since.
    client.take(Self.starred, Self.message(20, in: 2))
    client.take(
      PageRequest(Self.starred, .newest, before: 20, after: 0), [],
      after: [.flagged([MessageID(20)], .starred, isSet: true)])
    #expect(client.shown(Self.starred).contains("(20)"))
    client.take(Self.starred)
    #expect(client.shown(Self.starred) == "")
  }

  @Test func `an old copy does not stand beside what is held`() {
    var client = Client(Self.everything)
    client.take(Self.everything, Self.message(20, in: 1))
    client.take(Self.everything, Self.message(20, in: 2))
    client.take(PageRequest(MessageID(20)), [Self.message(20, in: 2)])
    #expect(client.shown(Self.everything) == "20")
    #expect(client.store.list(of: Self.everything)?.copied.isEmpty == true)
  }

  @Test func `a message that moves to where events come from is held, and no copy`() {
    var client = Client(Self.everything)
    client.take(Self.everything, Self.message(20, in: 2))
    let move = MessageUpdate<Int64>.Move(
      from: .channel(ChannelID(2), topic: "a"), to: .channel(ChannelID(1), topic: "a"))
    client.hear([.updated(MessageUpdate(moving: [MessageID(20)], move, version: nil))])
    client.take(PageRequest(MessageID(20)), [Self.message(20, in: 1)])
    #expect(client.shown(Self.everything) == "20")
    client.take(Self.everything, Self.message(20, in: 1))
    #expect(client.store.list(of: Self.everything)?.copied.isEmpty == true)
  }

  @Test func `copies are saved with their list, and go with it`() throws {
    var client = Client(Self.starred)
    client.take(Self.starred, Self.message(10, in: 1), Self.message(20, in: 2))
    let table = StoredTable.firstOfModel
    var rows = RowWriter()
    client.store.store(since: nil, into: &rows, from: table)
    let restored = try Store(
      stored: RowReader(rows.rows.map { ($0.key, $0.value ?? []) }), from: table)
    #expect(restored.isSame(as: client.store))
    let before = client.store
    client.store.close(Self.starred)
    var step = RowWriter()
    client.store.store(since: before, into: &step, from: table)
    let copies = Store.Tables(from: table).copies
    #expect(step.rows.contains { $0.key.table == copies && $0.value == nil })
  }
}
