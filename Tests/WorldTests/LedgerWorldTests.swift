import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests whole worlds in which users change things over Replicache's protocol.
struct LedgerWorldTests {
  @Test(arguments: [UInt64(0), 1000])
  func `each change takes effect once and in order, or is set aside`(first: UInt64) {
    for seed in first..<(first + 100) {
      let configuration = SimulationConfiguration(seed: seed)
      guard let finding = Simulation<LedgerApp>.run(configuration).finding else { continue }
      let (_, trace) = Simulation<LedgerApp>.trace(configuration)
      Issue.record("seed \(seed): \(finding)\n\(trace.text.suffix(6000))")
      return
    }
  }

  @Test func `a seed gives one trace, and its choices give it again`() {
    var configuration = SimulationConfiguration(seed: 7)
    configuration.world = .ledger
    let result = LibraryWorld.run(configuration)
    #expect(LibraryWorld.run(configuration).hash == result.hash)
    let record = Simulation<LedgerApp>.choices(of: configuration)
    let token = RunToken(configuration, ChoiceLists(record))
    #expect((try? RunToken(token.text))?.configuration.world == .ledger)
    #expect(LibraryWorld.traceReplay(token).0.steps == result.steps)
  }

  @Test func `each world has its protocol, and each seed draws its world`() {
    let seeds = (0..<400 as Range<UInt64>).map { $0 }
    #expect(Set(seeds.map { LibraryWorld.drawn(by: $0) }) == Set(LibraryWorld.allCases))
    for spoken in LibraryWorld.SpokenProtocol.allCases {
      #expect(seeds.allSatisfy { LibraryWorld.drawn(by: $0, of: spoken).spoken == spoken })
    }
  }

  @Test func `half of the seeds ask a data layer at intervals, the others wait or subscribe`() {
    var drawn: [Cadence: Int] = [:]
    for seed in 0..<120 as Range<UInt64> {
      var choices = Choices(seed: seed)
      let plan = FaultPlan(&choices, allowed: .all, cadences: LedgerApp.Server.cadences)
      drawn[plan.server.cadence, default: 0] += 1
    }
    #expect(drawn.count == 5)
    #expect(25...55 ~= drawn[.waits] ?? 0)
    #expect(drawn.values.allSatisfy { $0 > 8 }, "\(drawn)")
  }

  /// Everything that the users of these worlds can do must happen.
  @Test func `changes are refused, set aside, coalesced and pushed again`() {
    var text = ""
    for seed: UInt64 in 1...40 {
      text += Simulation<LedgerApp>.trace(SimulationConfiguration(seed: seed)).1.text
    }
    for words in [
      "refused", "set aside", "threw", "accepted", "knowing", "halted(credentials)", "confirming",
    ] {
      #expect(text.contains(words), "\(words)")
    }
  }
}
