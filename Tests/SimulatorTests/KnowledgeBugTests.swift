import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Bugs of other projects about messages and partial lists, each in both orders of its race. The
/// numbers are those of the bug table.
@Suite struct KnowledgeBugTests {
  // MARK: Events and what is held

  @Test(arguments: [true, false])
  func `bug 39: a message that returns under a deleted ID is no duplicate`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commit(.moved(1, to: Tale.hidden))
    tale.hear()
    let page = tale.fetch(Tale.inA)
    tale.commit(.edited(1, 100))
    tale.commit(.moved(1, to: Tale.a))
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    // The message is fetched by its ID, and is what it is now.
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inA) == "1 2 of [begin…end]")
    #expect(tale.message(1)?.content == 100)
  }

  @Test(arguments: [true, false])
  func `bug 40: a flag that is set twice can be cleared`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, .read), lists: [Tale.inA, Tale.unread])
    let page = tale.fetch(Tale.unread)
    tale.read(page)
    tale.look(Tale.inA)
    for isSet in [false, false, true] {
      tale.commit(.flagged([MessageID(1), MessageID(1)], .read, isSet: isSet))
    }
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.unread) == "of [begin…end]")
    tale.commit(.flagged([MessageID(1)], .read, isSet: false))
    tale.hear()
    #expect(tale.list(Tale.unread) == "1 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `bug 41: a reaction in a page and in an event is one reaction`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.commit(.reacted(1))
    tale.commit(.reacted(1, by: 2))
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1)?.reactions.map(\.user.number) == [1, 2])
    tale.commit(.reacted(1, isSet: false))
    tale.hear()
    #expect(tale.message(1)?.reactions.map(\.user.number) == [2])
  }

  @Test(arguments: [true, false])
  func `bug 42: a list without events is shown, and never called complete`(isLeft: Bool) {
    let there = Tale.Narrow([.channel(ChannelID(4))])
    var tale = Tale((1, Tale.open, []), lists: [there, Tale.inOtherChannel])
    #expect(tale.answer(tale.fetch(there)) == .shown)
    #expect(tale.list(there) == "of nothing" && tale.message(1) == nil)
    #expect(tale.store.message(MessageID(1), in: there)?.content == 1)
    let rows = tale.store.list(of: there)?.excerpt(of: .newest(5)).rows
    #expect(rows == [.former(MessageID(1)), .gap(.everything)])
    // A channel that the user leaves while its page is out is such a place.
    tale.commit(.sent(2, to: Tale.otherChannel))
    tale.hear()
    let page = tale.fetch(Tale.inOtherChannel)
    tale.read(page)
    if !isLeft { tale.answer(page) }
    tale.commit(.covered(ChannelID(2), follows: false))
    tale.hear()
    if isLeft { #expect(tale.answer(page) == .absorbed) }
    #expect(tale.list(Tale.inOtherChannel) == "of nothing")
  }

  // MARK: New messages

  @Test(arguments: [true, false])
  func `bug 44: a message that comes while the page to the end is out is in the list`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.sent(2, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "1 2 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `bug 45: a new message beyond a gap is neither lost nor joined to old ones`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), (5, Tale.a, []), (9, Tale.a, []), lists: [Tale.inA])
    tale.answer(tale.fetch(Tale.inA, .oldest, before: 0, after: 1))
    let page = tale.fetch(Tale.inA, .newest, before: 1)
    tale.read(page)
    tale.commit(.sent(10, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "1 9 10 of [begin…1] [9…end]")
    let rows = tale.store.list(of: Tale.inA)?.excerpt(of: .newest(5)).rows
    #expect(rows?[1] == .gap(IDInterval(from: MessageID(2), to: MessageID(8))))
  }

  @Test(arguments: [true, false])
  func `bug 46: a live message is not appended to an outdated list`(isHeldAnyway: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.answer(tale.fetch(Tale.inA, .oldest, before: 0, after: 1))
    if isHeldAnyway { tale.look(Tale.inB) }
    let other = isHeldAnyway ? tale.fetch(Tale.inB) : 0
    tale.commit(.sent(97, to: Tale.a))
    tale.hear()
    tale.answer(other)
    #expect(!tale.knows(2, Tale.inA) && !tale.knows(97, Tale.inA))
    #expect(tale.list(Tale.inA) == (isHeldAnyway ? "1 97 of [begin…1]" : "1 of [begin…1]"))
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "1 2 3 97 of [begin…end]")
  }

  // MARK: Pages

  @Test(arguments: [true, false])
  func `bug 47: a page that is half known still brings its other half`(isNewestFirst: Bool) {
    var tale = Tale(lists: [Tale.inA])
    for number in 1...6 { tale.commit(.sent(Int64(number), to: Tale.a)) }
    tale.hear()
    let newest = tale.fetch(Tale.inA, .newest, before: 3)
    let about = tale.fetch(Tale.inA, .id(MessageID(3)), before: 2, after: 2)
    tale.answer(isNewestFirst ? newest : about)
    tale.answer(isNewestFirst ? about : newest)
    #expect(tale.list(Tale.inA) == "1 2 3 4 5 6 of [1…end]")
  }

  @Test(arguments: [true, false])
  func `bug 48: an older page leaves the newest end known`(isOlderFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    let newest = tale.fetch(Tale.inA, .newest, before: 1)
    let older = tale.fetch(Tale.inA, .id(MessageID(3)), before: 1, after: 0)
    tale.answer(isOlderFirst ? older : newest)
    tale.answer(isOlderFirst ? newest : older)
    #expect(tale.list(Tale.inA) == "2 3 of [2…end]")
    #expect(tale.store.list(of: Tale.inA)?.excerpt(of: .newest(2)).reachesEnd == true)
  }

  @Test(arguments: [true, false])
  func `bug 49: a list fetched anew claims the ends that were found, and no others`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "1 2 3 of [begin…end]")
    tale.step { $0.register() }
    let page = tale.fetch(Tale.inA, .id(MessageID(2)), before: 0, after: 0)
    tale.read(page)
    tale.commit(.sent(4, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA).hasSuffix("of [2]"))
    let excerpt = tale.store.list(of: Tale.inA)?.excerpt(
      of: ListWindow(.id(MessageID(2)), before: 5, after: 5))
    #expect(excerpt?.reachesBeginning == false && excerpt?.reachesEnd == false)
  }

  @Test(arguments: [true, false])
  func `bug 50: a moved message leaves the old list and is in the new one`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inA, Tale.inB])
    tale.look(Tale.inA)
    let page = tale.fetch(Tale.inB)
    tale.read(page)
    tale.commit(.moved(1, to: Tale.b))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.list(Tale.inB) == "1 2 of [begin…end]")
  }

  @Test(arguments: [true, false], [true, false])
  func `bug 51: a move into or out of a muted topic changes both lists`(
    isPageFirst: Bool, isHeld: Bool
  ) {
    // Topic b is muted, so the feed shows everything else.
    let feed = Tale.Narrow([!.topic("b")])
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [feed, Tale.inB])
    if isHeld { tale.look(Tale.inB) }
    let page = tale.fetch(feed)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.commit(.moved(1, to: Tale.b))
    tale.commit(.moved(2, to: Tale.a))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(feed) == (isHeld ? "2 of [begin…end]" : "of [begin…1] [3…end]"))
    tale.answer(tale.fetch(2))
    #expect(tale.list(feed) == "2 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `bugs 52 and 53: a list is in the order of its IDs as numbers`(isPageFirst: Bool) {
    var tale = Tale((9, Tale.a, []), (100, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    // The IDs are allocated in one order and committed in another.
    tale.commit(.sent(105, to: Tale.a))
    tale.commit(.sent(104, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "9 100 104 105 of [begin…end]")
  }

  // MARK: Events about what is not held

  @Test(arguments: [true, false])
  func `bug 54: a flag for a message that is not held lists no ID without a message`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.starred])
    let page = tale.fetch(Tale.starred)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.commit(.starred(1))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.starred) == "of [begin…0] [2…end]")
    let wants = tale.store.list(of: Tale.starred)?.excerpt(of: .newest(5)).wants
    #expect(wants == [.item(MessageID(1))])
  }

  @Test(arguments: [true, false])
  func `bug 55: a message in a page and in an event is there once`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.commit(.sent(2, to: Tale.a))
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "1 2 of [begin…end]")
    #expect(tale.store.count == 2)
  }

  @Test(arguments: [true, false])
  func `bug 56: a page that arrives after an event does not undo it`(isPageFirst: Bool) {
    var tale = Tale(
      (1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.deleted(1))
    tale.commit(.edited(2, 200))
    tale.commit(.moved(3, to: Tale.b))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "2 of [begin…end]")
    #expect(tale.list(Tale.inB) == "3 of nothing")
    #expect(tale.message(1) == nil && tale.message(2)?.content == 200)
  }

  // MARK: Own messages, orders and edges

  @Test(arguments: [true, false])
  func `bug 58: an own message proves only itself, not the end of the list`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA, .id(MessageID(1)), before: 0, after: 0)
    tale.read(page)
    tale.commit(.sent(3, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    tale.answer(tale.fetch(3))
    #expect(tale.list(Tale.inA) == "1 3 of [1]")
  }

  @Test(arguments: [true, false])
  func `bug 59: an older page that arrives after a newer one keeps the order`(isOlderFirst: Bool) {
    var tale = Tale(lists: [Tale.inA])
    for number in 1...6 { tale.commit(.sent(Int64(number), to: Tale.a)) }
    tale.hear()
    let older = tale.fetch(Tale.inA, .id(MessageID(3)), before: 2, after: 0)
    tale.read(older)
    tale.commit(.edited(3, 300))
    tale.hear()
    let newer = tale.fetch(Tale.inA, .newest, before: 4)
    tale.answer(isOlderFirst ? older : newer)
    tale.answer(isOlderFirst ? newer : older)
    #expect(tale.list(Tale.inA) == "1 2 3 4 5 6 of [1…end]")
    #expect(tale.message(3)?.content == 300)
  }

  @Test(arguments: [1, 2, 3, 7])
  func `bug 60: paging through a list repeats no message, misses none, and ends`(rows: Int64) {
    var tale = Tale(lists: [Tale.inA])
    for number in 1...7 { tale.commit(.sent(Int64(number * 3), to: Tale.a)) }
    tale.hear()
    var pages: Int64 = 0
    tale.answer(tale.fetch(Tale.inA, .newest, before: rows))
    // The server gives pages of this size, however many messages are wanted.
    while let want = tale.store.list(of: Tale.inA)?.excerpt(of: .newest(100)).wants.first {
      pages += 1
      guard case .about(let anchor, _, 0) = want, pages < 20 else { break }
      tale.answer(tale.fetch(Tale.inA, anchor, before: rows))
    }
    #expect(tale.list(Tale.inA) == "3 6 9 12 15 18 21 of [begin…end]")
    #expect(pages == 7 / rows)
  }

  @Test(arguments: [true, false])
  func `bug 61: a page that was requested before a register is not taken after it`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.edited(1, 100))
    tale.commit(.sent(2, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.step { $0.register() }
    if !isPageFirst { #expect(tale.answer(page) == .absorbed) }
    #expect(tale.list(Tale.inA) == "of nothing")
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "1 2 of [begin…end]")
    #expect(tale.message(1)?.content == 100)
  }

  @Test(arguments: [true, false])
  func `bug 84: an event about several messages applies to each`(isPageFirst: Bool) {
    var tale = Tale(
      (1, Tale.a, []), (2, Tale.b, []), (3, Tale.otherChannel, []), (4, Tale.c, []),
      lists: [Tale.inB, Tale.inC, Tale.inOtherChannel, Tale.unread])
    // The first message is not held, and its place is not known either.
    for narrow in [Tale.inB, Tale.inC, Tale.inOtherChannel] { tale.look(narrow) }
    let page = tale.fetch(Tale.unread)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.commit(.flagged([1, 2, 3, 4].map { MessageID($0) }, .read, isSet: true))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.unread) == "of [begin…end]")
    for number in 2...4 { #expect(tale.message(Int64(number))?.flags == .read) }
    tale.commit(.deleted([1, 2, 3, 4].map { MessageID($0) }))
    tale.hear()
    #expect(tale.store.count == 0)
  }
}
