internal import UpdateMachine

// Agenda: the room of virtual time.
//
// Agenda may use: no other room.

/// The pending steps with their moments. The earliest is taken first, and equal moments in
/// insertion order. A binary heap: O(log n).
struct Agenda<Step: Sendable>: Sendable {
  private struct Entry {
    var at: Int64
    var order: UInt64
    var step: Step
  }

  private var heap: [Entry] = []
  private var count: UInt64 = 0

  init() { heap.reserveCapacity(64) }

  mutating func add(_ step: Step, at moment: Moment) {
    count += 1
    heap.append(Entry(at: moment.milliseconds, order: count, step: step))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard comes(child, before: parent) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the first step if it is due by `end`; `nil`: none is.
  mutating func takeNext(
    until end: Moment = Moment(milliseconds: .max)
  ) -> (at: Moment, step: Step)? {
    guard let first = heap.first, first.at <= end.milliseconds else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (Moment(milliseconds: first.at), first.step)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      let left = 2 * parent + 1
      if left < heap.count, comes(left, before: least) { least = left }
      if left + 1 < heap.count, comes(left + 1, before: least) { least = left + 1 }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }

  private func comes(_ one: Int, before other: Int) -> Bool {
    heap[one].at != heap[other].at
      ? heap[one].at < heap[other].at : heap[one].order < heap[other].order
  }
}
