import Testing
import UpdateMachine

@testable import Simulator

/// The oracle of machines in cells.
@Suite struct CellOracleTests {
  private let terms = ServerTerms(longDeadline: .seconds(70), lifetime: .seconds(600))

  private var machine: Machine<HerdFinger> {
    var machine = Machine<HerdFinger>(incarnation: Incarnation(1))
    _ = machine.handle(.app(.started(foreground: true)), at: Moment(milliseconds: 5))
    return machine
  }

  @Test func `a machine that comes out of its cell as it was is right`() {
    var oracle = CellOracle()
    for _ in 0..<40 { #expect(oracle.objection(to: machine) == nil) }
  }

  @Test func `a machine that has lost something in its cell is found`() {
    var cell = MachineCell()
    machine.pack(into: &cell, terms: machine.terms)
    #expect(CellOracle.objection(to: machine, from: cell) == nil)
    cell.delay(byMilliseconds: 1)
    #expect(CellOracle.objection(to: machine, from: cell) != nil)
  }

  /// Its log may have been heard of before this process's clock began, which no cell can hold.
  @Test func `a machine that was restored is not judged`() {
    var oracle = CellOracle()
    oracle.noteRestored()
    let restored = Machine(
      restoring: HerdFinger(log: 1, event: 2), terms: terms, age: .seconds(100),
      at: Moment(milliseconds: 5), incarnation: Incarnation(2))
    for _ in 0..<40 { #expect(oracle.objection(to: restored) == nil) }
  }
}
