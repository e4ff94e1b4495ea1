internal import UpdateMachine

/// What is going to happen, soonest first; at one moment in the order in which it was added. A
/// binary heap: adding and taking cost O(log n).
struct Agenda<Happening> {
  private var entries: [Entry] = []
  private var count: UInt64 = 0

  private struct Entry {
    var at: Moment
    var order: UInt64
    var happening: Happening

    func precedes(_ other: Entry) -> Bool {
      at == other.at ? order < other.order : at < other.at
    }
  }

  mutating func add(_ happening: Happening, at moment: Moment) {
    count += 1
    entries.append(Entry(at: moment, order: count, happening: happening))
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].precedes(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the first if it is due by `end`.
  mutating func popFirst(until end: Moment) -> (at: Moment, happening: Happening)? {
    guard let first = entries.first, first.at <= end else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return (first.at, first.happening) }
    entries[0] = last
    var parent = 0
    while true {
      var child = parent * 2 + 1
      guard child < entries.count else { break }
      if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
      guard entries[child].precedes(entries[parent]) else { break }
      entries.swapAt(child, parent)
      parent = child
    }
    return (first.at, first.happening)
  }
}

/// A scenario's own chance: SplitMix64 (Steele, Lea and Flood, 2014), the same on every platform.
struct Draws {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Digest.mixed(state)
  }

  /// A moment from `from` to `to`, both included: the high half of a draw times their number, which
  /// is even to one part in 2⁶⁴ ÷ that number.
  mutating func moment(from earliest: Moment, to latest: Moment) -> Moment {
    let width = UInt64(bitPattern: latest.milliseconds &- earliest.milliseconds) &+ 1
    let drawn = width == 0 ? next() : next().multipliedFullWidth(by: width).high
    return Moment(milliseconds: earliest.milliseconds &+ Int64(bitPattern: drawn))
  }
}
