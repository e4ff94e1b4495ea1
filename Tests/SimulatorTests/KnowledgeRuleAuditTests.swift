import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests R13 of PartialKnowledge: what is found and mended if the server itself was wrong.
@Suite struct KnowledgeRuleAuditTests {
  /// Every third change raises the version, so whatever comes next has a greater one.
  static func pause(_ tale: inout Tale) { for _ in 0..<3 { tale.commit(.reacted(999)) } }

  /// Looks at a list, and polls without an explanation. Then every suspect is read again.
  static func lookTwice(_ tale: inout Tale, _ narrow: Tale.Narrow) {
    tale.look(narrow)
    tale.hear()
    tale.readSuspects()
  }

  // MARK: A server that keeps its contract

  @Test(arguments: [true, false])
  func `R13: a page that is only ahead makes no message suspect`(isPollBefore: Bool) {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.starred])
    let (first, second) = (tale.fetch(Tale.inA), tale.fetch(Tale.starred))
    tale.read(first)
    tale.answer(first)
    if isPollBefore { tale.poll() }
    tale.commit(.starred(1))
    tale.answer(second)
    #expect(tale.audit == "0 suspects, 0 repairs")
    // The poll that had left before brings nothing.
    if isPollBefore { tale.hear(through: tale.position - 1) }
    #expect(tale.audit == "0 suspects, 0 repairs")
    tale.hear()
    #expect(tale.message(1)?.flags == .starred)
    #expect(tale.audit == "0 suspects, 0 repairs")
    tale.hear()
    #expect(tale.audit == "0 suspects, 0 repairs")
  }

  /// A page is read in two parts: first which messages are in the list, then the messages. Nobody
  /// is told of an edit between them where nothing is followed; and nothing of it is held.
  @Test func `R13: a message that is not followed is never suspect`() {
    let mentions = Tale.Narrow([.mentioned])
    var tale = Tale((1, Tale.open, .mentioned), lists: [mentions])
    let page = tale.fetch(mentions)
    let before = tale.position
    tale.commit(.edited(1, 7))
    tale.step { $0.read(page, at: before, rowsAt: before + 1) }
    tale.answer(page)
    tale.hear()
    tale.hear()
    #expect(tale.message(1) == nil)
    #expect(tale.audit == "0 suspects, 0 repairs")
  }

  @Test func `R13: a message that an event named since the fetch left is not audited`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.answer(tale.fetch(1))
    let page = tale.fetch(Tale.inA)
    tale.commit(.moved(1, to: Tale.b))
    tale.read(page)
    tale.commit(.moved(1, to: Tale.a))
    tale.hear()
    tale.answer(page)
    tale.hear()
    #expect(tale.audit == "0 suspects, 0 repairs")
    #expect(tale.list(Tale.inA) == "1 of [begin…end]")
  }

  @Test func `R13: a wildcard and a doubt count as naming their messages`() {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, .starred), lists: [Tale.inA])
    tale.look(Tale.inA)
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    tale.commit(.flaggedAll(.read, isSet: true))
    tale.hear()
    tale.answer(page)
    tale.hear()
    #expect(tale.store.suspects == [])
    let other = tale.fetch(Tale.inA)
    tale.read(other)
    for change in [ServerMessages.Change.unstarred(3), .starred(3), .unstarred(1)] {
      tale.commit(change)
    }
    tale.hear(isMerged: true)
    tale.answer(other)
    tale.hear()
    #expect(tale.audit == "0 suspects, 0 repairs")
  }

  @Test func `R13: a message listed only by a flag in doubt is not missing`() {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA, Tale.starred])
    tale.look(Tale.inA)
    for change in [ServerMessages.Change.starred(3), .unstarred(3), .starred(1)] {
      tale.commit(change)
    }
    tale.hear(isMerged: true)
    #expect(tale.list(Tale.starred) == "1 3 of nothing")
    tale.look(Tale.starred)
    tale.hear()
    #expect(tale.audit == "0 suspects, 0 repairs")
    tale.answer(tale.fetch(3))
    #expect(tale.list(Tale.starred) == "1 of [begin…end]")
  }

  // MARK: What is mended

  @Test func `R13: a missing event is repaired after two readings`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.starred])
    tale.look(Tale.inA)
    tale.look(Tale.starred)
    tale.commitUnannounced(.starred(1))
    tale.hear()
    #expect(tale.message(1)?.flags == [])
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    tale.expectTrue()
    #expect(tale.message(1)?.flags == .starred)
    #expect(tale.list(Tale.starred) == "1 of [begin…end]")
    #expect(tale.audit == "1 suspects, 1 repairs")
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    #expect(tale.audit == "1 suspects, 1 repairs")
  }

  @Test func `R13: an unannounced edit, move and reaction are repaired`() {
    for change in [ServerMessages.Change.edited(1, 100), .moved(1, to: Tale.b), .reacted(1)] {
      var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB, Tale.all])
      tale.look(Tale.inA)
      tale.look(Tale.inB)
      KnowledgeRuleAuditTests.pause(&tale)
      tale.commitUnannounced(change)
      tale.hear()
      KnowledgeRuleAuditTests.lookTwice(&tale, Tale.all)
      tale.expectTrue()
      #expect(tale.audit == "1 suspects, 1 repairs")
      #expect(tale.message(1) == tale.race.truth[MessageID(1)])
    }
  }

  @Test func `R13: a message that its list lacks and that is gone is dropped`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.look(Tale.inA)
    tale.look(Tale.inB)
    tale.commitUnannounced(.deleted(1))
    tale.hear()
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    tale.expectTrue()
    #expect(tale.audit == "1 suspects, 1 repairs")
    #expect(tale.list(Tale.inA) == "of [begin…end]")
    #expect(tale.list(Tale.inB) == "of [begin…end]")
  }

  @Test func `R13: a message that its list lacks and that is elsewhere is moved`() {
    for place in [Tale.b, Tale.open] {
      var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
      tale.look(Tale.inA)
      tale.look(Tale.inB)
      KnowledgeRuleAuditTests.pause(&tale)
      tale.commitUnannounced(.moved(1, to: place))
      tale.hear()
      KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
      tale.expectTrue()
      #expect(tale.audit == "1 suspects, 1 repairs")
      #expect(tale.message(1)?.place == (place == Tale.b ? Tale.b : nil))
      #expect(tale.list(Tale.inA) == "of [begin…end]")
    }
  }

  @Test func `R13: a single reading proves nothing`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB])
    tale.commit(.moved(1, to: Tale.b))
    tale.commit(.moved(1, to: Tale.a))
    tale.look(Tale.inB)
    tale.answer(tale.fetch(1))
    tale.hear()
    let held = tale.message(1)
    for _ in 0..<3 {
      // The page lacks the message. Fetched by its ID, the message is there and equals the held
      // one.
      let page = tale.fetch(Tale.inA)
      tale.mayBeWrong()
      tale.read(page, as: MessagePage(messages: [], foundOldest: true, foundNewest: true))
      tale.answer(page)
      tale.hear()
      #expect(tale.store.suspects == [MessageID(1)])
      tale.readSuspects()
      #expect(tale.store.suspects == [])
      #expect(tale.message(1) == held)
    }
    #expect(tale.audit == "3 suspects, 0 repairs")
    tale.expectTrue()
  }

  @Test func `R13: two different readings prove nothing`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commitUnannounced(.edited(1, 100))
    tale.look(Tale.inA)
    tale.hear()
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commitUnannounced(.edited(1, 200))
    tale.readSuspects()
    #expect(tale.message(1)?.content == 1)
    #expect(tale.audit == "1 suspects, 0 repairs")
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    tale.expectTrue()
    #expect(tale.message(1)?.content == 200)
  }

  @Test func `R13: a copy that still belongs to a list does not prove that the list lacks it`() {
    // The list lacks the message. Fetched by its ID, an old row shows it in another place and with
    // other flags. The row's version is older, so its place does not count, and with the held place
    // the message still belongs to the list.
    var tale = Tale((1, Tale.b, []), lists: [Tale.inA])
    KnowledgeRuleAuditTests.pause(&tale)
    let old = tale.position
    tale.commit(.moved(1, to: Tale.a))
    tale.look(Tale.inA)
    tale.hear()
    tale.commitUnannounced(.starred(1))
    let page = tale.fetch(Tale.inA)
    tale.read(page, as: MessagePage(messages: [], foundOldest: true, foundNewest: true))
    tale.answer(page)
    tale.hear()
    let second = tale.fetch(1, isAudit: true)
    tale.readOldCache(second, of: old)
    tale.answer(second)
    #expect(tale.message(1)?.place == Tale.a)
    #expect(tale.audit == "1 suspects, 0 repairs")
  }

  // MARK: What counts

  @Test func `R13: an older version than the held one counts for nothing but flags`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    KnowledgeRuleAuditTests.pause(&tale)
    let old = tale.position
    tale.commit(.edited(1, 100))
    tale.hear()
    for _ in 0..<2 {
      let page = tale.fetch(Tale.inA)
      tale.readOldCache(page, of: old)
      tale.answer(page)
      tale.hear()
      #expect(tale.store.suspects == [])
    }
    #expect(tale.message(1)?.content == 100)
    // Flags come from the database, however old the row is.
    tale.commitUnannounced(.starred(1))
    let page = tale.fetch(Tale.inA)
    tale.readOldCache(page, of: old)
    tale.answer(page)
    tale.hear()
    let second = tale.fetch(1, isAudit: true)
    tale.readOldCache(second, of: old)
    tale.answer(second)
    tale.expectTrue()
    #expect(tale.message(1)?.flags == .starred)
    #expect(tale.message(1)?.content == 100)
    #expect(tale.audit == "1 suspects, 1 repairs")
  }

  @Test func `R13: an older row counts for nothing, even without any event`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.all])
    KnowledgeRuleAuditTests.pause(&tale)
    let old = tale.position
    tale.commit(.edited(1, 100))
    tale.commit(.moved(1, to: Tale.b))
    tale.commit(.reacted(1))
    tale.hear()
    tale.look(Tale.all)
    for _ in 0..<2 {
      let page = tale.fetch(Tale.all)
      tale.readOldCache(page, of: old)
      tale.answer(page)
      tale.hear()
    }
    tale.expectTrue()
    #expect(tale.audit == "0 suspects, 0 repairs")
  }

  @Test func `R13: a reaction that an event named stays`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    let old = tale.position
    tale.commit(.reacted(1))
    tale.hear()
    for _ in 0..<2 {
      let page = tale.fetch(Tale.inA)
      tale.readOldCache(page, of: old)
      tale.answer(page)
      tale.hear()
      tale.readSuspects()
    }
    tale.expectTrue()
    #expect(tale.message(1)?.reactions.count == 1)
    #expect(tale.audit == "0 suspects, 0 repairs")
    // Another unannounced reaction is found all the same.
    tale.commitUnannounced(.reacted(1, by: 2))
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    tale.expectTrue()
    #expect(tale.message(1)?.reactions.count == 2)
  }

  @Test func `R13: a value from an event yields only to a greater version`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB, Tale.all])
    tale.look(Tale.all)
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commit(.moved(1, to: Tale.b))
    tale.hear()
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commitUnannounced(.moved(1, to: Tale.a))
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commit(.edited(1, 100))
    tale.hear()
    // The held version is the page's; the place is from an older event.
    #expect(tale.message(1)?.version == tale.race.truth[MessageID(1)]?.version)
    #expect(tale.message(1)?.place == Tale.b)
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.all)
    tale.expectTrue()
    #expect(tale.message(1)?.place == Tale.a)
    #expect(tale.audit == "1 suspects, 1 repairs")
  }

  @Test func `R13: an event wins over a page of an equal version`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.inB, Tale.all])
    tale.look(Tale.all)
    while tale.position % 3 != 0 { tale.commit(.reacted(999)) }
    // Three changes share one version: an announced edit, and two that nobody hears of.
    tale.commit(.edited(1, 100))
    tale.commitUnannounced(.edited(1, 200))
    tale.commitUnannounced(.moved(1, to: Tale.b))
    tale.hear()
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.all)
    // The content cannot be mended, because an old cache would look the same. The place can,
    // because a page had brought it.
    #expect(tale.message(1)?.content == 100)
    #expect(tale.message(1)?.place == Tale.b)
    #expect(tale.audit == "1 suspects, 1 repairs")
  }

  // MARK: How an audit ends, and what it costs

  @Test(arguments: [true, false])
  func `R13: every event that names a message ends its audit`(isAsked: Bool) {
    for change in [ServerMessages.Change.reacted(1, by: 2), .flaggedAll(.read, isSet: true)] {
      var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
      tale.look(Tale.inA)
      tale.commitUnannounced(.starred(1))
      tale.look(Tale.inA)
      tale.hear()
      #expect(tale.store.suspects == [MessageID(1)])
      let second = isAsked ? tale.fetch(1, isAudit: true) : 0
      tale.commit(change)
      tale.hear()
      #expect(tale.store.suspects == [])
      if isAsked { tale.answer(second) }
      #expect(tale.audit == "1 suspects, 0 repairs")
      KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
      tale.expectTrue()
    }
  }

  @Test func `R13: an abandoned second reading is no longer awaited`() {
    for way in 0..<3 {
      var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
      tale.look(Tale.inA)
      tale.commitUnannounced(.starred(1))
      tale.look(Tale.inA)
      tale.hear()
      let second = tale.fetch(1, isAudit: true)
      #expect(tale.store.suspects == [])
      switch way {
      case 0: tale.step { $0.abandon(second) }
      case 1:
        // The user begins to follow another channel, so every open fetch is given up.
        tale.commit(.covered(ChannelID(2), follows: false))
        tale.hear()
      default:
        tale.step { $0.register() }
        #expect(tale.store.auditCounts.suspects == 1)
      }
      tale.answer(second)
      KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
      tale.expectTrue()
      #expect(tale.message(1)?.flags == .starred)
    }
  }

  @Test func `R13: a late second reading does not end a newer audit`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commitUnannounced(.starred(1))
    tale.look(Tale.inA)
    tale.hear()
    let second = tale.fetch(1, isAudit: true)
    tale.commit(.reacted(1))
    tale.hear()
    tale.look(Tale.inA)
    tale.answer(second)
    tale.hear()
    #expect(tale.store.suspects == [MessageID(1)])
    tale.readSuspects()
    tale.expectTrue()
    #expect(tale.audit == "2 suspects, 1 repairs")
  }

  @Test func `R13: a suspect is fetched once`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.all])
    tale.look(Tale.inA)
    tale.commitUnannounced(.starred(1))
    tale.look(Tale.inA)
    tale.look(Tale.all)
    tale.hear()
    tale.hear()
    #expect(tale.store.suspects == [MessageID(1)])
    let second = tale.fetch(1, isAudit: true)
    tale.look(Tale.all)
    tale.hear()
    #expect(tale.store.suspects == [])
    tale.commitUnannounced(.flagged([MessageID(1)], .read, isSet: true))
    tale.answer(second)
    tale.hear()
    #expect(tale.store.suspects == [])
    #expect(tale.audit == "1 suspects, 0 repairs")
  }

  @Test func `R13: rows missing from two lists are one suspect; a copy replaces a missing row`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA, Tale.all])
    tale.look(Tale.all)
    let nothing = MessagePage<UInt32>(messages: [], foundOldest: true, foundNewest: true)
    KnowledgeRuleAuditTests.pause(&tale)
    tale.commitUnannounced(.moved(1, to: Tale.b))
    for narrow in [Tale.all, Tale.inA] {
      let page = tale.fetch(narrow)
      tale.read(page, as: nothing)
      tale.answer(page)
    }
    tale.hear()
    #expect(tale.audit == "1 suspects, 0 repairs")
    tale.readSuspects()
    // It is enough that the message is out of one of the lists.
    #expect(tale.audit == "1 suspects, 1 repairs")
    tale.commitUnannounced(.starred(1))
    let page = tale.fetch(Tale.all)
    tale.read(page, as: nothing)
    tale.answer(page)
    tale.look(Tale.all)
    tale.hear()
    tale.readSuspects()
    tale.expectTrue()
    #expect(tale.message(1)?.flags == .starred)
    #expect(tale.audit == "2 suspects, 2 repairs")
  }

  @Test func `R13: an empty answer to a fetch by ID counts as a reading`() {
    var tale = Tale((1, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commitUnannounced(.deleted(1))
    tale.answer(tale.fetch(1))
    #expect(tale.message(1) != nil)
    tale.hear()
    tale.readSuspects()
    tale.expectTrue()
    #expect(tale.message(1) == nil)
    #expect(tale.audit == "1 suspects, 1 repairs")
  }

  @Test func `R13: the number of open audits is limited`() {
    var tale = Tale(lists: [Tale.inA])
    for number in 1...80 { tale.commit(.sent(Int64(number), to: Tale.a)) }
    tale.hear()
    tale.look(Tale.inA)
    tale.commitUnannounced(.flagged((1...80).map { MessageID($0) }, .starred, isSet: true))
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    #expect(tale.audit == "64 suspects, 64 repairs")
    KnowledgeRuleAuditTests.lookTwice(&tale, Tale.inA)
    tale.expectTrue()
    #expect(tale.audit == "80 suspects, 80 repairs")
  }
}
