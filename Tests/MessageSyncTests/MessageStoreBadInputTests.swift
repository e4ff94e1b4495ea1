import MessageSync
import TestSupport
import Testing
import UpdateMachine

/// Tests that whatever a server says, it costs knowledge at most.
@Suite struct MessageStoreBadInputTests {
  typealias Narrow = MessageFilter<Int64>
  typealias Store = MessageStore<Narrow>

  static let numbers: [Int64] = [.min, .min + 1, -1, 0, 1, 2, 3, 4, 5, .max - 1, .max]
  static let narrows: [Narrow] = [
    Narrow(), Narrow([.channel(ChannelID(1))]), Narrow([.starred]), Narrow([!.topic("a")]),
    Narrow([.channel(ChannelID(2)), .unread]), Narrow([.text("x")]),
  ]

  @Test(arguments: 0..<4)
  func `random answers never trap, and lists contain only held messages`(share: Int) {
    for seed in 0..<250 {
      var dice = SplitMix(UInt64(share * 250 + seed))
      var store = Store(following: [ChannelID(2), ChannelID(1), ChannelID(1)])
      var fetches: UInt64 = 0
      for _ in 0..<80 {
        MessageStoreBadInputTests.step(&store, &fetches, &dice)
        guard MessageStoreBadInputTests.isLevel(store) else {
          Issue.record("seed \(share * 250 + seed)")
          return
        }
      }
    }
  }

  static func step(_ store: inout Store, _ fetches: inout UInt64, _ dice: inout SplitMix) {
    switch dice.roll(16) {
    case 0...5: store.apply(event(&dice))
    case 6: store.asked()
    case 7: store.answered()
    case 8, 9:
      // Now and then a number is used twice.
      if dice.roll(8) > 0 { fetches += 1 }
      store.begin(
        RequestID(incarnation: Incarnation(0), part: .pages, number: fetches), request(&dice),
        isAudit: dice.roll(4) == 0)
    case 10, 11, 12:
      let number = UInt64(dice.roll(Int64(fetches) + 1))
      _ = store.take(
        page(&dice), for: RequestID(incarnation: Incarnation(0), part: .pages, number: number))
    case 13:
      for id in store.suspects {
        fetches += 1
        let fetch = RequestID(incarnation: Incarnation(0), part: .pages, number: fetches)
        store.begin(fetch, PageRequest(id), isAudit: true)
        if dice.flip() { _ = store.take(page(&dice), for: fetch) }
      }
    case 14:
      switch dice.roll(6) {
      case 0: store.close(narrow(&dice))
      case 1: store.drop(id(&dice))
      case 2: store.reconsider(narrow(&dice))
      case 3: store.abandonFetches()
      case 4:
        store.abandon(
          RequestID(incarnation: Incarnation(0), part: .pages, number: UInt64(dice.roll(9))))
      default: store = Store(following: [ChannelID(1)], after: store)
      }
    default: store.open(narrow(&dice))
    }
    let window = ListWindow(.id(id(&dice)), before: number(&dice), after: number(&dice))
    for narrow in store.narrows { _ = store.list(of: narrow)?.excerpt(of: window) }
  }

  /// Whether every list has exactly the held messages of its narrow.
  static func isLevel(_ store: Store) -> Bool {
    for narrow in store.narrows {
      var expected: [MessageID] = []
      for message in store.messages
      where store.canBeKnown(narrow) && narrow.verdict(on: PartialMessage(message)) == .yes {
        expected.append(message.id)
      }
      guard store.list(of: narrow)?.ids.map(\.key) == expected else { return false }
    }
    return store.messages.allSatisfy { $0.place.channel.map(store.follows) ?? true }
  }

  // MARK: Anything

  static func number(_ dice: inout SplitMix) -> Int64 {
    numbers[Int(dice.roll(Int64(numbers.count)))]
  }

  static func id(_ dice: inout SplitMix) -> MessageID { MessageID(number(&dice)) }

  static func ids(_ dice: inout SplitMix) -> [MessageID] {
    (0..<dice.roll(4)).map { _ in id(&dice) }
  }

  static func narrow(_ dice: inout SplitMix) -> Narrow {
    narrows[Int(dice.roll(Int64(narrows.count)))]
  }

  static func place(_ dice: inout SplitMix) -> MessagePlace {
    dice.roll(5) == 0
      ? .direct(ConversationID(1))
      : .channel(ChannelID(dice.roll(3) + 1), topic: dice.flip() ? "a" : "b")
  }

  static func flags(_ dice: inout SplitMix) -> MessageFlags {
    MessageFlags(rawValue: UInt16(dice.roll(4)))
  }

  static func message(_ dice: inout SplitMix) -> ChatMessage<Int64> {
    let one = MessageReaction(user: UserID(dice.roll(2)), emoji: "+1")
    return ChatMessage(
      id: id(&dice), sender: UserID(1), place: place(&dice), content: number(&dice),
      version: number(&dice), flags: flags(&dice), reactions: dice.flip() ? [one, one] : [])
  }

  static func event(_ dice: inout SplitMix) -> Store.Event {
    switch dice.roll(8) {
    case 0: return .new(message(&dice))
    case 1, 2:
      let move = MessageUpdate<Int64>.Move(from: place(&dice), to: place(&dice))
      var update = MessageUpdate(moving: ids(&dice), move, version: number(&dice))
      if dice.flip() { update.version = nil }
      if dice.flip() {
        update.edit = .init(id(&dice), content: 1, flags: flags(&dice), of: flags(&dice))
      }
      if dice.roll(4) == 0 { update.move = nil }
      return .updated(update)
    case 3: return .deleted(ids(&dice))
    case 4: return .flagged(ids(&dice), flags(&dice), isSet: dice.flip())
    case 5: return .flaggedAll(flags(&dice), isSet: dice.flip())
    case 6:
      return .reacted(
        id(&dice), MessageReaction(user: UserID(dice.roll(2)), emoji: "+1"), isSet: dice.flip())
    default: return .covered(ChannelID(dice.roll(4)), follows: dice.flip())
    }
  }

  static func request(_ dice: inout SplitMix) -> PageRequest<Narrow, MessageID> {
    guard dice.roll(3) > 0 else { return PageRequest(id(&dice)) }
    let anchors: [PageAnchor<MessageID>] = [.oldest, .newest, .firstUnread, .id(id(&dice))]
    return PageRequest(
      narrow(&dice), anchors[Int(dice.roll(4))], before: number(&dice), after: number(&dice))
  }

  static func page(_ dice: inout SplitMix) -> MessagePage<Int64> {
    var messages = (0..<dice.roll(4)).map { _ in message(&dice) }
    if dice.roll(4) > 0 { messages.sort { $0.id < $1.id } }
    return MessagePage(
      messages: messages, anchor: dice.flip() ? id(&dice) : nil, foundOldest: dice.flip(),
      foundNewest: dice.flip(), isHistoryLimited: dice.roll(4) == 0)
  }

  // MARK: By hand

  @Test func `a page out of order, with a duplicate, or of another ID is refused`() {
    var store = Store(following: [ChannelID(1)])
    store.open(Narrow())
    let one = ChatMessage<Int64>(
      id: MessageID(1), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 0)
    var two = one
    two.id = MessageID(2)
    let whole = { (messages: [ChatMessage<Int64>], anchor: MessageID?) in
      MessagePage(messages: messages, anchor: anchor, foundOldest: true, foundNewest: true)
    }
    let about = PageRequest(Narrow(), .id(MessageID(1)), before: 1, after: 1)
    let refused: [(PageRequest<Narrow, MessageID>, MessagePage<Int64>)] = [
      (about, whole([two, one], nil)), (about, whole([one, one], nil)),
      (about, whole([one], MessageID(9))), (PageRequest(MessageID(1)), whole([two], nil)),
      (PageRequest(MessageID(1)), whole([one, two], nil)),
    ]
    for (number, (request, page)) in refused.enumerated() {
      let fetch = RequestID(incarnation: Incarnation(0), part: .pages, number: UInt64(number))
      store.begin(fetch, request)
      #expect(store.take(page, for: fetch) == .malformed)
      #expect(store.openFetches == [] && store.count == 0)
      #expect(store.list(of: Narrow())?.knowledge.isEmpty == true)
    }
  }

  @Test func `a new message in a channel without events is dropped even if it was held`() {
    var store = Store(following: [ChannelID(1)])
    store.open(Narrow())
    var one = ChatMessage<Int64>(
      id: MessageID(1), sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 0)
    let fetch = RequestID(incarnation: Incarnation(0), part: .pages, number: 1)
    store.begin(fetch, PageRequest(Narrow(), .newest, before: 9, after: 0))
    store.apply(.new(one))
    #expect(store.count == 1)
    one.place = .channel(ChannelID(7), topic: "a")
    store.apply(.new(one))
    #expect(store.count == 0)
    let page = MessagePage<Int64>(messages: [], foundOldest: true, foundNewest: true)
    #expect(store.take(page, for: fetch) == .taken)
    #expect(store.list(of: Narrow())?.description == "0 of [begin…end]")
  }

  @Test func `a deleted message is no longer shown, not even as a copy`() {
    let search = Narrow([.text("x")])
    var store = Store(following: [ChannelID(1)])
    let id = MessageID(1)
    let one = ChatMessage<Int64>(
      id: id, sender: UserID(1), place: .channel(ChannelID(1), topic: "a"), content: 0)
    for narrow in [Narrow(), search] {
      store.open(narrow)
      store.begin(
        RequestID(incarnation: Incarnation(0), part: .pages, number: 1),
        PageRequest(narrow, .newest, before: 9, after: 0))
      _ = store.take(
        MessagePage(messages: [one], foundOldest: true, foundNewest: true),
        for: RequestID(incarnation: Incarnation(0), part: .pages, number: 1))
    }
    store = Store(following: [ChannelID(1)], after: store)
    for narrow in [Narrow(), search] {
      #expect(store.message(id, in: narrow) == one)
      #expect(
        store.list(of: narrow)?.excerpt(of: .newest(9)).rows == [.former(id), .gap(.everything)])
    }
    store.apply(.deleted([id]))
    for narrow in [Narrow(), search] {
      #expect(store.message(id, in: narrow) == nil)
      #expect(store.list(of: narrow)?.excerpt(of: .newest(9)).rows == [.gap(.everything)])
    }
  }

  @Test func `ten thousand flags of one answer are settled at once`() {
    var store = Store(following: [])
    let ids = (1...10_000).map { MessageID($0) }
    store.apply(.flagged(ids, .starred, isSet: true))
    store.apply(.flagged(ids.reversed(), .starred, isSet: false))
    store.answered()
    #expect(store.count == 0)
  }
}
