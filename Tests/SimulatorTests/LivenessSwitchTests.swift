import Testing
import UpdateMachine

@testable import Simulator

/// Tests runs that need not converge.
struct LivenessSwitchTests {
  @Test func `a run without liveness ends when the faults stop`() {
    var configuration = SimulationConfiguration(seed: 1, steps: 120)
    let judged = Simulation<DirectoryApp>.run(configuration)
    configuration.judgesLiveness = false
    let unjudged = Simulation<DirectoryApp>.run(configuration)
    #expect(unjudged.steps == 120)
    #expect(judged.steps > 120)
    #expect(unjudged.convergence == .zero)
  }

  @Test func `a server that never answers again is found only with liveness`() {
    var configuration = SimulationConfiguration(seed: 3, faults: .none, plant: .neverAnswersAgain)
    #expect(Simulation<DirectoryApp>.run(configuration).finding?.oracle == .liveness)
    configuration.judgesLiveness = false
    #expect(Simulation<DirectoryApp>.run(configuration).finding == nil)
  }

  @Test(arguments: [true, false], [true, false])
  func `a token records whether liveness is checked`(judges: Bool, isSwarm: Bool) throws {
    let configuration = SimulationConfiguration(
      seed: 0, isSwarm: isSwarm, judgesLiveness: judges)
    let token = try RunToken(RunToken(configuration, ChoiceLists([])).text)
    #expect(token.configuration == configuration)
  }
}
