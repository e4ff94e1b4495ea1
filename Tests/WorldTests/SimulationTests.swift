import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds.
struct SimulationTests {
  /// Everything of a result that can be compared, as text.
  private func text(_ result: RunResult) -> String { "\(result)" }

  // MARK: Nothing is wrong

  @Test(arguments: [0, 100, 200] as [UInt64])
  func `three hundred runs find nothing wrong`(first: UInt64) {
    var statistics = RunStatistics()
    for seed in first..<first + 100 {
      let result = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed))
      if let finding = result.finding { Issue.record("seed \(seed): \(finding)") }
      statistics.add(result)
    }
    #expect(statistics.seeds == 100)
    #expect(statistics.failures == 0)
    #expect(statistics.steps > 100 * 300)
    #expect(statistics.checks > statistics.steps)
    #expect(statistics.breaches == 0)
  }

  @Test func `three hundred runs reach every status, every row and every fault of their world`() {
    var statistics = RunStatistics()
    for seed: UInt64 in 1000..<1300 {
      statistics.add(Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed)))
    }
    #expect(statistics.missingStatuses == [])
    #expect(statistics.missingRows == [])
    // Chat has no pages.
    #expect(
      statistics.missingFaults
        == Fault.allCases.filter { $0.isOfPages || $0.isOfChanges }.map(\.name))
  }

  @Test(arguments: [1, 2, 7])
  func `a world may have any number of clients`(clients: Int) {
    for seed: UInt64 in 1...25 {
      let configuration = SimulationConfiguration(seed: seed, clients: clients)
      var world = World<DirectoryApp>(configuration: configuration, choices: Choices(seed: seed))
      let result = world.run()
      #expect(result.finding == nil, "seed \(seed)")
      #expect(world.clients.count == clients)
      #expect(world.phase == .over)
      #expect(result.requests >= Int64(clients))
    }
  }

  @Test func `every client shows the server's state at the end`() {
    for seed: UInt64 in 1...40 {
      let configuration = SimulationConfiguration(seed: seed)
      var world = World<DirectoryApp>(configuration: configuration, choices: Choices(seed: seed))
      _ = world.run()
      var lost = 0
      for client in world.clients {
        // One client may be gone for ever. Nobody waits for it.
        if client.isLostForEver {
          lost += 1
          continue
        }
        #expect(client.body.model?.state == world.server.truth)
        #expect(client.body.freshness(at: world.now).claim == .connected)
      }
      #expect(lost <= 1)
    }
  }

  @Test func `a run takes the configured steps, and then those of the calm`() {
    for steps: Int64 in [1, 50, 700] {
      let result = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: 5, steps: steps))
      #expect(result.steps > steps)
      #expect(result.finding == nil)
    }
  }

  @Test func `a world without a client is a programmer's mistake`() async {
    await #expect(processExitsWith: .failure) {
      _ = SimulationConfiguration(seed: 1, clients: 0)
    }
  }

  // MARK: Without faults

  @Test func `a world near its server has no failures without faults, and is soon up to date`() {
    var near = 0
    for seed: UInt64 in 1...100 {
      let configuration = SimulationConfiguration(seed: seed, faults: .none)
      var world = World<DirectoryApp>(configuration: configuration, choices: Choices(seed: seed))
      // At great distances a quick poll can take longer than its deadline. A queue whose lifetime
      // is shorter than a wait can be lost between two waits. Neither is a fault of the world.
      guard world.faultPlan.latencyMaximum <= .milliseconds(200),
        world.faultPlan.server.lifetime == .seconds(600)
      else { continue }
      near += 1
      let result = world.run()
      #expect(result.finding == nil)
      #expect(result.rows == FailureRows(), "seed \(seed)")
      #expect(result.faults == FaultCounts())
      #expect(result.convergence <= .seconds(3), "seed \(seed): \(result.convergence)")
    }
    #expect(near > 25)
  }

  @Test func `no world fails without faults, whatever the latency`() {
    for seed: UInt64 in 1...60 {
      let result = Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed, faults: .none))
      #expect(result.finding == nil)
      #expect(result.faults == FaultCounts())
      #expect(result.convergence <= .seconds(60), "seed \(seed): \(result.convergence)")
    }
  }

  @Test(arguments: Fault.allCases.filter { !$0.isOfPages && !$0.isOfChanges })
  func `each single fault strikes and is survived`(fault: Fault) {
    var faults = FaultSet()
    faults.insert(fault)
    // These strike only after a cancel or a crash.
    if fault == .lateAnswer { faults.insert(.background) }
    if fault == .clockJump || fault == .oldBackup || fault == .damagedForm {
      faults.insert(.crash)
    }
    var statistics = RunStatistics()
    var seed: UInt64 = 0
    while seed < 20 || statistics.faults[fault] == 0, seed < 200 {
      seed += 1
      let result = Simulation<DirectoryApp>.run(
        SimulationConfiguration(seed: seed, clients: 2, faults: faults))
      #expect(result.finding == nil, "seed \(seed)")
      statistics.add(result)
    }
    #expect(statistics.faults[fault] > 0)
    #expect(Fault.allCases.allSatisfy { faults.contains($0) || statistics.faults[$0] == 0 })
  }

  /// Only this fault makes registers fail as expired, so there are as many refusals as strikes. A
  /// fault that does nothing has not struck.
  @Test func `a fault is counted when it strikes, not when it might have`() {
    var strikes: Int64 = 0
    for seed: UInt64 in 1...40 {
      let (result, trace) = Simulation<DirectoryApp>.trace(
        SimulationConfiguration(seed: seed, clients: 2, faults: [.expiredRegister]))
      let told = trace.lines.count { $0.contains("  fault  ") }
      #expect(result.faults[.expiredRegister] == Int64(told))
      let refused = result.rows.registering[Self.expired]
      #expect(result.faults[.expiredRegister] - refused <= 2, "seed \(seed): \(refused) refused")
      strikes += result.faults[.expiredRegister]
    }
    #expect(strikes > 0)
  }

  /// The index of this failure's row in the table.
  private static let expired = FailureRows.names.firstIndex(of: "expired")!

  // MARK: Again

  @Test func `equal seeds give equal results, other seeds give others`() {
    var hashes: Set<UInt64> = []
    for seed: UInt64 in 1...30 {
      let configuration = SimulationConfiguration(seed: seed)
      let once = Simulation<DirectoryApp>.run(configuration)
      #expect(text(once) == text(Simulation<DirectoryApp>.run(configuration)))
      hashes.insert(once.hash.value)
    }
    #expect(hashes.count == 30)
  }

  @Test func `tracing does not change a run, and a trace is the same every time`() {
    for seed: UInt64 in 1...15 {
      let configuration = SimulationConfiguration(seed: seed, clients: 3)
      let (result, trace) = Simulation<DirectoryApp>.trace(configuration)
      #expect(text(result) == text(Simulation<DirectoryApp>.run(configuration)))
      #expect(trace.lines == Simulation<DirectoryApp>.trace(configuration).1.lines)
      #expect(trace.lines.count > 100)
      #expect(trace.lines.contains { $0.contains("no more faults") })
    }
  }

  @Test func `a run replayed from its choices is the same run`() {
    for seed: UInt64 in 1...30 {
      let configuration = SimulationConfiguration(seed: seed)
      let choices = Simulation<DirectoryApp>.choices(of: configuration)
      let result = Simulation<DirectoryApp>.run(configuration)
      #expect(Int64(choices.count) == result.choices)
      #expect(text(Simulation<DirectoryApp>.replay(choices, configuration)) == text(result))
    }
  }

  @Test func `a run from shortened or lowered choices is valid`() {
    var mutations = Choices(seed: 77)
    for seed: UInt64 in 1...30 {
      let configuration = SimulationConfiguration(seed: seed)
      var choices = Simulation<DirectoryApp>.choices(of: configuration)
      for _ in 0..<20 {
        let index = Int(mutations.draw(.faults, below: UInt64(choices.count)))
        switch mutations.draw(.faults, below: 3) {
        case 0: choices[index].value /= 2
        case 1: choices.remove(at: index)
        default: choices[index].value = .max
        }
      }
      choices.removeLast(choices.count / 3)
      let result = Simulation<DirectoryApp>.replay(choices, configuration)
      #expect(result.finding == nil, "seed \(seed)")
    }
  }

  @Test func `a run without choices is the tamest`() {
    let result = Simulation<DirectoryApp>.replay([], SimulationConfiguration(seed: 1))
    #expect(result.finding == nil)
    #expect(result.faults == FaultCounts())
    #expect(result.rows == FailureRows())
  }

  // MARK: Plants

  @Test func `every breach of a server can be planted`() {
    let names = Plant.known.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(Plant.all.map(\.name) == QueueBreach.allCases.map(\.rawValue) + ["never-answers-again"])
  }

  /// The plants of this target's worlds. `EtcdWorldTests` has those of a cluster.
  private static let planted = Plant.known.filter { $0.world != .etcd }

  @Test(arguments: planted)
  func `every plant is found within 200 seeds, by the expected oracle`(plant: Plant) {
    var oracles: Set<Oracle> = []
    var seed: UInt64 = 0
    while seed < 200, oracles.isEmpty || seed < 40 {
      seed += 1
      var configuration = SimulationConfiguration(seed: seed, plant: plant)
      if let world = plant.world { configuration.world = world }
      let result = LibraryWorld.run(configuration)
      guard let finding = result.finding else { continue }
      #expect(result.breaches > 0, "seed \(seed)")
      oracles.insert(finding.oracle)
    }
    switch plant {
    case .view(.wrongDelta): #expect(oracles == [.replica])
    case .view(.claimsToBeCurrent): #expect(oracles == [.honesty])
    case .view(.appliesTwice), .view(.effectsWithoutID), .view(.skipsAMutation):
      #expect(oracles == [.input])
    case .stream(.endsTooSoon): #expect(oracles.contains(.honesty))
    case .stream(.acceptsWithoutWriting), .stream(.writesTwice), .stream(.swapsSequences),
      .stream(.namesAnotherMaker):
      #expect(oracles.contains(.input))
    case .record(.sharesAStamp), .record(.leavesADeletionOut), .record(.readsTooEarly):
      #expect(oracles.contains(.replica))
    case .record(.overwritesAConflict), .record(.makesAPushInPart):
      #expect(oracles.contains(.input))
    case .neverAnswersAgain: #expect(oracles == [.liveness])
    case .breach(.revivedQueue):
      // If the model fits its finger, but the queue says nothing any more, the status is what lies.
      #expect(oracles.contains(.replica) && oracles.isSubset(of: [.replica, .honesty]))
    case .breach(.lostEvent), .breach(.staleSnapshot), .breach(.reorderedEvents),
      .breach(.wrongFinger), .breach(.eventsOfAnotherQueue), .breach(.forgottenDeletion):
      #expect(oracles == [.replica])
    default:
      if plant.world == .messages {
        #expect(oracles == [.interval])
      } else {
        #expect(oracles.contains(.replica))
      }
    }
  }

  @Test(arguments: Plant.all)
  func `a plant that never broke anything is not found`(plant: Plant) {
    for seed: UInt64 in 1...40 {
      let result = Simulation<DirectoryApp>.run(
        SimulationConfiguration(seed: seed, steps: 30, plant: plant))
      if result.breaches == 0 { #expect(result.finding == nil, "seed \(seed)") }
    }
  }

  @Test func `a failing run fails again alike, from its seed and from its choices`() throws {
    let configuration = try #require(
      (UInt64(1)...50).lazy.map { SimulationConfiguration(seed: $0, plant: .breach(.lostEvent)) }
        .first { Simulation<DirectoryApp>.run($0).finding != nil })
    let finding = try #require(Simulation<DirectoryApp>.run(configuration).finding)
    #expect(Simulation<DirectoryApp>.trace(configuration).0.finding == finding)
    let choices = Simulation<DirectoryApp>.choices(of: configuration)
    #expect(Simulation<DirectoryApp>.replay(choices, configuration).finding == finding)
  }
}
