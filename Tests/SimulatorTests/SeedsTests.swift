import SyncProtocols
import Synchronization
import Testing
import UpdateMachine

@testable import Simulator

/// Tests runs of many seeds. The result depends only on the arguments, and an app that is not a
/// function of its seed is found.
@Suite struct SeedsTests {
  @Test func `every seed is run and counted`() async {
    var expected = RunStatistics()
    for seed in UInt64(5)...70 {
      expected.add(
        Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed, clients: 2, steps: 50)))
    }
    let runs = await Simulation<DirectoryApp>.run(seeds: 5...70, clients: 2, steps: 50)
    #expect(runs.statistics.seeds == 66)
    #expect(runs.statistics.steps == expected.steps)
    #expect(runs.statistics.faults == expected.faults)
    #expect(runs.hash.value == expected.traceHash)
    #expect(runs.failure == nil)
  }

  @Test func `the first failing seed is reported, and nothing after it is counted`() async throws {
    let plant = Plant.breach(.revivedQueue)
    let first = try #require(
      (UInt64(1)...600).first { seed in
        let configuration = SimulationConfiguration(seed: seed, clients: 2, steps: 20, plant: plant)
        return Simulation<DirectoryApp>.run(configuration).finding != nil
      })
    try #require(first > 17, "the seed is not the first task's")
    for last in [first, first + 1, first + 200] {
      let runs = await Simulation<DirectoryApp>.run(
        seeds: 1...last, clients: 2, steps: 20, plant: plant)
      #expect(runs.failure?.seed == first)
      #expect(runs.statistics.seeds == Int64(first))
      #expect(runs.statistics.failures == 1)
    }
    let before = await Simulation<DirectoryApp>.run(
      seeds: 1...(first - 1), clients: 2, steps: 20, plant: plant)
    #expect(before.failure == nil)
  }

  @Test func `a failure without shrinking is repeated as it was drawn`() async throws {
    let plant = Plant.breach(.lostEvent)
    let runs = await Simulation<DirectoryApp>.run(seeds: 1...100, plant: plant, shrinking: 0)
    let failure = try #require(runs.failure)
    let seed = try #require(failure.seed)
    let drawn = Simulation<DirectoryApp>.trace(SimulationConfiguration(seed: seed, plant: plant))
    #expect(failure.finding == drawn.0.finding)
    #expect(failure.trace.lines == drawn.1.lines)
    let token = try #require(failure.token)
    let again = try #require(try Simulation<DirectoryApp>.replay(token))
    #expect(again.trace.lines == drawn.1.lines)
  }

  @Test func `a failure with actors is shrunk like one of bare clients`() async throws {
    let plant = Plant.breach(.lostEvent)
    // Both engines fail with this seed.
    let runs = await Simulation<DirectoryApp>.run(seeds: 3...3, plant: plant, engine: .actor)
    let failure = try #require(runs.failure)
    let token = try #require(failure.token)
    #expect(try Simulation<DirectoryApp>.replay(token)?.finding == failure.finding)
  }

  @Test func `seeds up to the greatest number are accepted`() async {
    let runs = await Simulation<DirectoryApp>.run(seeds: (.max - 17)...(.max), clients: 1, steps: 5)
    #expect(runs.statistics.seeds == 18)
  }

  @Test func `a cancelled task gets the results so far`() async {
    let task = Task { await Simulation<DirectoryApp>.run(seeds: 1...1_000_000_000) }
    task.cancel()
    #expect(await task.value.statistics.seeds < 100_000)
  }

  @Test func `an invalid token is refused`() {
    #expect(throws: RunToken.Malformed.notAToken) {
      try Simulation<DirectoryApp>.replay("no token!")
    }
  }

  // MARK: Determinism

  @Test(arguments: SimulationEngine.allCases)
  func `a seed with two different traces is found`(engine: SimulationEngine) async throws {
    let runs = await Simulation<MoodyApp>.run(seeds: 7...9, engine: engine)
    let failure = try #require(runs.failure)
    #expect(failure.seed == 7)
    #expect(failure.finding.oracle == .determinism)
    #expect(failure.token == nil)
    #expect(failure.story.hasPrefix("Seed 7 gave two traces: hash "))
    #expect(failure.story.contains("the traces differ first in line "))
  }

  @Test func `a seed that fails only once is a failure`() async throws {
    let runs = await Simulation<OnceWrongApp>.run(seeds: 7...9)
    let failure = try #require(runs.failure)
    #expect(failure.seed == 8)
    #expect(failure.finding.oracle == .determinism)
    #expect(failure.story.hasPrefix("Seed 8 gave two traces: hash "))
    #expect(failure.story.contains("the traces were equal"))
  }

  @Test func `the first seed and every 64th are run twice`() async {
    #expect((0..<200).filter { Simulation<DirectoryApp>.isRunTwice($0) } == [0, 64, 128, 192])
    let configuration = SimulationConfiguration(seed: 3)
    #expect(Simulation<MoodyApp>.run(configuration, engine: .value).finding == nil)
    let twice = Simulation<MoodyApp>.run(configuration, engine: .value, twice: true)
    #expect(twice.finding?.oracle == .determinism)
    let calm = Simulation<DirectoryApp>.run(configuration, engine: .value, twice: true)
    #expect(calm.finding == nil && calm.hash == Simulation<DirectoryApp>.run(configuration).hash)
  }
}

/// A chat in which events depend on what happened in other worlds.
private enum MoodyApp: SimulatedApp {
  typealias Model = DirectoryModel

  private static let mood = Atomic<UInt32>(0)

  static func beginning(_ choices: inout Choices) -> DirectoryState {
    DirectoryApp.beginning(&choices)
  }

  static func nextEvent(_ truth: DirectoryState, _ choices: inout Choices) -> DirectoryEvent {
    .setting(key: 1, value: mood.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  static func checksum(of model: DirectoryModel) -> UInt64 { DirectoryApp.checksum(of: model) }
  static func describe(_ model: DirectoryModel) -> String { DirectoryApp.describe(model) }
  static func describe(_ truth: DirectoryState) -> String { DirectoryApp.describe(truth) }
  static func describe(_ event: DirectoryEvent) -> String { "\(event)" }
}

/// A chat whose model is wrong in the third world that is made. That is the second seed's, because
/// the first seed is run twice.
private enum OnceWrongApp: SimulatedApp {
  typealias Model = DirectoryModel

  private static let worlds = Atomic<UInt32>(0)

  static func beginning(_ choices: inout Choices) -> DirectoryState {
    worlds.wrappingAdd(1, ordering: .relaxed)
    return DirectoryApp.beginning(&choices)
  }

  static func nextEvent(_ truth: DirectoryState, _ choices: inout Choices) -> DirectoryEvent {
    DirectoryApp.nextEvent(truth, &choices)
  }

  static func checksum(of model: DirectoryModel) -> UInt64 {
    DirectoryApp.checksum(of: model) &+ (worlds.load(ordering: .relaxed) == 3 ? 1 : 0)
  }

  static func describe(_ model: DirectoryModel) -> String { DirectoryApp.describe(model) }
  static func describe(_ truth: DirectoryState) -> String { DirectoryApp.describe(truth) }
}
