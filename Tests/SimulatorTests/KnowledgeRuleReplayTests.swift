import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests R1 to R4 and R6 of PartialKnowledge: lists, what is held, the journal, and answers. Each
/// test is a history that breaks a client without the rule, in both orders of its race.
@Suite struct KnowledgeRuleReplayTests {
  // MARK: R1, R2

  @Test(arguments: [true, false])
  func `R1: an event without a change still decides every list anew`(isFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let (first, second) = (tale.fetch(Tale.inA), tale.fetch(Tale.inB))
    tale.read(first)
    tale.commit(.moved(1, to: Tale.b))
    tale.read(second)
    tale.answer(isFirst ? first : second)
    tale.answer(isFirst ? second : first)
    tale.hear()
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.list(Tale.inB) == "1 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R1: an event that repeats a page still decides every list`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB, Tale.starred])
    tale.commit(.moved(1, to: Tale.b))
    tale.commit(.starred(1))
    let page = tale.fetch(Tale.inB)
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inB) == "1 of [begin…end]")
    #expect(tale.list(Tale.starred) == "1 of nothing")
    #expect(tale.list(Tale.inA) == "of nothing")
  }

  @Test(arguments: [true, false])
  func `R2: messages of an earlier generation are not held`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.look(Tale.inA)
    tale.commit(.edited(1, 100))
    tale.step { $0.register() }
    #expect(tale.message(1) == nil)
    let page = tale.fetch(Tale.inB)
    tale.read(page)
    tale.commit(.moved(1, to: Tale.b))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    // Nothing is listed with the old text. The ID is not known, and is fetched.
    #expect(tale.list(Tale.inB) == "of [begin…0] [2…end]")
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inB) == "1 of [begin…end]")
    #expect(tale.message(1)?.content == 100)
  }

  @Test func `R2: an event is applied to held messages in unknown parts`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inB])
    tale.answer(tale.fetch(1))
    tale.commit(.edited(1, 100))
    tale.commit(.starred(1))
    tale.hear()
    #expect(tale.message(1)?.content == 100)
    #expect(tale.message(1)?.flags == .starred)
  }

  // MARK: R3

  @Test(arguments: [true, false])
  func `R3: the move of a message that is not held survives an older page`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.moved(1, to: Tale.b))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1)?.place == Tale.b)
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.list(Tale.inB) == "1 of nothing")
  }

  @Test func `R3: an event from before a fetch is not applied to its page`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    // Another fetch keeps the journal open.
    _ = tale.fetch(Tale.inB)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    let page = tale.fetch(Tale.inA)
    tale.commit(.moved(1, to: Tale.a))
    tale.answer(page)
    #expect(tale.message(1)?.place == Tale.a)
    tale.hear()
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
  }

  @Test func `R3: events are replayed once, in order`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let page = tale.fetch(Tale.inA)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    tale.commit(.moved(1, to: Tale.a))
    tale.hear()
    // A poll that brings nothing adds nothing to the journal.
    tale.hear()
    tale.answer(page)
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
    #expect(tale.store.journalCount == 0)
  }

  @Test(arguments: [true, false])
  func `R3: a wildcard's flags survive an older page`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inA, Tale.unread])
    let (page, flags) = (tale.fetch(Tale.inA), tale.fetch(Tale.unread))
    tale.read(page)
    tale.read(flags)
    tale.commit(.flaggedAll(.read, isSet: true))
    if !isPageFirst { tale.hear() }
    tale.answer(page)
    tale.answer(flags)
    tale.hear()
    #expect(tale.message(1)?.flags == .read)
    #expect(tale.message(2)?.flags == .read)
    #expect(tale.list(Tale.unread) == "of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R3: a wildcard may bring anything into a list without pages`(isPageFirst: Bool) {
    let read = Tale.Narrow([.init(.flags(.read))])
    var tale = Tale((1, Tale.a, []), lists: [read])
    let page = tale.fetch(read)
    tale.read(page)
    tale.commit(.flaggedAll(.read, isSet: true))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(read) == "of nothing")
    tale.look(read)
    #expect(tale.list(read) == "1 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R3: a wildcard may fill a list that reads more than the flag`(isPageFirst: Bool) {
    let readInA = Tale.Narrow([.channel(ChannelID(1)), .topic("a"), .init(.flags(.read))])
    var tale = Tale((1, Tale.a, []), lists: [readInA])
    let page = tale.fetch(readInA)
    tale.read(page)
    tale.commit(.flaggedAll(.read, isSet: true))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(readInA) == "of nothing")
    tale.look(readInA)
    #expect(tale.list(readInA) == "1 of [begin…end]")
  }

  @Test func `R3: the journal is bounded, and the oldest fetch is given up`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let old = tale.fetch(Tale.inA)
    tale.step { race in
      for _ in 0..<9_999 { race.commit(.starred(1)) }
      race.poll()
      race.answerPoll()
    }
    let young = tale.fetch(Tale.inB)
    #expect(tale.store.openFetches.map { $0.number } == [old, young])
    tale.commit(.moved(1, to: Tale.b))
    tale.commit(.edited(1, 100))
    tale.hear()
    #expect(tale.store.openFetches.map { $0.number } == [young])
    #expect(tale.store.journalCount == 2)
    #expect(tale.answer(old) == .absorbed)
    #expect(tale.list(Tale.inA) == "of nothing")
    #expect(tale.answer(young) == .taken)
    #expect(tale.list(Tale.inB) == "1 of [begin…end]")
    #expect(tale.store.journalCount == 0)
  }

  @Test func `R3: the journal is kept until the oldest fetch ends`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    let first = tale.fetch(Tale.inA)
    tale.commit(.starred(1))
    tale.hear()
    let second = tale.fetch(Tale.inB)
    tale.commit(.unstarred(1))
    tale.hear()
    #expect(tale.store.journalCount == 2)
    tale.answer(second)
    #expect(tale.store.journalCount == 2)
    tale.step { $0.abandon(first) }
    #expect(tale.store.journalCount == 0)
  }

  // MARK: R4

  @Test(arguments: [true, false])
  func `R4: a page proves nothing about what an event may have brought in`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inB])
    let page = tale.fetch(Tale.inB)
    tale.read(page)
    tale.commit(.moved(1, to: Tale.b))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inB) == "of [begin…0] [2…end]")
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inB) == "1 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R4: a held message stays although a page lacks it`(isFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.b, []), lists: [Tale.inA, Tale.inB])
    let (first, second) = (tale.fetch(Tale.inA), tale.fetch(Tale.inB))
    tale.read(first)
    tale.read(second)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    tale.answer(isFirst ? first : second)
    tale.answer(isFirst ? second : first)
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    // List B can be known at the message's ID only if the message was held when B's page came.
    #expect(tale.list(Tale.inB) == (isFirst ? "1 2 of [begin…end]" : "1 2 of [begin…0] [2…end]"))
  }

  @Test(arguments: [true, false])
  func `R4: an event counts even with the held version`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    for _ in 0..<2 { tale.commit(.reacted(999)) }
    tale.commit(.edited(1, 100))
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.edited(1, 200))
    let versions = [position(3, tale), position(4, tale)]
    #expect(versions[0] == versions[1])
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1)?.content == 200)
  }

  private func position(_ position: Int, _ tale: Tale) -> Int64? {
    tale.race.history[position + 1][MessageID(1)]?.version
  }

  @Test(arguments: [true, false])
  func `R4: a page ahead shows the state at the finger once older events came`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.poll()
    tale.commit(.edited(1, 100))
    let first = tale.position
    tale.commit(.edited(1, 200))
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.hear(through: first)
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(1)?.content == 100)
    tale.hear()
    #expect(tale.message(1)?.content == 200)
  }

  @Test(arguments: [true, false])
  func `R4: the journal is applied to the page, and never to the store`(isOldFirst: Bool) {
    var tale = Tale((5, Tale.a, .starred), (1, Tale.a, .starred), lists: [Tale.inA, Tale.starred])
    let old = tale.fetch(Tale.inA)
    tale.read(old)
    tale.answer(tale.fetch(5))
    for change in [ServerMessages.Change.unstarred(5), .starred(5), .unstarred(1)] {
      tale.commit(change)
    }
    tale.hear(isMerged: true)
    #expect(tale.store.doubt(about: MessageID(5)) == .starred)
    let new = tale.fetch(5)
    tale.answer(isOldFirst ? old : new)
    tale.answer(isOldFirst ? new : old)
    #expect(tale.store.doubt(about: MessageID(5)) == [])
    #expect(tale.message(5)?.flags == .starred)
    #expect(tale.message(1)?.flags == [])
  }

  @Test func `R4: an answer to an abandoned fetch is absorbed`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    var store = tale.store
    store.abandon(RequestID(incarnation: Incarnation(0), part: .pages, number: page))
    let answer = MessagePage<UInt32>(messages: [], foundOldest: true, foundNewest: true)
    #expect(
      store.take(answer, for: RequestID(incarnation: Incarnation(0), part: .pages, number: page))
        == .absorbed)
    #expect(store.list(of: Tale.inA)?.knowledge.isEmpty == true)
    // An answer that comes twice counts once.
    #expect(tale.answer(page) == .taken)
    var again = tale.store
    #expect(
      again.take(answer, for: RequestID(incarnation: Incarnation(0), part: .pages, number: page))
        == .absorbed)
  }

  // MARK: R6

  @Test(arguments: [true, false])
  func `R6: a new message is listed where its ID lies`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA, .oldest, before: 0, after: 2)
    tale.read(page)
    tale.commit(.sent(2, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "1 2 3 of [begin…3]")
  }

  @Test(arguments: [true, false])
  func `R6: a new message is not thrown away while a page is out`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.sent(3, to: Tale.a))
    if isPageFirst { tale.answer(page) }
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(tale.list(Tale.inA) == "1 3 of [begin…end]")
  }

  @Test func `R6: a new message that no list needs is not held`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.commit(.sent(3, to: Tale.a))
    tale.hear()
    #expect(tale.store.count == 0)
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "1 3 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `R6: the event of a new message assigns every field of a held one`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.unread])
    let page = tale.fetch(Tale.inA)
    tale.poll()
    tale.commit(.flaggedAll(.read, isSet: true))
    let all = tale.position
    tale.commit(.sent(3, to: Tale.a))
    tale.read(page)
    if isPageFirst { tale.answer(page) }
    tale.hear(through: all)
    if !isPageFirst { tale.answer(page) }
    #expect(tale.message(3)?.flags == .read)
    tale.hear()
    #expect(tale.message(3)?.flags == [])
    #expect(tale.list(Tale.unread) == "3 of nothing")
  }
}
