import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

struct WallsOracleTests {
  private typealias Effects = Machine<QueueFinger>.Effects

  private static let now = Moment(milliseconds: 1000)

  private static func id(_ number: UInt64) -> RequestID {
    RequestID(incarnation: Incarnation(1), number: number)
  }

  private static func polling(_ number: UInt64) -> MachineStatus {
    .live(.polling(Outstanding(id: id(number), sent: now, waits: true)))
  }

  private static func poll(_ number: UInt64) -> Effects.Request {
    .poll(id(number), finger: QueueFinger(queue: QueueID("q"), lastEventID: 0), waits: true)
  }

  private static func arm(_ number: UInt64, _ earliest: Int64 = 1, _ latest: Int64 = 1)
    -> TimerArm
  {
    TimerArm(
      timer: TimerID(number),
      range: MomentRange(from: now + .milliseconds(earliest), to: now + .milliseconds(latest)))
  }

  private static func effects(_ change: (inout Effects) -> Void) -> Effects {
    var effects = Effects()
    change(&effects)
    return effects
  }

  private func expect(
    _ oracle: inout WallsOracle, _ status: MachineStatus, _ objection: String?,
    sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout Effects) -> Void
  ) {
    let found = oracle.perform(
      WallsOracleTests.effects(change), status: status, at: WallsOracleTests.now)
    #expect(
      found.map { "\($0.oracle.rawValue): \($0.expected)" } == objection,
      sourceLocation: sourceLocation)
  }

  /// An oracle that saw request 5, timer 5 and write 5 begin.
  private func busy() -> WallsOracle {
    var oracle = WallsOracle()
    expect(&oracle, WallsOracleTests.polling(5), nil) { effects in
      effects.request = WallsOracleTests.poll(5)
      effects.arm = WallsOracleTests.arm(5)
      effects.persist = WriteID(5)
    }
    return oracle
  }

  @Test func `a whole correct run is accepted`() {
    var oracle = WallsOracle()
    expect(&oracle, .stale, nil) { _ in }
    let registering = MachineStatus.registering(
      Outstanding(id: WallsOracleTests.id(1), sent: WallsOracleTests.now, waits: false))
    expect(&oracle, registering, nil) { effects in
      effects.request = .register(WallsOracleTests.id(1))
      effects.arm = WallsOracleTests.arm(1, 60_000, 60_000)
    }
    oracle.noteAnswer(to: WallsOracleTests.id(1))
    expect(&oracle, .live(.writing), nil) { effects in
      effects.disarm = TimerID(1)
      effects.persist = WriteID(1)
    }
    oracle.noteWriteEnded(WriteID(1))
    expect(&oracle, WallsOracleTests.polling(2), nil) { effects in
      effects.request = WallsOracleTests.poll(2)
      effects.arm = WallsOracleTests.arm(2, 5, 9)
    }
    oracle.noteFired(TimerID(2))
    expect(&oracle, .pollFailed, nil) { effects in
      effects.cancel = WallsOracleTests.id(2)
      effects.arm = WallsOracleTests.arm(3)
    }
    expect(&oracle, .idle, nil) { $0.disarm = TimerID(3) }
    expect(&oracle, .halted(.stopped), nil) { effects in
      effects.erase = true
      effects.release = QueueID("q")
    }
  }

  @Test func `a request is replaced in one step if the old one is given up`() {
    var oracle = busy()
    expect(&oracle, WallsOracleTests.polling(6), nil) { effects in
      effects.cancel = WallsOracleTests.id(5)
      effects.disarm = TimerID(5)
      effects.request = WallsOracleTests.poll(6)
      effects.arm = WallsOracleTests.arm(6)
    }
  }

  // MARK: Every objection

  @Test func `a request that is not out cannot be given up`() {
    let expected = "J walls: cancel of the request that is out"
    var never = WallsOracle()
    expect(&never, .stale, expected) { $0.cancel = WallsOracleTests.id(1) }
    var other = busy()
    expect(&other, .pollFailed, expected) { $0.cancel = WallsOracleTests.id(4) }
    var answered = busy()
    answered.noteAnswer(to: WallsOracleTests.id(5))
    expect(&answered, .pollFailed, expected) { $0.cancel = WallsOracleTests.id(5) }
  }

  @Test func `a timer that is not armed cannot be disarmed`() {
    let expected = "J walls: disarm of a timer that is armed"
    var never = WallsOracle()
    expect(&never, .stale, expected) { $0.disarm = TimerID(1) }
    var fired = busy()
    fired.noteFired(TimerID(5))
    expect(&fired, WallsOracleTests.polling(5), expected) { $0.disarm = TimerID(5) }
  }

  @Test func `two writes cannot be under way`() {
    var oracle = busy()
    expect(&oracle, WallsOracleTests.polling(5), "J walls: one write at a time") { effects in
      effects.persist = WriteID(6)
    }
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `a write needs a new ID`(number: UInt64) {
    var oracle = busy()
    oracle.noteWriteEnded(WriteID(5))
    expect(&oracle, WallsOracleTests.polling(5), "J walls: a new ID for a write") { effects in
      effects.persist = WriteID(number)
    }
  }

  @Test func `two requests cannot be out`() {
    var oracle = busy()
    expect(&oracle, WallsOracleTests.polling(6), "E ownership: at most one request out") {
      $0.request = WallsOracleTests.poll(6)
    }
  }

  @Test(arguments: [.credentials, .unsupported, .stopped] as [MachineStatus.Halt])
  func `a halted machine asks nothing`(halt: MachineStatus.Halt) {
    var oracle = WallsOracle()
    expect(&oracle, .halted(halt), "E ownership: no request from a halted machine") { effects in
      effects.request = .register(WallsOracleTests.id(1))
    }
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `a request needs a new ID`(number: UInt64) {
    var oracle = busy()
    oracle.noteAnswer(to: WallsOracleTests.id(5))
    expect(&oracle, WallsOracleTests.polling(number), "J walls: a new ID for a request") {
      $0.request = WallsOracleTests.poll(number)
    }
  }

  @Test func `two timers cannot be armed`() {
    var oracle = busy()
    expect(&oracle, WallsOracleTests.polling(5), "J walls: one timer at a time") { effects in
      effects.arm = WallsOracleTests.arm(6)
    }
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `a timer needs a new ID`(number: UInt64) {
    var oracle = busy()
    oracle.noteFired(TimerID(5))
    expect(&oracle, WallsOracleTests.polling(5), "J walls: a new ID for a timer") { effects in
      effects.arm = WallsOracleTests.arm(number)
    }
  }

  @Test(arguments: [0, -1] as [Int64])
  func `a timer fires after now`(earliest: Int64) {
    var oracle = WallsOracle()
    expect(&oracle, .registerFailed, "J walls: a timer after now") { effects in
      effects.arm = WallsOracleTests.arm(1, earliest, 50)
    }
  }

  @Test func `a range that ends before it begins cannot be drawn from`() {
    var oracle = WallsOracle()
    expect(&oracle, .registerFailed, "J walls: a range that is not empty") { effects in
      effects.arm = WallsOracleTests.arm(1, 50, 49)
    }
  }

  @Test func `a halted machine leaves nothing pending`() {
    let expected = "E ownership: nothing pending in a halted machine"
    var both = busy()
    expect(&both, .halted(.stopped), expected) { _ in }
    var timer = busy()
    expect(&timer, .halted(.stopped), expected) { $0.cancel = WallsOracleTests.id(5) }
    var request = busy()
    expect(&request, .halted(.stopped), expected) { $0.disarm = TimerID(5) }
    var write = busy()
    expect(&write, .halted(.stopped), nil) { effects in
      effects.cancel = WallsOracleTests.id(5)
      effects.disarm = TimerID(5)
    }
  }

  @Test(arguments: [.stale, .idle] as [MachineStatus])
  func `a resting machine has no request out, but may have a timer and a write`(
    status: MachineStatus
  ) {
    var request = busy()
    expect(&request, status, "E ownership: no request out of a resting machine") { _ in }
    var rest = busy()
    expect(&rest, status, nil) { $0.cancel = WallsOracleTests.id(5) }
  }

  @Test(
    arguments: [.registerFailed, .pollFailed, .live(.writing), .live(.pausing)]
      as [MachineStatus])
  func `a machine that is neither resting nor halted waits for something`(status: MachineStatus) {
    var oracle = WallsOracle()
    expect(&oracle, status, "C liveness: something pending") { _ in }
  }

  @Test func `the request that the status names is the one that is out`() {
    let expected = "E ownership: the request that the status names is out"
    var other = busy()
    expect(&other, WallsOracleTests.polling(4), expected) { _ in }
    var answered = busy()
    answered.noteAnswer(to: WallsOracleTests.id(5))
    expect(&answered, WallsOracleTests.polling(5), expected) { _ in }
    var forgotten = busy()
    expect(&forgotten, .pollFailed, expected) { _ in }
  }

  @Test func `notes about other requests, timers and writes change nothing`() {
    var oracle = busy()
    oracle.noteAnswer(to: WallsOracleTests.id(4))
    oracle.noteFired(TimerID(4))
    oracle.noteWriteEnded(WriteID(4))
    expect(&oracle, WallsOracleTests.polling(5), nil) { effects in
      effects.disarm = TimerID(5)
    }
    expect(&oracle, WallsOracleTests.polling(5), "J walls: one write at a time") { effects in
      effects.persist = WriteID(6)
    }
  }
}
