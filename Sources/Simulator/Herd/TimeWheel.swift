/// When each of many numbered things is due next: a calendar queue of two wheels, whose slots are
/// lists of small blocks of numbers. To add or take one costs a constant time, and allocates
/// nothing once there are enough blocks. Things that come out together lie side by side, so a host
/// can fetch from memory what it knows of them all at once.
///
/// The first wheel has a slot for each millisecond of a turn of four seconds, the second one for
/// each such turn of the next 4.6 hours. Source: Varghese and Lauck, "Hashed and hierarchical
/// timing wheels", 1987.
///
/// Nothing is ever taken out early. A thing that is made due at another time has two numbers in the
/// wheel, and the host asks the thing itself whether it is due when one comes up.
///
/// Things that are due in the same millisecond come in an order that depends only on what was done
/// before.
package struct TimeWheel: Sendable {
  package static let bits = 12
  private static let size = 1 << bits
  private static let mask = UInt32(size - 1)
  /// The length of a block: the block that follows it, how many numbers it has, and the numbers.
  private static let block = 32
  private static let room = block - 2

  /// For each slot of the first wheel, then of the second, its first block; −1: none.
  private var heads = [Int32](repeating: -1, count: 2 << TimeWheel.bits)
  private var blocks: [Int32] = []
  /// The first block that is not in use; −1: none.
  private var free: Int32 = -1
  /// The present, in milliseconds. Whatever is due earlier has been taken.
  package private(set) var now: UInt32

  /// - Parameter things: how many there are.
  package init(things: Int, at now: UInt32) {
    self.now = now
    // Four numbers for each thing. Memory that is not touched costs nothing, and an array that
    // grows is there twice for a while.
    blocks.reserveCapacity((4 * things / TimeWheel.room + 2 * TimeWheel.size) * TimeWheel.block)
  }

  /// The bytes that it keeps.
  package var bytes: Int { (heads.count + blocks.count) * MemoryLayout<Int32>.stride }

  /// Makes a thing due, from now to four hours ahead.
  package mutating func add(_ thing: Int32, due: UInt32) {
    let slot = slot(due)
    let head = heads[slot]
    if head >= 0 {
      let start = Int(head) * TimeWheel.block
      let count = Int(blocks[start + 1])
      if count < TimeWheel.room {
        blocks[start + 2 + count] = thing
        blocks[start + 1] = Int32(count + 1)
        return
      }
    }
    let block = takeBlock()
    let start = Int(block) * TimeWheel.block
    blocks[start] = head
    blocks[start + 1] = 1
    blocks[start + 2] = thing
    heads[slot] = block
  }

  /// Puts some of the things that may be due now into `things`, in place of what is there. Returns
  /// `false` if none is left.
  package mutating func take(into things: inout [Int32]) -> Bool {
    takeBlock(of: Int(now & TimeWheel.mask), into: &things)
  }

  /// Goes on to the next millisecond. All that is due now must have been taken.
  ///
  /// - Parameters:
  ///   - things: the things, by number.
  ///   - due: tells when one is due.
  package mutating func advance<Thing>(_ things: [Thing], due: (Thing) -> UInt32) {
    now += 1
    guard now & TimeWheel.mask == 0 else { return }
    let slot = TimeWheel.size + Int(now >> TimeWheel.bits & TimeWheel.mask)
    var some: [Int32] = []
    some.reserveCapacity(TimeWheel.room)
    while takeBlock(of: slot, into: &some) {
      for thing in some {
        let due = due(things[Int(thing)])
        // Otherwise it is due at another time, and has another number there.
        if due >= now, due >> TimeWheel.bits == now >> TimeWheel.bits { add(thing, due: due) }
      }
    }
  }

  /// Moves the present, and all that is due, by so many whole turns of the first wheel.
  package mutating func skip(turns: UInt32) {
    precondition(now & TimeWheel.mask == 0, "a skip begins with a turn")
    let before = heads
    for index in 0..<TimeWheel.size {
      let moved = (index + Int(turns)) & (TimeWheel.size - 1)
      heads[TimeWheel.size + moved] = before[TimeWheel.size + index]
    }
    now += turns << TimeWheel.bits
  }

  private func slot(_ due: UInt32) -> Int {
    precondition(due >= now, "nothing is due in the past")
    let turn = due >> TimeWheel.bits
    let ahead = turn - (now >> TimeWheel.bits)
    if ahead == 0 { return Int(due & TimeWheel.mask) }
    precondition(ahead < UInt32(TimeWheel.size), "nothing is due more than four hours ahead")
    return TimeWheel.size + Int(turn & TimeWheel.mask)
  }

  private mutating func takeBlock(of slot: Int, into things: inout [Int32]) -> Bool {
    things.removeAll(keepingCapacity: true)
    let block = heads[slot]
    guard block >= 0 else { return false }
    let start = Int(block) * TimeWheel.block
    things.append(contentsOf: blocks[start + 2..<start + 2 + Int(blocks[start + 1])])
    heads[slot] = blocks[start]
    blocks[start] = free
    free = block
    return true
  }

  private mutating func takeBlock() -> Int32 {
    guard free >= 0 else {
      let block = Int32(blocks.count / TimeWheel.block)
      blocks.append(contentsOf: repeatElement(0, count: TimeWheel.block))
      return block
    }
    let block = free
    free = blocks[Int(block) * TimeWheel.block]
    return block
  }
}
