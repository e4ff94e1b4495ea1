import MessageSync
import Testing
import UpdateMachine

@testable import Simulator

/// Tests oracle F for lists: what is shown claims no more than is known.
@Suite struct ExcerptOracleTests {
  /// A list of 2, 4 and 8, which is known up to 5 and from 7 on.
  private func list() -> PartialList<MessageID> {
    var list = PartialList<MessageID>()
    list.learn(IDInterval(from: .veryBeginning, to: .id(MessageID(5))))
    list.learn(IDInterval(from: .id(MessageID(7)), to: .veryEnd))
    for id: Int64 in [2, 4, 8] { list.insert(MessageID(id)) }
    return list
  }

  private func complaint(
    _ window: ListWindow<MessageID>, _ list: PartialList<MessageID>,
    _ change: (inout ListExcerpt<MessageID>) -> Void = { _ in }
  ) -> String? {
    var excerpt = list.excerpt(of: window)
    change(&excerpt)
    return ExcerptOracle.objection(to: excerpt, of: window, list)?.expected
  }

  @Test func `correct excerpts are accepted`() {
    var nothing = PartialList<MessageID>()
    nothing.learn(.everything)
    for list in [list(), PartialList<MessageID>(), PartialList(forgetting: list()), nothing] {
      for anchor in [PageAnchor.oldest, .newest, .firstUnread, .id(MessageID(6))] {
        for before: Int64 in 0...4 {
          for after: Int64 in 0...4 {
            #expect(complaint(ListWindow(anchor, before: before, after: after), list) == nil)
          }
        }
      }
    }
  }

  @Test func `a gap that is not shown is found`() {
    let found = complaint(.newest(3), list()) {
      $0.rows.removeAll { $0 == .gap(IDInterval(MessageID(6))) }
    }
    #expect(found == "nothing is left out before 8")
  }

  @Test func `an unknown part that looks empty is found`() {
    #expect(
      complaint(.newest(3), PartialList<MessageID>()) { $0.rows = [] }
        == "what is asked for is shown as a gap"
    )
    let empty = complaint(.newest(3), PartialList<MessageID>()) {
      $0 = ListExcerpt()
      $0.reachesBeginning = true
      $0.reachesEnd = true
    }
    #expect(empty == "the newest row is the last")
  }

  @Test func `false claims of the newest and the oldest are found`() {
    let window = ListWindow<MessageID>(.oldest, before: 0, after: 1)
    #expect(complaint(window, list()) { $0.reachesEnd = true } == "the newest row is the last")
    let oldest = complaint(.newest(1), list()) { $0.reachesBeginning = true }
    #expect(oldest == "nothing is left out before 8")
  }

  @Test func `a missing row is found`() {
    let window = ListWindow<MessageID>(.oldest, before: 0, after: 3)
    #expect(
      complaint(window, list()) { $0.rows.removeAll { $0 == .item(MessageID(2)) } }
        == "nothing is left out before 4")
  }

  @Test func `an unknown part that is not asked for, and too few rows, are found`() {
    #expect(complaint(.newest(3), list()) { $0.wants = [] } == "a gap is asked for")
    let short = complaint(ListWindow(.id(MessageID(8)), before: 0, after: 1), list()) {
      $0.rows = []
      $0.reachesEnd = false
    }
    #expect(short == "1 rows from 8 on, or the end")
  }

  @Test func `former rows that are shown as known, or in a known part, are found`() {
    let gone = complaint(.newest(1), list()) { $0.rows = [.item(MessageID(6))] }
    #expect(gone == "6 is shown as known only where it is")
    let former = complaint(.newest(1), list()) { $0.rows.append(.former(MessageID(9))) }
    #expect(former == "9 is former only where nothing is known")
    let wrong = complaint(.newest(1), list()) { $0.rows = [.gap(IDInterval(MessageID(5)))] }
    #expect(wrong == "a gap where nothing is known")
  }
}
