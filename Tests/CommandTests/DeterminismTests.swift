import Testing

@testable import Simulator
@testable import simulate

/// Tests what `simulate run` says of a seed that gives two different runs. The worlds here never do
/// that, so two seeds stand in for one.
struct DeterminismTests {
  private func report() throws -> RunReport {
    var result = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 3))
    result.compare(with: Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 4)))
    var outcome = Runner.Outcome()
    outcome.statistics.add(result)
    return RunReport(options: try RunOptions(Arguments([])), outcome: outcome)
  }

  @Test func `a seed with two different traces is a failure of its own kind`() throws {
    let report = try report()
    #expect(report.outcome.statistics.failures == 1)
    #expect(report.firstWord == "\nFirst found by determinism, in seed 3: --seed 3")
    #expect(report.json.contains("\"failures\":1,"))
    #expect(report.json.contains("\"oracle\":\"determinism\""))
  }

  @Test func `both trace hashes are printed`() throws {
    let one = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 3)).hash
    let other = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 4)).hash
    let story = try #require(try report().story(nil))
    #expect(story.contains("seed 3 gave two traces: hash \(one) and \(other), "))
  }

  @Test func `two equal runs of a seed are no failure`() {
    var result = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 3))
    result.compare(with: Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 3)))
    #expect(result.finding == nil)
  }
}
