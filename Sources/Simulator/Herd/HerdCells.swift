internal import UpdateMachine

/// The packed machines of a herd. Each begins a line of the cache, so that to read one costs one
/// fetch from memory; an array's elements do not.
@safe
struct HerdCells: ~Copyable {
  private let cells: UnsafeMutablePointer<MachineCell>
  let count: Int

  init(repeating cell: MachineCell, count: Int) {
    self.count = count
    let bytes = max(count, 1) * MemoryLayout<MachineCell>.stride
    let raw = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    unsafe cells = raw.bindMemory(to: MachineCell.self, capacity: count)
    unsafe cells.initialize(repeating: cell, count: count)
  }

  deinit { unsafe cells.deallocate() }

  subscript(client: Int) -> MachineCell {
    @inline(__always) get {
      precondition(client >= 0 && client < count, "there is no such client")
      return unsafe cells[client]
    }
    @inline(__always) set {
      precondition(client >= 0 && client < count, "there is no such client")
      unsafe cells[client] = newValue
    }
  }
}
