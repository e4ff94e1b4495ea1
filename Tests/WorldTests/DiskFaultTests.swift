import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the disk under a client, and faults of disks in every world.
@Suite struct DiskFaultTests {
  private typealias Disk = RowDisk<DirectoryModel, QueueFinger>

  private func saved(_ number: Int64) throws -> Disk.Saved {
    var state = DirectoryState()
    state.apply(.new(id: number + 1, content: UInt32(number)))
    state.apply(.flags(adds: true, flag: 3, slots: .max))
    state.apply(.setting(key: 2, value: 7))
    let model = try DirectoryModel(snapshot: DirectorySnapshot(state: state, isReadable: true))
    let finger = QueueFinger(queue: QueueID("q1"), lastEventID: number)
    let terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
    return Disk.Saved(model: model, finger: finger, terms: terms)
  }

  @Test func `written steps are read, and a torn step is ignored`() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      var choices = Choices(seed: seed)
      var disk = Disk()
      disk.write(try saved(0))
      disk.write(try saved(1))
      disk.tear(try saved(2), &choices)
      let (read, objection) = disk.read(leavesRows: false)
      #expect(objection == nil)
      #expect(read == (try saved(1)))
    }
  }

  @Test func `a step after a torn step replaces it`() throws {
    var choices = Choices(seed: 1)
    var disk = Disk()
    disk.write(try saved(0))
    disk.tear(try saved(1), &choices)
    disk.tear(try saved(1), &choices)
    disk.write(try saved(2))
    let (read, objection) = disk.read(leavesRows: false)
    #expect(objection == nil)
    #expect(read == (try saved(2)))
  }

  @Test func `a damaged form counts as none, and is set aside before it is replaced`() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      var choices = Choices(seed: seed)
      var disk = Disk()
      disk.write(try saved(0))
      disk.damage(&choices)
      let damaged = disk.entries.map { $0.value }
      #expect(disk.isUnreadable)
      #expect(disk.saved == nil)
      let (read, objection) = disk.read(leavesRows: false)
      #expect(read == nil)
      #expect(objection == nil)
      #expect(disk.aside.isEmpty, "nothing is set aside before there is something to write")
      disk.write(try saved(1))
      #expect(disk.aside.map { $0.map { $0.value } } == [damaged])
      #expect(disk.read(leavesRows: false).saved == (try saved(1)))
      disk.erase()
      #expect(disk.aside.isEmpty, "nothing is set aside at a log-out")
    }
  }

  @Test func `a changed byte and a missing row are noticed when they are read`() throws {
    var disk = Disk()
    let whole = try saved(0)
    var rows = whole.rows(since: nil)
    rows.removeLast()
    disk.perform(.checkpoint(rows), leadingTo: whole)
    #expect(disk.read(leavesRows: false).objection != nil)
    rows = whole.rows(since: nil)
    rows[1].value?[0] ^= 1
    disk.perform(.checkpoint(rows), leadingTo: whole)
    #expect(disk.read(leavesRows: false).objection != nil)
    disk.perform(.checkpoint(whole.rows(since: nil)), leadingTo: whole)
    #expect(disk.read(leavesRows: false).objection == nil)
  }

  // MARK: Worlds

  /// The worlds in which users change things.
  private static let changing = LibraryWorld.allCases.filter { $0 != .directory && $0 != .messages }

  private struct Run: AppVisitor {
    let configuration: SimulationConfiguration
    let engine: SimulationEngine

    func visit<App: SimulatedApp>(_ app: App.Type) -> RunResult {
      Simulation<App>.run(configuration, engine: engine)
    }
  }

  private static let faults: [Fault] = [.fullDisk, .damagedForm, .crashAtWrite]

  @Test(arguments: LibraryWorld.allCases, faults)
  func `each disk fault strikes and is survived in every world`(
    world: LibraryWorld, fault: Fault
  ) {
    var strikes: Int64 = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [fault, .crash, .slowWrite], isSwarm: false)
      configuration.world = world
      let result = LibraryWorld.run(configuration)
      #expect(result.finding == nil, "seed \(seed)")
      strikes += result.faults[fault]
    }
    #expect(strikes > 2)
  }

  @Test(arguments: [LibraryWorld.ledger, .posts])
  func `every client is up to date again after an older outbox comes back`(world: LibraryWorld) {
    var strikes: Int64 = 0
    for seed in 1...40 as ClosedRange<UInt64> {
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [.oldOutbox, .crash, .lostAnswer], isSwarm: false)
      configuration.world = world
      let result = LibraryWorld.run(configuration)
      #expect(result.finding == nil, "seed \(seed)")
      strikes += result.faults[.oldOutbox]
    }
    #expect(strikes > 2)
  }

  @Test(arguments: changing, SimulationEngine.allCases)
  func `an app that cannot read the saved model loses nothing of its user's`(
    world: LibraryWorld, engine: SimulationEngine
  ) {
    var strikes: Int64 = 0
    for seed in 1...20 as ClosedRange<UInt64> {
      var configuration = SimulationConfiguration(
        seed: seed, clients: 2, faults: [.appUpdate, .crash, .lostAnswer, .failedWrite],
        isSwarm: false)
      configuration.world = world
      let result = world.visited(by: Run(configuration: configuration, engine: engine))
      #expect(result.finding == nil, "seed \(seed)")
      strikes += result.faults[.appUpdate]
    }
    #expect(strikes > 2)
  }

  /// Writes fail until there is space. Then one succeeds without anybody's help.
  @Test func `a save on a full disk is repeated until it succeeds`() throws {
    let configuration = SimulationConfiguration(
      seed: 8, clients: 1, faults: [.fullDisk], isSwarm: false)
    let (result, trace) = Simulation<DirectoryApp>.trace(configuration)
    #expect(result.finding == nil)
    let lines = trace.lines.filter { $0.contains("  client 0  ") }
    let first = try #require(lines.firstIndex { $0.contains("writeFailed") })
    let next = try #require(lines[first...].firstIndex { $0.contains("  written ") })
    #expect(lines[first..<next].count { $0.contains("writeFailed") } > 5)
    // Meanwhile no poll leaves, because it would acknowledge events that are not saved.
    #expect(!lines[first..<next].contains { $0.contains("poll ") })
  }
}
