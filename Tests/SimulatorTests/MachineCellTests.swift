import Testing
import UpdateMachine

@testable import Simulator

/// A machine in 64 bytes. That no step of a herd loses anything is asserted in the herd itself;
/// here machines get inputs in an order that no herd has.
struct MachineCellTests {
  private let terms = ServerTerms(longDeadline: .seconds(70), lifetime: .seconds(600))

  @Test func `a cell has 64 bytes`() {
    #expect(MemoryLayout<MachineCell>.stride == 64)
    #expect(MemoryLayout<HerdPost>.stride == 16)
  }

  @Test(arguments: 1...40) func `a machine that was packed and unpacked is the same`(seed: Int) {
    var random = SplitMix(UInt64(seed))
    var settings = MachineSettings()
    settings.isDurable = seed % 2 == 0
    if seed % 3 == 0 { settings.refreshPeriod = .seconds(90) }
    var machine = Machine<HerdFinger>(incarnation: Incarnation(9), settings: settings)
    var now: Int64 = 5000
    var statuses: Set<Int> = []
    for _ in 0..<800 {
      now += [1, 40, 900, 20_000, 90_000][random.below(5)]
      let moment = Moment(milliseconds: now)
      let effects = machine.handle(input(to: machine, &random), at: moment)
      if effects.release != nil || machine.status.isHalted, random.below(3) == 0 {
        _ = machine.handle(.app(.started(foreground: random.below(4) > 0)), at: moment)
      }
      statuses.insert(machine.status.code)
      var cell = MachineCell()
      machine.pack(into: &cell, terms: terms)
      let unpacked = Machine(
        unpacking: cell, finger: machine.finger, incarnation: Incarnation(9), terms: terms,
        settings: settings)
      #expect(unpacked == machine)
      #expect(cell.hasFinger == (machine.finger != nil))
      #expect(cell.waits == (machine.status.outstanding?.waits ?? false))
      let isUpToDate = machine.status.isLive && machine.freshness(at: moment).claim == .connected
      if cell.isUpToDate, !machine.isOverdue(at: moment) { #expect(isUpToDate) }
    }
    #expect(statuses.count > 4)
  }

  /// An input that means something to the machine, most of the time.
  private func input(
    to machine: Machine<HerdFinger>, _ random: inout SplitMix
  ) -> Machine<HerdFinger>.Input {
    let id =
      machine.status.outstanding?.id ?? RequestID(incarnation: Incarnation(9), number: 1)
    let failures: [SyncFailure] = [
      .unreachable, .timedOut, .serverFault, .rateLimited(after: .seconds(3)), .expired,
      .malformed, .unauthorized,
    ]
    switch random.below(12) {
    case 0: return .app(.started(foreground: true))
    case 1: return .app([.foregrounded, .backgrounded, .networkChanged][random.below(3)])
    case 2: return .app([.retryRequested, .credentialsChanged, .stopped][random.below(3)])
    case 3, 4: return .failed(id, failures[random.below(failures.count)])
    case 5, 6, 7:
      let finger = HerdFinger(log: random.below(UInt32(9)), event: 0)
      if case .registering = machine.status {
        return .snapshotArrived(id, finger: finger, terms: terms)
      }
      return .polled(id, movedTo: random.below(2) == 0 ? nil : machine.finger)
    case 8, 9: return .written(WriteID(random.below(UInt64(20))))
    case 10: return .writeFailed(WriteID(random.below(UInt64(20))))
    default: return .fired(TimerID(random.below(UInt64(200))))
    }
  }
}
