import Foundation
import Simulator
import Testing

/// Exactly the model in the documentation of ``Explorer``.
struct ExplorerExampleTests {
  struct Jugs: ExplorableModel {
    enum Step: String {
      case fillSmall, fillBig, emptySmall, emptyBig, pourSmall, pourBig
    }

    /// Gallons in the small jug, and above them those in the big one.
    func pack(_ small: UInt64, _ big: UInt64) -> UInt64 { small | big << 8 }

    var initialStates: [UInt64] { [pack(0, 0)] }

    func forEachSuccessor(of state: UInt64, _ visit: (Step, UInt64) -> Void) {
      let small = state & 255
      let big = state >> 8
      let up = min(small, 5 - big)
      let down = min(big, 3 - small)
      visit(.fillSmall, pack(3, big))
      visit(.fillBig, pack(small, 5))
      visit(.emptySmall, pack(0, big))
      visit(.emptyBig, pack(small, 0))
      visit(.pourSmall, pack(small - up, big + up))
      visit(.pourBig, pack(small + down, big - down))
    }

    func violation(of state: UInt64) -> String? {
      state >> 8 == 4 ? "four gallons are in the big jug" : nil
    }

    func description(of state: UInt64) -> String {
      "small \(state & 255), big \(state >> 8)"
    }

    func description(ofStep step: Step) -> String { step.rawValue }
  }

  @Test func `the documented model measures four gallons in six steps`() throws {
    let exploration = Explorer(Jugs()).run()
    #expect(exploration.ending == .violated)
    #expect(exploration.counts.depth == 7)
    let counterexample = try #require(exploration.counterexample)
    #expect(
      counterexample.lines == [
        "     small 0, big 0",
        "1. fillBig", "     small 0, big 5",
        "2. pourBig", "     small 3, big 2",
        "3. emptySmall", "     small 0, big 2",
        "4. pourBig", "     small 2, big 0",
        "5. fillBig", "     small 2, big 5",
        "6. pourBig", "     small 3, big 4",
        "Does not hold: four gallons are in the big jug",
      ])
  }

  @Test func `the documentation shows exactly this model`() throws {
    let here = URL(filePath: #filePath)
    let sources = here.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/Simulator/Explorer/Explorer.swift")
    let lines = try String(contentsOf: sources, encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "/// struct Jugs: ExplorableModel {"))
    let last = try #require(lines[first...].firstIndex(of: "/// }"))
    #expect(last - first < 60)
    let model = lines[first...last].map { line in
      line == "///" ? "" : "  " + line.dropFirst(4)
    }.joined(separator: "\n")
    #expect(try String(contentsOf: here, encoding: .utf8).contains(model))
    #expect(lines.contains("/// let exploration = Explorer(Jugs()).run()"))
  }
}
