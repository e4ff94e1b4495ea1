import MessageSync
import Simulator
import Testing
import UpdateMachine

/// Tests pictures of lists.
@Suite struct IntervalBarTests {
  private func bar(_ list: PartialList<MessageID>, through newest: Int64 = 9) -> String {
    IntervalBar(list, through: MessageID(newest)).description
  }

  private func dots(_ count: Int, _ sign: String = ".") -> String {
    String(repeating: sign, count: count)
  }

  @Test func `unknown parts are dots`() {
    #expect(bar(PartialList<MessageID>()) == dots(42) + " 1…40")
  }

  @Test func `ends, known parts and messages are drawn`() {
    var list = PartialList<MessageID>()
    list.learn(IDInterval(from: .veryBeginning, to: .id(MessageID(3))))
    list.learn(IDInterval(from: MessageID(6), to: MessageID(8)))
    for id: Int64 in [2, 5, 7] { list.insert(MessageID(id)) }
    #expect(bar(list) == "[=#=.o=#=" + dots(33) + " 1…40")
    list.learn(IDInterval(from: .id(MessageID(8)), to: .veryEnd))
    #expect(bar(list) == "[=#=.o=#" + dots(33, "=") + "] 1…40")
  }

  @Test func `formerly known parts are drawn`() {
    var list = PartialList<MessageID>()
    list.learn(IDInterval(from: .veryBeginning, to: .id(MessageID(3))))
    list.insert(MessageID(2))
    var next = PartialList(forgetting: list)
    #expect(bar(next) == "----" + dots(38) + " 1…40")
    next.learn(IDInterval(MessageID(2)))
    #expect(bar(next) == "--=-" + dots(38) + " 1…40")
  }

  @Test func `many IDs share a column, and the width is fixed`() {
    var list = PartialList<MessageID>()
    list.learn(IDInterval(from: MessageID(3), to: MessageID(7)))
    list.insert(MessageID(4))
    #expect(bar(list, through: 101) == ".:#:" + dots(38) + " 1…120")
    list.insert(MessageID(1_000_000))
    #expect(bar(list, through: 101) == ".o" + dots(38) + "o. 1…1000000")
  }
}
