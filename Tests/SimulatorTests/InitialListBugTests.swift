import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Bugs of other projects about the beginning of a list, or of a generation. The numbers are those
/// of the bug table.
@Suite struct InitialListBugTests {
  @Test(arguments: [true, false])
  func `bug 37: a list of several pages is fetched to its end`(isMoved: Bool) throws {
    var tale = Tale(
      (1, Tale.a, []), (2, Tale.a, []), (3, Tale.a, []), (4, Tale.a, []), (5, Tale.a, []),
      lists: [Tale.inA])
    var pages = 0
    while let want = tale.store.list(of: Tale.inA)?.excerpt(of: .newest(9)).wants.first {
      pages += 1
      try #require(pages < 10)
      // The server gives two messages at a time, whatever is asked for.
      let page: UInt64
      switch want {
      case .item(let id): page = tale.fetch(id.number)
      case .about(let anchor, let before, let after):
        page = tale.fetch(Tale.inA, anchor, before: min(before, 2), after: min(after, 2))
      }
      tale.read(page)
      if isMoved, pages == 2 {
        tale.commit(.moved(2, to: Tale.b))
        tale.hear()
      }
      tale.answer(page)
    }
    #expect(pages > 2)
    #expect(tale.list(Tale.inA) == (isMoved ? "1 3 4 5" : "1 2 3 4 5") + " of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `bug 38: answers to an earlier generation bring nothing back`(isReadFirst: Bool) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), lists: [Tale.inA])
    let page = tale.fetch(Tale.inA)
    if isReadFirst { tale.read(page) }
    tale.commit(.deleted(1))
    tale.step { $0.register() }
    #expect(tale.answer(page) == .absorbed)
    #expect(tale.message(1) == nil && tale.message(2) == nil)
    tale.look(Tale.inA)
    #expect(tale.list(Tale.inA) == "2 of [begin…end]")
  }

  @Test(arguments: [true, false])
  func `bug 43: a new generation keeps neither messages nor knowledge`(
    isPageOut: Bool
  ) {
    var tale = Tale((1, Tale.a, []), (2, Tale.a, []), lists: [Tale.inA])
    tale.look(Tale.inA)
    #expect(tale.message(1) != nil && tale.knows(1, Tale.inA))
    if isPageOut { _ = tale.fetch(Tale.inA) }
    tale.step { $0.register() }
    #expect(tale.message(1) == nil && !tale.knows(1, Tale.inA) && !tale.knows(3, Tale.inA))
    #expect(tale.store.openFetches == [] && tale.store.suspects == [])
    // The old rows are readable, as former ones.
    let rows = tale.store.list(of: Tale.inA)?.excerpt(of: .newest(5)).rows
    #expect(rows?.contains(.former(MessageID(1))) == true)
  }
}
