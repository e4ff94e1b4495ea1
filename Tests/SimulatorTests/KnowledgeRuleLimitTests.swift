import MessageSync
import Testing
import UpdateMachine

@testable import Simulator

/// A server that hides old messages: what pages prove (R5), and what a list's limit says.
@Suite struct KnowledgeRuleLimitTests {
  private func limit(_ tale: Tale, _ narrow: Tale.Narrow = Tale.inA) -> MessageID? {
    tale.store.list(of: narrow)?.historyLimit
  }

  private func excerpt(
    _ tale: Tale, _ window: ListWindow<MessageID> = .newest(10)
  ) -> ListExcerpt<MessageID> {
    tale.store.list(of: Tale.inA)?.excerpt(of: window) ?? ListExcerpt()
  }

  @Test func `a limited page begins at its first message, not at its anchor`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), (4, Tale.a, []), lists: [Tale.inA])
    tale.commit(.limited(to: MessageID(3)))
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(2)), before: 1, after: 2))
    #expect(tale.list(Tale.inA) == "4 of [4…end]")
    #expect(limit(tale) == MessageID(4))
    let window = ListWindow<MessageID>(.id(MessageID(2)), before: 2, after: 2)
    #expect(excerpt(tale, window).isComplete && !excerpt(tale, window).reachesBeginning)
    #expect(excerpt(tale).isComplete && excerpt(tale).wants == [])
  }

  @Test func `a page from the very beginning may have hidden messages only`() {
    var tale = Tale(
      (1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), (4, Tale.a, []), (5, Tale.a, []),
      lists: [Tale.inA])
    tale.commit(.limited(to: MessageID(4)))
    let oldest = ListWindow<MessageID>(.oldest, before: 0, after: 2)
    tale.answer(tale.fetch(Tale.inA, .oldest, before: 0, after: 2))
    // The server said that there is nothing newer. It counts hidden messages.
    #expect(tale.list(Tale.inA) == "of nothing")
    #expect(excerpt(tale, oldest).wants == [.about(.id(MessageID(1)), before: 1, after: 2)])
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(1)), before: 1, after: 2))
    #expect(tale.list(Tale.inA) == "4 5 of [4…5]")
    #expect(limit(tale) == MessageID(4))
    #expect(excerpt(tale, oldest).isComplete)
  }

  @Test func `a page that seems to reach the beginning is not believed if a list is limited`() {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), (5, Tale.a, []), lists: [Tale.inA])
    tale.commit(.limited(to: MessageID(2)))
    tale.look(Tale.inA)
    #expect(limit(tale) == MessageID(3))
    tale.commit(.deleted(1))
    tale.commit(.limited(to: MessageID(4)))
    tale.step { $0.drop(MessageID(3)) }
    // Nothing is older than 2, so the server does not say that it hides 3.
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(2)), before: 1, after: 5))
    #expect(tale.list(Tale.inA) == "5 of [4…end]")
    #expect(limit(tale) == MessageID(5))
  }

  @Test func `what is held stays when the server hides it, and an audit of it ends`() {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commit(.limited(to: MessageID(3)))
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inA) == "1 3 of [begin…end]")
    // After the anchor, the page does not say that it hides anything.
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(1)), before: 0, after: 5))
    tale.hear()
    #expect(tale.store.suspects == [MessageID(1)])
    tale.readSuspects()
    #expect(tale.audit == "1 suspects, 0 repairs")
    #expect(tale.store.openAudits == 0)
    tale.commit(.edited(1, 7))
    tale.hear()
    #expect(tale.message(1)?.content == 7)
  }

  @Test func `a hidden message in a hole stays unknown, and is not asked for again`() {
    var tale = Tale((1, Tale.b, []), (2, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    tale.commit(.limited(to: MessageID(2)))
    tale.commit(.moved(1, to: Tale.a))
    tale.hear()
    #expect(excerpt(tale).wants == [.item(MessageID(1))])
    tale.answer(tale.fetch(1))
    #expect(tale.list(Tale.inA) == "2 3 of [begin…0] [2…end]")
    #expect(limit(tale) == MessageID(2))
    #expect(excerpt(tale).wants == [] && excerpt(tale).isComplete)
  }

  @Test func `a hidden message whose flags are in doubt is dropped`() {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, .starred), lists: [Tale.starred])
    tale.look(Tale.all)
    tale.look(Tale.starred)
    tale.commit(.starred(1))
    tale.commit(.unstarred(1, 2))
    tale.hear(isMerged: true)
    #expect(tale.store.doubtful == [MessageID(1)])
    tale.commit(.limited(to: MessageID(2)))
    tale.answer(tale.fetch(1))
    #expect(tale.store.doubtful == [])
    #expect(tale.message(1) == nil)
    let list = tale.store.list(of: Tale.starred)
    #expect(list?.excerpt(of: .newest(10)).isComplete == true)
  }

  @Test(arguments: [true, false])
  func `a visible message that comes in below the limit is asked for`(isPageFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (3, Tale.b, []), (5, Tale.a, []), lists: [Tale.inA])
    tale.commit(.limited(to: MessageID(2)))
    let page = tale.fetch(Tale.inA)
    tale.read(page)
    if isPageFirst {
      tale.answer(page)
      #expect(limit(tale) == MessageID(5))
    }
    tale.commit(.moved(3, to: Tale.a))
    tale.hear()
    if !isPageFirst { tale.answer(page) }
    #expect(limit(tale) == MessageID(3))
    #expect(excerpt(tale).wants == [.about(.id(MessageID(5)), before: 20, after: 0)])
    tale.answer(tale.fetch(Tale.inA, .id(MessageID(5)), before: 20, after: 0))
    #expect(tale.list(Tale.inA) == "3 5 of [3…end]")
    #expect(limit(tale) == MessageID(3))
  }

  @Test func `a server that hides nothing any more lifts the limit`() {
    var tale = Tale((1, Tale.a, []), (3, Tale.a, []), lists: [Tale.inA])
    // The first page says that a visible message is hidden.
    tale.mayBeWrong()
    let rows = [1, 3].map { tale.race.truth[MessageID($0)]! }
    let hidden = tale.fetch(Tale.inA)
    tale.read(
      hidden,
      as: MessagePage(
        messages: [rows[1]], foundOldest: true, foundNewest: true, isHistoryLimited: true))
    tale.answer(hidden)
    #expect(limit(tale) == MessageID(3))
    let whole = tale.fetch(Tale.inA)
    tale.read(whole, as: MessagePage(messages: rows, foundOldest: true, foundNewest: true))
    tale.answer(whole)
    #expect(limit(tale) == nil)
    #expect(tale.list(Tale.inA) == "1 3 of [begin…end]")
  }
}
