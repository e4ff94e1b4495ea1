import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests real drivers on disks with faults.
@Suite struct DriverDiskTests {
  /// This uses the library's own store of rows, which sets aside what it cannot read. In debug, the
  /// drivers also check their clients after every input.
  @Test(arguments: [Fault.fullDisk, .damagedForm, .crashAtWrite])
  func `real drivers write rows and survive each disk fault`(fault: Fault) {
    var strikes: Int64 = 0
    var rows = 0
    for seed in 1...40 as ClosedRange<UInt64> {
      let configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [fault, .crash, .logOut], isSwarm: false)
      let engine = ActorEngine(
        world: World<DirectoryApp>(configuration: configuration, choices: Choices(seed: seed)),
        choosesJobs: true)
      let result = engine.run()
      #expect(result.finding == nil, "seed \(seed)")
      strikes += result.faults[fault]
      for client in engine.world.clients {
        if client.disk.rows != nil { rows += 1 } else { #expect(client.disk.saved == nil) }
      }
    }
    #expect(strikes > 2)
    #expect(rows > 10, "the store of rows was used")
  }

  /// The simulated store once answered each reading with a failure, and no oracle objected: a
  /// failed reading is repeated.
  @Test func `real drivers read the rows that they left on the disk`() {
    var read = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      let configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [.unloadedRows, .crash], isSwarm: false)
      let (result, trace) = Simulation<MessagesApp>.trace(configuration, engine: .actor)
      #expect(result.finding == nil, "seed \(seed)")
      read += trace.lines.count { $0.contains("  rowsRead ") }
      #expect(!trace.lines.contains { $0.contains("rowsFailed") }, "seed \(seed)")
    }
    #expect(read > 10)
  }
}
