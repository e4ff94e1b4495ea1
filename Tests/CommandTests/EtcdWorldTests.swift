import SyncProtocols
import Testing

@testable import EtcdWorld
@testable import Simulator
@testable import simulate

/// Tests of the world `etcd`, which is run only by its name.
struct EtcdWorldTests {
  private func configuration(
    _ seed: UInt64, plant: ClusterBreach? = nil
  ) -> SimulationConfiguration {
    var configuration = SimulationConfiguration(seed: seed, plant: plant.map { .cluster($0) })
    configuration.world = .etcd
    return configuration
  }

  @Test(arguments: Engine.allCases)
  func `every client converges, and no change is lost`(engine: Engine) throws {
    let run = CommandRun(
      "run --protocol etcd --seeds \(engine == .value ? 100 : 30) --engine \(engine.rawValue) "
        + "--json")
    #expect(run.code == .success, "\(run.output)")
    #expect(try run.json()["failures"] as? Int == 0)
    let changes = try #require(run.json()["changes"] as? [String: Int])
    #expect(changes["made"] ?? 0 > 500 && changes["conflicts"] ?? 0 > 20)
  }

  @Test func `a seed gives one trace, and its choices give it again`() throws {
    let configuration = configuration(7)
    let result = EveryWorld.run(configuration)
    #expect(EveryWorld.run(configuration).hash == result.hash)
    let (traced, trace) = EveryWorld.trace(configuration)
    #expect(traced.hash == result.hash)
    let choices = ChoiceLists(Simulation<EtcdApp>.choices(of: configuration))
    let token = try RunToken(RunToken(configuration, choices).text)
    #expect(token.configuration.world == .etcd)
    #expect(EveryWorld.traceReplay(token).1.lines == trace.lines)
  }

  @Test(arguments: ClusterBreach.allCases)
  func `every plant is found within 200 seeds, by the expected oracle`(plant: ClusterBreach) {
    var oracles: Set<Oracle> = []
    var seed: UInt64 = 0
    while seed < 200, oracles.isEmpty || seed < 40 {
      seed += 1
      let result = EveryWorld.run(configuration(seed, plant: plant))
      guard let finding = result.finding else { continue }
      #expect(result.breaches > 0, "seed \(seed)")
      oracles.insert(finding.oracle)
    }
    #expect(oracles.contains(.replica), "\(plant): \(oracles)")
  }

  @Test(arguments: ClusterBreach.allCases)
  func `a plant that never broke anything is not found`(plant: ClusterBreach) {
    for seed: UInt64 in 1...40 {
      let result = EveryWorld.run(configuration(seed, plant: plant))
      if result.breaches == 0 { #expect(result.finding == nil, "seed \(seed)") }
    }
  }

  /// All that users, members and the cluster can do.
  @Test func `all that can happen happens`() {
    var missing = [
      "mutates", "(TAKEN)", "(FULL)", "(FREE)", "behind", "accepted", "set aside", "expired",
      "discards", "retries", "undoes", "redoes", "is gone", "item/", "number/", "seat/",
    ]
    for seed in 1...60 as ClosedRange<UInt64> where !missing.isEmpty {
      let text = EveryWorld.trace(configuration(seed)).1.text
      missing.removeAll { text.contains($0) }
    }
    #expect(missing == [])
  }

  @Test func `the plants need this protocol, and it needs no world`() {
    let run = CommandRun("run --protocol client-view --plant watch-skips-a-revision")
    #expect(run.errors.first?.contains("this plant needs --protocol etcd") == true)
    let world = CommandRun("run --world etcd")
    #expect(world.errors.first?.contains("unknown world \"etcd\"") == true)
    #expect(ClusterBreach.allCases.allSatisfy { Plant.known.contains(.cluster($0)) })
  }

  @Test func `no seed draws it, unless its protocol is named`() {
    #expect(!LibraryWorld.allCases.contains(.etcd))
    #expect((0..<999 as Range<UInt64>).allSatisfy { LibraryWorld.drawn(by: $0) != .etcd })
    #expect((0..<99 as Range<UInt64>).allSatisfy { LibraryWorld.drawn(by: $0, of: .etcd) == .etcd })
  }
}
