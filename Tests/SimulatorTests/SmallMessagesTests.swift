import MessageSync
import Testing

@testable import Simulator
@testable import UpdateMachine

/// Tests the small world of a window and a page, of which every state can be visited.
/// `Tests/simulations` visits a larger one in a release build.
@Suite struct SmallMessagesTests {
  @Test(arguments: [0, 1])
  func `the small world of messages is explored completely, and no rule is broken`(changes: Int) {
    let exploration = Explorer(SmallMessages(changes: changes)).run()
    #expect(exploration.ending == .closed)
    #expect(exploration.counterexample?.lines == nil)
    #expect(exploration.counts.distinct > (changes == 0 ? 8 : 600))
  }

  @Test func `a page without the events that came while it was out is found`() throws {
    let exploration = Explorer(SmallMessages(changes: 1, forgetsEvents: true)).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    #expect(found.steps.count <= 6, "\(found.lines)")
  }

  @Test func `a state that is reached on two paths has one digest`() {
    var one = SmallMessages.unpacked(changes: 0)
    one.race.poll()
    one.race.losePoll()
    one.race.poll()
    var other = SmallMessages.unpacked(changes: 0)
    other.race.poll()
    var digests = (StateDigest(), StateDigest())
    one.race.fold(into: &digests.0)
    other.race.fold(into: &digests.1)
    #expect(digests.0 == digests.1)
  }
}
