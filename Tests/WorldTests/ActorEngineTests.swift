import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds with real drivers: actors and tasks on one executor.
struct ActorEngineTests {
  /// Everything of a result that can be compared, as text.
  private func text(_ result: RunResult) -> String { "\(result)" }

  // MARK: Nothing is wrong

  @Test(arguments: [0, 20, 40] as [UInt64])
  func `sixty runs with real drivers find nothing wrong`(first: UInt64) {
    var statistics = RunStatistics()
    for seed in first..<first + 20 {
      let run = Simulation<DirectoryApp>.runActors(SimulationConfiguration(seed: seed))
      if let finding = run.result.finding { Issue.record("seed \(seed): \(finding)") }
      #expect(run.jobs > run.result.requests)
      statistics.add(run.result)
    }
    #expect(statistics.seeds == 20)
    #expect(statistics.checks > statistics.steps)
    #expect(statistics.breaches == 0)
  }

  @Test(arguments: [1, 2, 7])
  func `a world may have any number of drivers`(clients: Int) {
    for seed: UInt64 in 1...8 {
      let result = Simulation<DirectoryApp>.runActors(
        SimulationConfiguration(seed: seed, clients: clients))
      #expect(result.result.finding == nil, "seed \(seed)")
    }
  }

  @Test func `a log-out before the saved form was read ends the run`() {
    // The story of seed 490: the simulated read was never answered, so run() never ended.
    let result = Simulation<DirectoryApp>.runActors(SimulationConfiguration(seed: 490)).result
    #expect(result.finding == nil)
  }

  @Test func `while a log-out goes on without a run, only one start waits for it`() {
    // The story of seed 75: a log-out waited for the network, the app was started twice, and when
    // the log-out was over, both starts began.
    let plant = Plant.record(.makesAPushInPart)
    let result = Simulation<RecordsApp>.runActors(SimulationConfiguration(seed: 75, plant: plant))
    #expect(result.result.breaches > 0)
  }

  // MARK: Both engines

  /// With several clients both engines have the same order only if nothing comes in between.
  @Test(arguments: [(1, true), (1, false), (2, false), (3, false), (4, false), (5, false)])
  func `both engines give the same trace where only one order is possible`(
    clients: Int, choosesJobs: Bool
  ) {
    for seed: UInt64 in 1...25 {
      let configuration = SimulationConfiguration(
        seed: seed, clients: clients, steps: 150, faults: .none)
      let (expected, trace) = Simulation<DirectoryApp>.trace(configuration)
      let run = Simulation<DirectoryApp>.runActors(
        configuration, choosesJobs: choosesJobs, isTraced: true)
      #expect(run.result.finding == nil, "seed \(seed)")
      #expect(run.result.hash.value == expected.hash.value, "seed \(seed)")
      #expect(run.trace.lines == trace.lines, "seed \(seed)")
    }
  }

  // MARK: Again

  @Test(arguments: [false, true])
  func `the same seed gives the same run, to the last job`(choosesJobs: Bool) {
    var hashes: Set<UInt64> = []
    for seed: UInt64 in 1...10 {
      let configuration = SimulationConfiguration(seed: seed, clients: 3)
      let once = Simulation<DirectoryApp>.runActors(
        configuration, choosesJobs: choosesJobs, isTraced: true)
      let again = Simulation<DirectoryApp>.runActors(
        configuration, choosesJobs: choosesJobs, isTraced: true)
      #expect(text(once.result) == text(again.result), "seed \(seed)")
      #expect(once.jobs == again.jobs, "seed \(seed)")
      #expect(once.trace.lines == again.trace.lines, "seed \(seed)")
      hashes.insert(once.result.hash.value)
    }
    #expect(hashes.count == 10)
  }

  @Test func `tracing a run of real drivers does not change it`() {
    for seed: UInt64 in 1...5 {
      let configuration = SimulationConfiguration(seed: seed)
      let plain = Simulation<DirectoryApp>.runActors(configuration)
      let traced = Simulation<DirectoryApp>.runActors(configuration, isTraced: true)
      #expect(text(plain.result) == text(traced.result))
      #expect(plain.trace.lines.isEmpty)
      #expect(traced.trace.lines.count > 100)
    }
  }

  /// A driver began a write and sent a push in one moment. The process crashed at that write, and
  /// an older form came back, before the world heard of the push. The oracle looked for what was
  /// sent in the older form.
  @Test func `seed 1290 of records: a push may leave in the moment of a crash`() {
    let configuration = SimulationConfiguration(
      seed: 1290, clients: 2,
      faults: [.oldOutbox, .crash, .crashAtWrite, .lostAnswer, .failedWrite], isSwarm: false)
    let run = Simulation<RecordsApp>.runActors(configuration, isTraced: true)
    #expect(run.result.finding == nil)
    let lines = ToldRun(run.trace.lines).lines
    let isThere = lines.indices.contains { index in
      guard lines[index].text.hasPrefix("old-outbox"),
        let crash = lines[index...].first(where: { $0.text == "crashes" })
      else { return false }
      return lines[index...].contains {
        $0.client == crash.client && $0.moment == crash.moment && $0.text.contains(" is push ")
      }
    }
    #expect(isThere)
  }

  // MARK: Plants

  @Test(arguments: Plant.all)
  func `every plant is found with drivers, too`(plant: Plant) {
    let found = (UInt64(1)...200).first { seed in
      Simulation<DirectoryApp>.runActors(SimulationConfiguration(seed: seed, plant: plant)).result
        .finding
        != nil
    }
    #expect(found != nil)
  }
}
