import TestSupport
import Testing

@testable import UpdateMachine

/// Tests machines that no input leads to. Each must break the rule that is named.
@Suite struct ViolationTests {
  static let request = Outstanding(id: .of(1), sent: .ms(0), waits: true)

  /// The status, whether there is a finger and a timer, and the rule that is broken.
  static let cases: [(MachineStatus, finger: Bool, timer: Bool, rule: String)] = [
    (.stale, true, false, "stale holds no finger"),
    (.stale, false, true, "stale holds no timer"),
    (.idle, false, false, "idle holds a finger"),
    (.idle, true, true, "idle holds no timer but the refresh"),
    (.registering(request), true, true, "registering holds no finger"),
    (.registering(request), false, false, "a register has a deadline"),
    (.registerFailed, true, true, "registerFailed holds no finger"),
    (.registerFailed, false, false, "registerFailed says until when"),
    (.live(.polling(request)), false, true, "live holds a finger"),
    (.live(.polling(request)), true, false, "live has a timer unless it writes"),
    (.live(.pausing), true, false, "live has a timer unless it writes"),
    (.live(.writing), true, true, "live has a timer unless it writes"),
    (.live(.writing), true, false, "live.writing has a write out"),
    (.pollFailed, false, true, "pollFailed holds a finger"),
    (.pollFailed, true, false, "pollFailed says until when"),
    (.halted(.credentials), true, true, "halted holds no timer"),
  ]

  @Test(arguments: cases.indices)
  func `a status that lacks its data is found`(index: Int) {
    let (status, finger, timer, rule) = Self.cases[index]
    var machine = SpotMachine(incarnation: Incarnation(1))
    machine.isStarted = true
    machine._status = status
    machine._finger = finger ? Spot("a", 1) : nil
    machine.retry.timer = timer ? ArmedTimer(id: TimerID(1), latest: .ms(9)) : nil
    #expect(machine.violation()?.rule == rule)
    #expect(machine.violation()?.found == machine.description)
  }

  @Test func `rest in the foreground is found`() {
    var machine = SpotMachine(incarnation: Incarnation(1))
    #expect(machine.violation() == nil)
    machine.isStarted = true
    #expect(machine.violation()?.rule == "never at rest in the foreground")
    machine.isForeground = false
    #expect(machine.violation() == nil)
  }

  @Test func `work before the start is found`() {
    var machine = SpotMachine(incarnation: Incarnation(1))
    machine._status = .halted(.credentials)
    #expect(machine.violation()?.rule == "nothing goes on before the start")
    machine._status = .halted(.stopped)
    #expect(machine.violation() == nil)
  }

  @Test func `writes of nothing, or without durability, are found`() {
    var machine = SpotMachine(incarnation: Incarnation(1))
    machine.isUnwritten = true
    #expect(machine.violation()?.rule == "only what is held can be unwritten")
    var settings = MachineSettings()
    settings.isDurable = false
    var forgetful = SpotMachine(incarnation: Incarnation(1), settings: settings)
    forgetful.writing = WriteID(1)
    #expect(forgetful.violation()?.rule == "a machine that is not durable writes nothing")
  }
}
