internal import UpdateMachine

/// Oracle J: a machine that is packed into a cell, as a herd keeps it, and taken out again is the
/// same. Herds see few failures of a machine's life; a world sees all of them.
///
/// A cell is for machines whose polls wait and whose moments are not before the clock's first. So
/// one that was restored is not judged: it may have heard of its log before its clock began.
struct CellOracle: Sendable {
  /// Only every eighth machine is judged, so that a run takes as long as without.
  private var count: UInt8 = 0
  private var isRestored = false

  mutating func noteRestored() { isRestored = true }

  /// Returns what came out of the cell, if it is another machine.
  mutating func objection<Place: Finger>(to machine: Machine<Place>) -> Machine<Place>? {
    count &+= 1
    guard count & 7 == 0, !isRestored, machine.terms.cadence == .waits else { return nil }
    var cell = MachineCell()
    machine.pack(into: &cell, terms: machine.terms)
    return CellOracle.objection(to: machine, from: cell)
  }

  static func objection<Place: Finger>(
    to machine: Machine<Place>, from cell: MachineCell
  ) -> Machine<Place>? {
    let unpacked = Machine(
      unpacking: cell, finger: machine.finger, incarnation: machine.incarnation,
      terms: machine.terms, settings: machine.settings)
    return unpacked == machine ? nil : unpacked
  }
}
