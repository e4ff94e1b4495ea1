import Testing

@testable import Simulator

/// Undo and redo in the simulation of an app.
@Suite struct UndoAppTests {
  @Test(arguments: SimulationEngine.allCases)
  func `users undo and redo, and both laws hold`(engine: SimulationEngine) async {
    let runs = await Simulation<TitleApp>.run(
      seeds: 1...(engine == .value ? 100 : 20), clients: 3, engine: engine)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
    #expect(!runs.statistics.missingFaults.contains("undo"))
  }

  @Test func `so it is where users undo in every seed, and everything goes wrong`() async {
    let runs = await Simulation<TitleApp>.run(seeds: 1...20, clients: 3, isSwarm: false)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }
}
