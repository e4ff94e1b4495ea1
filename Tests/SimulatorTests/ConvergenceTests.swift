import Simulator
import Testing
import UpdateMachine

/// A walk on numbers. At first any step may be taken; at the end only calm ones.
struct Walk: ExplorableModel {
  var steps: [UInt64: [UInt64]]
  var calm: [UInt64: [UInt64]]
  var settled: Set<UInt64>

  var initialStates: [UInt64] { [0] }

  func forEachSuccessor(of state: UInt64, _ visit: (UInt64, UInt64) -> Void) {
    for next in (steps[state] ?? []) + (calm[state] ?? []) { visit(next, next) }
  }

  func forEachCalmSuccessor(of state: UInt64, _ visit: (UInt64, UInt64) -> Void) {
    for next in calm[state] ?? [] { visit(next, next) }
  }

  func isSettled(_ state: UInt64) -> Bool { settled.contains(state) }
  func violation(of state: UInt64) -> String? { nil }
  func coverage(of step: UInt64) -> UInt64 { 1 << step }
  func description(of state: UInt64) -> String { "at \(state)" }
  func description(ofStep step: UInt64) -> String { "to \(step)" }
}

@Suite struct ConvergenceTests {
  @Test func `calm paths that end in settled states are accepted`() {
    let walk = Walk(
      steps: [0: [1, 2], 1: [0]], calm: [0: [1], 1: [2, 3], 2: [4], 3: [4]], settled: [4])
    let exploration = Explorer(walk).run()
    #expect(exploration.ending == .closed)
    #expect(exploration.counterexample == nil)
    #expect(exploration.coverage == 0b11111)
  }

  @Test func `a calm path that loops is reported with the path to it`() throws {
    let walk = Walk(
      steps: [0: [1], 1: [2]], calm: [0: [9], 1: [9], 2: [3], 3: [9, 5], 5: [2]], settled: [9])
    let exploration = Explorer(walk).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    #expect(
      found.lines == [
        "     at 0", "1. to 1", "     at 1", "2. to 2", "     at 2",
        "From here on nothing goes wrong.", "3. to 3", "     at 3", "4. to 5", "     at 5",
        "5. to 2", "     at 2",
        "Does not hold: no path loops before everything is settled: "
          + "the last state was there before",
      ])
  }

  @Test func `a calm path that ends unsettled is reported`() throws {
    let walk = Walk(steps: [0: [1]], calm: [0: [7], 1: [2]], settled: [7])
    let exploration = Explorer(walk).run()
    #expect(exploration.ending == .violated)
    let found = try #require(exploration.counterexample)
    #expect(found.states == [0, 1, 2])
    #expect(found.statesBeforeCalm == 2)
    #expect(found.violation == "every path continues until everything is settled")
  }

  @Test func `a loop through settled states is accepted`() {
    let walk = Walk(steps: [:], calm: [0: [1], 1: [2], 2: [0]], settled: [2])
    #expect(Explorer(walk).run().ending == .closed)
  }

  @Test func `a path into a known good state is not walked twice`() {
    // 1 can be reached from 0 and from 2. Both ways from 3 end at 4.
    let walk = Walk(
      steps: [0: [2]], calm: [0: [1], 1: [3], 2: [1], 3: [4, 5], 5: [4]], settled: [4])
    #expect(Explorer(walk).run().ending == .closed)
  }
}
