import Testing

@testable import Simulator

/// Tests what holds in the library's every world.
struct EveryWorldTests {
  private func configuration(_ world: LibraryWorld, seed: UInt64) -> SimulationConfiguration {
    var configuration = SimulationConfiguration(seed: seed)
    configuration.world = world
    return configuration
  }

  @Test(arguments: LibraryWorld.allCases, [UInt64(0), 1000])
  func `clients converge, and no change is lost`(world: LibraryWorld, first: UInt64) {
    for seed in first..<(first + 150) {
      let configuration = configuration(world, seed: seed)
      guard let finding = LibraryWorld.run(configuration).finding else { continue }
      let (_, trace) = LibraryWorld.trace(configuration)
      Issue.record("seed \(seed): \(finding)\n\(trace.text.suffix(6000))")
      return
    }
  }

  @Test(arguments: LibraryWorld.allCases)
  func `a seed gives one trace, and its choices give it again`(world: LibraryWorld) throws {
    let configuration = configuration(world, seed: 7)
    let result = LibraryWorld.run(configuration)
    #expect(LibraryWorld.run(configuration).hash == result.hash)
    let (traced, trace) = LibraryWorld.trace(configuration)
    #expect(traced.hash == result.hash)
    let token = RunToken(configuration, world.visited(by: Choosing(configuration: configuration)))
    #expect(try RunToken(token.text).configuration.world == world)
    let (replayed, again) = LibraryWorld.traceReplay(token)
    #expect(replayed.steps == result.steps)
    #expect(again.lines == trace.lines)
  }

  private struct Choosing: AppVisitor {
    let configuration: SimulationConfiguration

    func visit<App: SimulatedApp>(_ app: App.Type) -> ChoiceLists {
      ChoiceLists(Simulation<App>.choices(of: configuration))
    }
  }

  /// What the users and the server of a world can do. In `tables`, an insert whose ID is taken is
  /// one that was uncertain, had arrived, and was retried.
  private static let deeds: [(world: LibraryWorld, words: [String])] = [
    (
      .ledger,
      [
        "refused", "set aside", "threw", "accepted", "knowing", "halted(credentials)", "confirming",
      ]
    ),
    (
      .posts,
      [
        "uncertain", "refused", "set aside", "threw", "accepted", "halted(credentials)", "waiting",
        "modelRefused",
      ]
    ),
    (
      .records,
      [
        "behind", "accepted only", "refused", " through items/", "expired", "mutates delete",
        "mutates update", "discards", "retries", "makes update",
      ]
    ),
    (
      .tables,
      [
        "fetching 2", " after ", "draining", "refused", "(taken)", "mutates insert", "mutates set",
        "mutates move", "mutates delete", "discards", "retries",
      ]
    ),
    (
      .streams,
      [
        "accepted only", "rejected", "set aside", "mutates delete", "mutates update", "discards",
        "retries", "makes insert", "serverFault",
      ]
    ),
  ]

  @Test(arguments: deeds)
  func `all that users and server can do happens`(world: LibraryWorld, words: [String]) {
    var missing = words
    for seed in 1...80 as ClosedRange<UInt64> where !missing.isEmpty {
      let text = LibraryWorld.trace(configuration(world, seed: seed)).1.text
      missing.removeAll { text.contains($0) }
    }
    #expect(missing == [])
  }

  @Test func `nothing is sent again automatically to a server that does not know a copy`() {
    for seed in 1...40 as ClosedRange<UInt64> {
      let text = LibraryWorld.trace(configuration(.posts, seed: seed)).1.text
      #expect(!text.contains("confirming"), "seed \(seed)")
    }
  }
}
