import CAllocations
import Foundation
import MessageSync
import UpdateMachine

// Compares Knowledge with the interval sets of Foundation and the standard library, and with the
// simplest one. All get the same intervals and the same questions.

/// A set of numbers, kept as intervals.
protocol IntervalSet {
  init()
  mutating func insert(_ interval: ClosedRange<Int64>)
  mutating func remove(_ interval: ClosedRange<Int64>)
  func contains(_ number: Int64) -> Bool
}

extension Knowledge<MessageID>: IntervalSet {
  mutating func insert(_ interval: ClosedRange<Int64>) { insert(IDInterval(interval)) }
  mutating func remove(_ interval: ClosedRange<Int64>) { remove(IDInterval(interval)) }
  func contains(_ number: Int64) -> Bool { contains(MessageID(number)) }
}

extension IDInterval<MessageID> {
  init(_ range: ClosedRange<Int64>) {
    self.init(from: MessageID(range.lowerBound), to: MessageID(range.upperBound))
  }
}

extension IndexSet: IntervalSet {
  mutating func insert(_ interval: ClosedRange<Int64>) { insert(integersIn: interval.ints) }
  mutating func remove(_ interval: ClosedRange<Int64>) { remove(integersIn: interval.ints) }
  func contains(_ number: Int64) -> Bool { contains(Int(number)) }
}

extension RangeSet<Int64>: IntervalSet {
  mutating func insert(_ interval: ClosedRange<Int64>) { insert(contentsOf: interval.halfOpen) }
  mutating func remove(_ interval: ClosedRange<Int64>) { remove(contentsOf: interval.halfOpen) }
}

extension ClosedRange<Int64> {
  var ints: ClosedRange<Int> { Int(lowerBound)...Int(upperBound) }
  var halfOpen: Range<Int64> { lowerBound..<(upperBound + 1) }
}

/// The simplest way: a sorted array, searched from its beginning.
struct SortedPairs: IntervalSet {
  var pairs: [ClosedRange<Int64>] = []

  mutating func insert(_ interval: ClosedRange<Int64>) {
    let start = pairs.firstIndex { $0.upperBound >= interval.lowerBound - 1 } ?? pairs.count
    var end = start
    var (low, high) = (interval.lowerBound, interval.upperBound)
    while end < pairs.count, pairs[end].lowerBound <= high + 1 {
      low = min(low, pairs[end].lowerBound)
      high = max(high, pairs[end].upperBound)
      end += 1
    }
    pairs.replaceSubrange(start..<end, with: CollectionOfOne(low...high))
  }

  /// Removes an interval only if the array has exactly this one.
  mutating func remove(_ interval: ClosedRange<Int64>) { pairs.removeAll { $0 == interval } }

  func contains(_ number: Int64) -> Bool {
    for pair in pairs where pair.upperBound >= number { return pair.lowerBound <= number }
    return false
  }
}

/// The costs of one kind of set, in nanoseconds.
struct IntervalCosts {
  var insert: Double
  var contains: Double
  /// The allocations of `inserts` inserts in all.
  var allocations: Int64
  var inserts: Int
  /// The number of questions answered with yes.
  var found: Int
}

/// Measures a set of `count` intervals, each of 40 numbers, with gaps of 60 between them. New
/// intervals are inserted into some of the gaps in random order. They are removed again while no
/// time is measured.
func intervalCosts<Set: IntervalSet>(_: Set.Type, count: Int) -> IntervalCosts {
  var chance = SplitMix(1)
  let sets = max(1, 40_000 / count)
  let more = max(1, count / 20)
  var held: [Set] = []
  for _ in 0..<sets {
    var set = Set()
    for index in 0..<Int64(count) { set.insert((index * 100 + 10)...(index * 100 + 49)) }
    held.append(set)
  }
  let added = held.map { _ in
    var gaps = Array(0..<Int64(count))
    for index in 0..<more { gaps.swapAt(index, index + chance.below(count - index)) }
    return gaps.prefix(more).map { ($0 * 100 + 60)...($0 * 100 + 79) }
  }
  var best = Double.infinity
  var allocations: Int64 = 0
  for _ in 0..<20 {
    let before = allocation_count()
    let time = elapsed {
      for index in held.indices { for interval in added[index] { held[index].insert(interval) } }
    }
    allocations = allocation_count() - before
    best = min(best, time)
    for index in held.indices { for interval in added[index] { held[index].remove(interval) } }
  }
  let questions = (0..<10_000).map { _ in Int64(chance.below(count * 100)) }
  var found = 0
  let set = held[0]
  let asking = seconds {
    found = 0
    for question in questions { found += set.contains(question) ? 1 : 0 }
  }
  return IntervalCosts(
    insert: best / Double(sets * more) * 1e9, contains: asking / Double(questions.count) * 1e9,
    allocations: allocations, inserts: sets * more, found: found)
}

func benchmarkKnowledge() {
  benchmarkSmallKnowledge()
  for count in [4, 200, 20_000] {
    let ours = intervalCosts(Knowledge<MessageID>.self, count: count)
    let indexSet = intervalCosts(IndexSet.self, count: count)
    let rangeSet = intervalCosts(RangeSet<Int64>.self, count: count)
    let array = intervalCosts(SortedPairs.self, count: count)
    for others in [indexSet, rangeSet, array] {
      precondition(others.found == ours.found, "all sets hold the same")
    }
    func rows(_ name: String, _ cost: (IntervalCosts) -> Double) {
      let (ours, array) = (Figure.time(cost(ours) / 1e9), Figure.time(cost(array) / 1e9))
      let (indexSet, rangeSet) = (
        Figure.time(cost(indexSet) / 1e9), Figure.time(cost(rangeSet) / 1e9)
      )
      // To search a short array is a loop of a few instructions: how long it takes depends on the
      // processor, and on where the linker puts it.
      row(
        "knowledge: \(name), at \(count) intervals", ours,
        beside: count < 1000
          ? ["IndexSet": indexSet, "RangeSet": rangeSet]
          : ["IndexSet": indexSet, "RangeSet": rangeSet, "an array, from its beginning": array])
    }
    rows("insert") { $0.insert }
    counted(
      "  allocations in \(ours.inserts) inserts", allocation_count() < 0 ? -1 : ours.allocations)
    rows("contains") { $0.contains }
  }
}

/// Measures knowledge as a list usually has it: the newest page, and some other place.
func benchmarkSmallKnowledge() {
  let rounds: Int64 = 100_000
  var seen: Int64 = 0
  func live() {
    for round in 0..<rounds {
      var known = Knowledge(IDInterval(from: .id(MessageID(round + 1000)), to: .veryEnd))
      known.insert(IDInterval(from: MessageID(round + 10), to: MessageID(round + 110)))
      known.insert(IDInterval(from: MessageID(round + 900), to: MessageID(round + 999)))
      known.remove(IDInterval(from: .id(MessageID(round + 60)), to: .veryEnd))
      known.insert(IDInterval(from: .id(MessageID(round + 70)), to: .veryEnd))
      let gap = known.gap(atOrBelow: .veryEnd)
      seen &+= (gap?.upperEnd.id?.number ?? 0) &+ (known.contains(MessageID(round)) ? 1 : 0)
      for interval in known.intervals { seen &+= interval.lowerEnd.id?.number ?? 0 }
    }
  }
  let before = allocation_count()
  live()
  let allocations = allocation_count() - before
  let time = seconds(live)
  precondition(seen > 0, "gaps were seen")
  row("knowledge: ten operations on one or two intervals", .time(time / Double(rounds)))
  counted("  allocations in \(rounds * 10) operations", before < 0 ? -1 : allocations)
}
