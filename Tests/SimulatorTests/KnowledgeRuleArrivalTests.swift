import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests R5 and R7 to R9 of PartialKnowledge: what a page proves, events about messages that are
/// not held, and messages that come and go.
@Suite struct KnowledgeRuleArrivalTests {
  // MARK: R5

  @Test func `R5: an empty page about an ID proves that there is no message`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inB])
    tale.look(Tale.inB)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    #expect(tale.list(Tale.inB) == "2 of [begin…0] [2…end]")
    let hole = tale.fetch(Tale.inB, .id(MessageID(1)), before: 0, after: 0)
    tale.commit(.moved(1, to: Tale.c))
    tale.answer(hole)
    #expect(tale.list(Tale.inB) == "2 of [begin…end]")
    tale.hear()
    #expect(tale.list(Tale.inB) == "2 of [begin…end]")
  }

  @Test func `R5: an event closes a hole without a page`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inB])
    tale.look(Tale.inB)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    let hole = tale.fetch(Tale.inB, .id(MessageID(1)), before: 0, after: 0)
    tale.commit(.moved(1, to: Tale.c))
    tale.hear()
    #expect(tale.list(Tale.inB) == "2 of [begin…end]")
    tale.answer(hole)
    #expect(tale.list(Tale.inB) == "2 of [begin…end]")
  }

  @Test func `R5: a page proves what lies between its first and its last`() {
    var tale = Tale(
      (2, Tale.a, []), (4, Tale.a, []), (6, Tale.a, []), (8, Tale.a, []), lists: [Tale.inA])
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(5)), before: 1, after: 1))
    #expect(tale.list(Tale.inA) == "4 6 of [4…6]")
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(9)), before: 1, after: 0))
    #expect(tale.list(Tale.inA) == "4 6 8 of [4…6] [8…9]")
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(9)), before: 0, after: 1))
    #expect(tale.list(Tale.inA) == "4 6 8 of [4…6] [8…end]")
    tale.answer(tale.fetch(Tale.inA, .oldest, before: 0, after: 2))
    #expect(tale.list(Tale.inA) == "2 4 6 8 of [begin…6] [8…end]")
  }

  @Test(arguments: [true, false], [true, false])
  func `R5: an empty page about no ID must have found both ends`(oldest: Bool, newest: Bool) {
    var tale = Tale((1, Tale.b, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page, as: MessagePage(messages: [], foundOldest: oldest, foundNewest: newest))
    tale.answer(page)
    #expect(tale.list(Tale.inA) == (oldest && newest ? "of [begin…end]" : "of nothing"))
  }

  @Test func `R5: the beginning of a hidden history is not found`() {
    var tale = Tale((3, Tale.a, []), lists: [Tale.inA])
    let row = tale.race.truth[MessageID(3)]!
    let page = tale.fetch(Tale.inA)
    tale.read(
      page,
      as: MessagePage(messages: [row], foundOldest: true, foundNewest: true, isHistoryLimited: true)
    )
    tale.answer(page)
    #expect(tale.list(Tale.inA) == "3 of [3…end]")
    #expect(tale.store.list(of: Tale.inA)?.historyLimit == MessageID(3))
  }

  @Test func `R5: a server that hides everything is not asked repeatedly`() {
    var tale = Tale((3, Tale.b, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(
      page,
      as: MessagePage(messages: [], foundOldest: true, foundNewest: true, isHistoryLimited: true))
    tale.answer(page)
    #expect(tale.list(Tale.inA) == "of nothing")
    #expect(tale.store.list(of: Tale.inA)?.excerpt(of: .newest(10)).wants == [])
    // But a new message is shown.
    tale.commit(.sent(4, to: Tale.a))
    tale.hear()
    #expect(
      tale.store.list(of: Tale.inA)?.excerpt(of: .newest(10)).wants
        == [.about(.newest, before: 10, after: 0)])
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "4 of [begin…end]")
  }

  // MARK: R7

  @Test(arguments: [true, false])
  func `R7: a move of a message that is not held splits the list`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inB, Tale.inC, Tale.all])
    let page = tale.fetch(Tale.inB)
    tale.read(page)
    tale.look(Tale.inC)
    if isPageFirst { tale.answer(page) }
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inB) == "2 of [begin…0] [2…end]")
    // The message is certainly not in this list, so no interval is split.
    #expect(tale.list(Tale.inC) == "of [begin…end]")
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inB) == "1 2 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R7: a flag of a message that is not held splits the list`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, .starred), lists: [Tale.starred, Tale.inB])
    let page = tale.fetch(Tale.starred)
    tale.read(page)
    tale.look(Tale.inB)
    if isPageFirst { tale.answer(page) }
    tale.commit(.starred(1))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.starred) == "2 of [begin…0] [2…end]")
    // A list that does not read the flag stays as it is.
    #expect(tale.list(Tale.inB) == "of [begin…end]")
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.starred) == "1 2 of [begin…end]")
  }

  @Test func `R7: an event proves that a message is not in a list`() {
    let starredInB = Tale.Narrow([.channel(ChannelID(1)), .topic("b"), .starred])
    let notInB = Tale.Narrow([!.topic("b")])
    var tale = Tale((1, Tale.a, .starred), lists: [starredInB, notInB])
    tale.look(starredInB)
    // Only so much of the other list is fetched that its message is not held.
    let page = tale.fetch(notInB)
    tale.read(page, as: MessagePage(messages: [], foundOldest: true, foundNewest: true))
    tale.mayBeWrong()
    tale.answer(page)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    tale.expectTrue()
    #expect(tale.list(notInB) == "of [begin…end]")
    // In its new place the message may be starred. The event does not say.
    #expect(tale.list(starredInB) == "of [begin…0] [2…end]")
    tale.commit(.unstarred(1))
    tale.hear()
    #expect(tale.list(starredInB) == "of [begin…end]")
  }

  @Test func `R7: a deleted message is known to be in no list`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inB])
    tale.look(Tale.inB)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    #expect(tale.list(Tale.inB) == "2 of [begin…0] [2…end]")
    tale.commit(.deleted(1))
    tale.hear()
    #expect(tale.list(Tale.inB) == "2 of [begin…end]")
  }

  @Test func `R7: a flag in doubt closes no hole`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), lists: [Tale.starred])
    tale.look(Tale.starred)
    for change in [ServerMessages.Change.unstarred(1), .starred(1), .unstarred(2)] {
      tale.commit(change)
    }
    tale.hear(isMerged: true)
    #expect(!tale.knows(1, Tale.starred))
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.starred) == "1 of [begin…end]")
  }

  // MARK: R8

  @Test(arguments: [true, false])
  func `R8: a message that was out of sight may be in any list`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, .starred), lists: [Tale.starred, Tale.inA, Tale.inB])
    tale.look(Tale.inB)
    tale.commit(.moved(1, to: Tale.hidden))
    tale.hear()
    let page = tale.fetch(Tale.starred)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.commit(.moved(1, to: Tale.a, isAnnounced: true))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.starred) == "of [begin…0] [2…end]")
    #expect(tale.list(Tale.inB) == "of [begin…end]")
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.starred) == "1 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R8: a copy from an unfollowed channel is not believed when it arrives`(
    isPageFirst: Bool
  ) {
    let inOpen = Tale.Narrow([.sender(UserID(1))])
    var tale = Tale((3, Tale.open, []), lists: [inOpen, Tale.inC])
    let page = tale.fetch(inOpen)
    tale.read(page)
    tale.commit(.starred(3))
    if isPageFirst { tale.answer(page) }
    #expect(tale.message(3) == nil)
    tale.commit(.moved(3, to: Tale.c))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(3) == nil)
    #expect(!tale.knows(3, inOpen))
    tale.answer(tale.fetch(3))
    #expect(tale.message(3)?.flags == .starred)
    #expect(tale.list(inOpen) == "3 of [begin…end]")
  }

  @Test func `R8: a held message that arrives again is fetched again`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.look(Tale.inA)
    tale.look(Tale.inB)
    let move = MessageUpdate<UInt32>.Move(from: Tale.hidden, to: Tale.b)
    var store = tale.store
    store.apply(.updated(MessageUpdate(moving: [MessageID(1)], move, version: 9)))
    #expect(store[MessageID(1)] == nil)
    #expect(store.list(of: Tale.inB)?.knowledge.contains(MessageID(1)) == false)
    #expect(store.list(of: Tale.inA)?.knowledge.contains(MessageID(1)) == true)
    #expect(store.list(of: Tale.inA)?.ids.count == 0)
  }

  @Test(arguments: [true, false])
  func `R8: a message that moves to an unfollowed channel is dropped`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, .starred), lists: [Tale.inA, Tale.starred])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.commit(.moved(1, to: Tale.open))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1) == nil)
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.list(Tale.starred) == "of nothing")
  }

  // MARK: R9

  @Test(arguments: [true, false])
  func `R9: a deleted message does not return with an older page`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.deleted(1))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.message(1) == nil)
  }

  @Test(arguments: [true, false])
  func `R9: a deletion is forgotten once no older fetch is out`(isAnnounced: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commit(.moved(1, to: Tale.hidden))
    tale.hear()
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    let page = tale.fetch(Tale.inA)
    tale.commit(.moved(1, to: Tale.a, isAnnounced: isAnnounced))
    tale.answer(page)
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
    tale.hear()
    // If the return was announced, the message counts only once it was read after that.
    if isAnnounced { tale.answer(tale.fetch(1)) }
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
  }

  /// A client that lags behind may be between two unannounced returns.
  @Test func `R9: a second silent return does not end the excuse of the first`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.all])
    tale.look(Tale.all)
    tale.commit(.moved(1, to: Tale.hidden))
    tale.hear()
    tale.commit(.moved(1, to: Tale.a, isAnnounced: false))
    tale.commit(.flagged([MessageID(2)], .starred, isSet: true))
    tale.hear()
    #expect(tale.list(Tale.all) == "2 of [begin…end]")
    tale.commit(.moved(1, to: Tale.hidden))
    tale.commit(.moved(1, to: Tale.b, isAnnounced: false))
    #expect(tale.list(Tale.all) == "2 of [begin…end]")
    tale.hear()
    tale.look(Tale.all)
    #expect(tale.list(Tale.all) == "1 2 of [begin…end]")
  }

  @Test func `R9: a page that shows a silent return repairs all lists`() {
    var tale = Tale((1, Tale.a, .starred), lists: [Tale.inA, Tale.starred])
    tale.look(Tale.inA)
    tale.look(Tale.starred)
    tale.commit(.moved(1, to: Tale.hidden))
    tale.hear()
    tale.commit(.moved(1, to: Tale.a, isAnnounced: false))
    tale.hear()
    #expect(tale.list(Tale.starred) == "of [begin…end]")
    tale.look(Tale.inA)
    #expect(tale.list(Tale.starred) == "1 of [begin…end]")
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
  }
}
