import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests R10 to R12 of PartialKnowledge: merged flags, generations and coverage, and memory.
@Suite struct KnowledgeRuleDoubtTests {
  /// Unstars 3, stars 3, and unstars 1. Merged, that is "star 3, unstar 3 and 1".
  static func merged(_ tale: inout Tale) {
    tale.commit(.unstarred(3))
    tale.commit(.starred(3))
    tale.commit(.unstarred(1))
    tale.hear(isMerged: true)
  }

  static func isDoubtful(_ number: Int64, _ tale: Tale) -> Bool {
    tale.store.doubt(about: MessageID(number)) == .starred
  }

  /// A tale in which messages 1 and 3 are starred and held, and the starred list is known.
  static func beginning() -> Tale {
    var tale = Tale(
      (1, Tale.a, .starred), (3, Tale.a, .starred), lists: [Tale.starred, Tale.inA])
    tale.look(Tale.starred)
    tale.look(Tale.inA)
    return tale
  }

  // MARK: R10

  @Test func `R10: a flag that one answer sets and clears is in doubt until a page settles it`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(1, tale))
    #expect(!tale.knows(3, Tale.starred) && tale.knows(3, Tale.inA))
    tale.answer(tale.fetch(3))
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.list(Tale.starred) == "3 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R10: a page that was requested before the doubt does not end it`(isPageFirst: Bool) {
    var tale = KnowledgeRuleDoubtTests.beginning()
    let page = tale.fetch(3)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    KnowledgeRuleDoubtTests.merged(&tale)
    if !isPageFirst { tale.answer(page) }
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(!tale.knows(3, Tale.starred))
  }

  @Test(arguments: [true, false])
  func `R10: a message that no page has brought is in doubt, too`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, .starred), (3, Tale.a, .starred), lists: [Tale.starred])
    let page = tale.fetch(Tale.starred)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    KnowledgeRuleDoubtTests.merged(&tale)
    if !isPageFirst { tale.answer(page) }
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(!tale.knows(3, Tale.starred))
    tale.answer(tale.fetch(3))
    #expect(tale.list(Tale.starred) == "3 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R10: a message that is not held may be in the list, whatever its events say`(
    isPageFirst: Bool
  ) {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), lists: [Tale.starred])
    let page = tale.fetch(Tale.starred)
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    KnowledgeRuleDoubtTests.merged(&tale)
    if !isPageFirst { tale.answer(page) }
    #expect(!tale.knows(3, Tale.starred) && tale.message(3) == nil)
    tale.answer(tale.fetch(3))
    #expect(tale.list(Tale.starred) == "3 of [begin…end]")
  }

  @Test func `R10: a later answer with one of the two events ends the doubt`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    tale.commit(.unstarred(3))
    tale.hear(isMerged: true)
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.message(3)?.flags == [])
  }

  @Test func `R10: a later answer with both events does not end the doubt`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    KnowledgeRuleDoubtTests.merged(&tale)
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    tale.answer(tale.fetch(3))
    #expect(tale.message(3)?.flags == .starred)
  }

  @Test func `R10: a wildcard ends the doubt, and so does a deletion`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    tale.commit(.flaggedAll(.read, isSet: true))
    tale.hear()
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    tale.commit(.flaggedAll(.starred, isSet: false))
    tale.hear()
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.message(3)?.flags == .read)
    KnowledgeRuleDoubtTests.merged(&tale)
    tale.commit(.deleted(3))
    tale.hear()
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.list(Tale.starred).hasSuffix("of [begin…end]"))
  }

  @Test func `R10: a flag cleared before a wildcard of one answer is in doubt, a later one not`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    tale.commit(.unstarred(3))
    tale.commit(.flaggedAll(.starred, isSet: true))
    tale.commit(.unstarred(1))
    tale.hear(isMerged: true)
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(1, tale))
    tale.answer(tale.fetch(3))
    #expect(tale.list(Tale.starred) == "3 of nothing")
  }

  @Test func `R10: the last message of the later event is not in doubt`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    tale.commit(.unstarred(1))
    tale.commit(.unstarred(3))
    tale.commit(.starred(3))
    tale.hear(isMerged: true)
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.list(Tale.starred) == "3 of [begin…end]")
  }

  @Test func `R10: the events of one answer are judged together`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    var store = tale.store
    let (one, three) = (MessageID(1), MessageID(3))
    store.asked()
    store.apply(.flagged([three], .starred, isSet: true))
    #expect(store.doubt(about: three) == [])
    store.apply(.flagged([three, one], .starred, isSet: false))
    store.answered()
    #expect(store.doubt(about: three) == .starred)
    // In two separate answers there is nothing to doubt.
    tale.commit(.unstarred(3))
    tale.hear()
    tale.commit(.starred(3))
    tale.hear()
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
  }

  @Test func `R10: an event of a new message ends the doubt`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    var store = tale.store
    store.apply(.new(tale.race.truth[MessageID(3)]!))
    #expect(store.doubt(about: MessageID(3)) == [])
  }

  @Test func `R10: no page makes a list known while a flag is in doubt`() {
    var tale = KnowledgeRuleDoubtTests.beginning()
    KnowledgeRuleDoubtTests.merged(&tale)
    // The page is read after the doubt, but the message has changed since.
    let page = tale.fetch(Tale.inA)
    KnowledgeRuleDoubtTests.merged(&tale)
    let other = tale.fetch(Tale.starred, .id(MessageID(1)), before: 0, after: 1)
    tale.answer(page)
    #expect(!tale.knows(3, Tale.starred))
    #expect(KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    tale.answer(other)
    #expect(!KnowledgeRuleDoubtTests.isDoubtful(3, tale))
    #expect(tale.list(Tale.starred) == "3 of [begin…end]")
  }

  // MARK: R11

  @Test(arguments: [true, false])
  func `R11: a page of an earlier generation is absorbed`(isAnswered: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.moved(1, to: Tale.b))
    if isAnswered { tale.answer(page) }
    tale.step { $0.register() }
    if !isAnswered { #expect(tale.answer(page) == .absorbed) }
    #expect(tale.store.count == 0)
    #expect(tale.list(Tale.inA) == "of nothing")
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R11: a page that was out while no events came is given up`(isAnnounced: Bool) {
    let aOrOther = Tale.Narrow([.init(.topic("a"))])
    var tale = Tale((1, Tale.otherChannel, .starred), lists: [aOrOther, Tale.starred])
    let channel = ChannelID(2)
    let page = tale.fetch(aOrOther)
    tale.commit(.unstarred(1))
    tale.commit(.covered(channel, follows: false))
    tale.commit(.starred(1))
    let told = tale.position
    tale.commit(.covered(channel, follows: true))
    tale.commit(.moved(1, to: Tale.a))
    tale.read(page)
    tale.hear(through: isAnnounced ? nil : told)
    #expect(tale.answer(page) == .absorbed)
    tale.hear()
    #expect(tale.message(1) == nil)
    tale.look(aOrOther)
    #expect(tale.message(1)?.flags == .starred)
    #expect(tale.list(aOrOther) == "1 of [begin…end]")
  }

  @Test func `R11: knowledge of a channel ends with its events, and begins anew with them`() {
    var tale = Tale(
      (1, Tale.a, []), (2, Tale.otherChannel, []),
      lists: [Tale.inA, Tale.inOtherChannel, Tale.all, Tale.starred])
    for narrow in [Tale.inA, Tale.inOtherChannel, Tale.all, Tale.starred] { tale.look(narrow) }
    tale.hear()  // What the pages brought is no longer ahead of the finger.
    tale.commit(.covered(ChannelID(2), follows: false))
    tale.hear()
    #expect(tale.message(2) == nil)
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
    #expect(tale.list(Tale.inOtherChannel) == "of nothing")
    #expect(tale.list(Tale.all) == "1 of nothing")
    #expect(tale.list(Tale.starred) == "of nothing")
    // The old copy can still be read, but nothing can be known of the list.
    #expect(tale.store.message(MessageID(2), in: Tale.inOtherChannel)?.content == 2)
    let page = tale.fetch(Tale.inOtherChannel)
    #expect(tale.answer(page) == .shown)
    #expect(tale.list(Tale.inOtherChannel) == "of nothing")
    #expect(!tale.store.canBeKnown(Tale.inOtherChannel))
    tale.commit(.covered(ChannelID(2), follows: true))
    tale.hear()
    tale.look(Tale.inOtherChannel)
    #expect(tale.list(Tale.inOtherChannel) == "2 of [begin…end]")
  }

  @Test func `R11: a copy from an unfollowed channel does not replace a held one`() {
    var tale = Tale((1, Tale.a, .starred), lists: [Tale.inA, Tale.starred])
    tale.look(Tale.inA)
    let page = tale.fetch(Tale.starred)
    tale.commit(.moved(1, to: Tale.open))
    tale.read(page)
    tale.answer(page)
    #expect(tale.message(1)?.place == Tale.a)
    tale.hear()
    #expect(tale.message(1) == nil)
    #expect(tale.audit == "0 suspects, 0 repairs")
  }

  @Test func `R11: a list whose meaning changes knows nothing, and its open pages are void`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.look(Tale.inA)
    let (page, other) = (tale.fetch(Tale.inA), tale.fetch(Tale.inB))
    var store = tale.store
    store.reconsider(Tale.inA)
    #expect(store.list(of: Tale.inA)?.knowledge.isEmpty == true)
    #expect(store.list(of: Tale.inA)?.ids.count == 1)
    #expect(store.openFetches.map { $0.number } == [other])
    let answer = MessagePage<UInt32>(messages: [], foundOldest: true, foundNewest: true)
    #expect(
      store.take(answer, for: RequestID(incarnation: Incarnation(0), part: .pages, number: page))
        == .absorbed)
  }

  // MARK: R12

  @Test(arguments: [true, false])
  func `R12: a dropped message is no longer known`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, .starred), (2, Tale.a, []), lists: [Tale.inA, Tale.starred])
    tale.look(Tale.inA)
    tale.look(Tale.starred)
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.edited(1, 100))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    tale.step { $0.drop(MessageID(1)) }
    #expect(!tale.knows(1, Tale.inA) && !tale.knows(1, Tale.starred))
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1)?.content == (isPageFirst ? nil : 100))
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "1 2 of [begin…end]")
    #expect(tale.message(1)?.content == 100)
  }
}
