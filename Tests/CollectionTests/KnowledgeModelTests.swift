import TestSupport
import Testing

@testable import UpdateMachine

/// Compares knowledge with the simplest possible form of it: for each point of a short line,
/// whether it is known.
@Suite struct KnowledgeModelTests {
  /// A short line within the long one. Its first and last points stand for everything below and
  /// above, up to the very beginning and the very end.
  struct Line: CustomTestStringConvertible, Sendable {
    let name: String
    let count: Int
    /// The ID of the second point.
    let base: Int64

    var testDescription: String { name }

    static let all = [
      Line(name: "a short line", count: 9, base: 1),
      Line(name: "a line", count: 40, base: 1_000_000),
      Line(name: "a line that holds all that is below", count: 40, base: .min + 1),
      Line(name: "a line that holds all that is above", count: 40, base: .max - 38),
      Line(name: "a line with room for many chunks", count: 1500, base: -700),
    ]

    /// The points of the long line that a range of the short one stands for.
    func interval(_ range: ClosedRange<Int>) -> IDInterval<RowID> {
      IDInterval(
        from: range.lowerBound == 0 ? .veryBeginning : point(range.lowerBound),
        to: range.upperBound == count - 1 ? .veryEnd : point(range.upperBound))
    }

    func point(_ index: Int) -> IDInterval<RowID>.Point {
      // The first point is [begin…base - 1]. The last is [its number…end], which is a single point
      // if its number is that end.
      let (place, overflow) = base.addingReportingOverflow(Int64(index) - 1)
      precondition(!overflow, "the line is where the test says it is")
      if place == .min { return .veryBeginning }
      return place == .max ? .veryEnd : .id(RowID(place))
    }

    func range(_ steps: inout SplitMix, width: Int) -> ClosedRange<Int> {
      let low = steps.below(count)
      return low...min(count - 1, low + steps.below(width))
    }
  }

  /// Knowledge, and its expected content.
  struct Pair {
    let line: Line
    var knowledge = Knowledge<RowID>()
    var known: [Bool]

    init(_ line: Line) {
      self.line = line
      known = [Bool](repeating: false, count: line.count)
    }

    mutating func set(_ range: ClosedRange<Int>, _ value: Bool) {
      for index in range { known[index] = value }
    }

    /// The longest ranges within `range` in which every point has this value.
    func runs(of value: Bool, in range: ClosedRange<Int>? = nil) -> [ClosedRange<Int>] {
      var runs: [ClosedRange<Int>] = []
      var start: Int?
      let range = range ?? 0...(line.count - 1)
      for index in range {
        if known[index] == value { start = start ?? index }
        if let first = start, known[index] != value || index == range.upperBound {
          runs.append(first...(known[index] == value ? index : index - 1))
          start = nil
        }
      }
      return runs
    }

    /// The intervals that it should have, and no more, because intervals never touch.
    var expected: [IDInterval<RowID>] { runs(of: true).map { line.interval($0) } }
  }

  @Test(arguments: Line.all)
  func `long random histories give the expected knowledge`(line: Line) {
    var steps = SplitMix(UInt64(line.count))
    // Several pairs are copied, joined, and then changed.
    var pairs = (0..<3).map { _ in Pair(line) }
    for step in 0..<4000 {
      let one = steps.below(pairs.count)
      let other = steps.below(pairs.count)
      var pair = pairs[one]
      // Narrow ranges make many intervals, wide ones few.
      let width = steps.pick([1, 2, 3, line.count / 3 + 1])
      let isRare = step % 100 < 2
      Self.change(
        &pair, pairs[other], line.range(&steps, width: step % 400 < 350 ? min(width, 3) : width),
        kind: isRare ? 6 + steps.below(5) : steps.below(6))
      pairs[one] = pair
      for pair in pairs { #expect(Array(pair.knowledge.intervals) == pair.expected) }
      guard Array(pairs[one].knowledge.intervals) == pairs[one].expected else { return }
      Self.ask(pairs[one], line.range(&steps, width: line.count))
      Self.checkChunks(pairs[one].knowledge)
      #expect(
        (pairs[one].knowledge == pairs[other].knowledge) == (pair.known == pairs[other].known))
    }
  }

  static func change(_ pair: inout Pair, _ other: Pair, _ range: ClosedRange<Int>, kind: Int) {
    let interval = pair.line.interval(range)
    let ids = interval.lowerEnd == interval.upperEnd ? interval.lowerEnd.id : nil
    switch kind {
    case 0...3:
      let isKnown = kind < 2
      pair.set(range, isKnown)
      switch (isKnown, ids) {
      case (true, let id?): pair.knowledge.insert(id)
      case (true, nil): pair.knowledge.insert(interval)
      case (false, let id?): pair.knowledge.remove(id)
      case (false, nil): pair.knowledge.remove(interval)
      }
    case 4...5:
      // Makes a comb, so that there are many intervals.
      for index in stride(from: range.lowerBound, to: pair.line.count, by: 3).prefix(20) {
        pair.set(index...index, kind == 4)
        if kind == 4 {
          pair.knowledge.insert(pair.line.interval(index...index))
        } else {
          pair.knowledge.remove(pair.line.interval(index...index))
        }
      }
    case 6:
      pair = other
    case 7:
      pair.knowledge.formUnion(other.knowledge)
      for index in pair.known.indices where other.known[index] { pair.known[index] = true }
    case 8:
      pair.knowledge = pair.knowledge.intersection(other.knowledge)
      for index in pair.known.indices where !other.known[index] { pair.known[index] = false }
    case 9:
      pair.knowledge = pair.knowledge.intersection(interval)
      for index in pair.known.indices where !range.contains(index) { pair.known[index] = false }
    default:
      pair.knowledge = pair.knowledge.gaps(in: interval)
      for index in pair.known.indices {
        pair.known[index] = range.contains(index) && !pair.known[index]
      }
    }
  }

  static func ask(_ pair: Pair, _ range: ClosedRange<Int>) {
    let line = pair.line
    let index = range.lowerBound
    let point = index == 0 ? .veryBeginning : index == line.count - 1 ? .veryEnd : line.point(index)
    let interval = line.interval(range)
    let knowledge = pair.knowledge
    let known = pair.runs(of: true)
    let gaps = pair.runs(of: false)
    let holding = known.first { $0.contains(index) }
    #expect(knowledge.contains(point) == (holding != nil))
    if let id = point.id { #expect(knowledge.contains(id) == (holding != nil)) }
    #expect(knowledge.interval(holding: point) == holding.map { line.interval($0) })
    #expect(knowledge.covers(interval) == range.allSatisfy { pair.known[$0] })
    let below = gaps.last { $0.lowerBound <= index }
    #expect(knowledge.gap(atOrBelow: point) == below.map { line.interval($0) })
    let above = gaps.first { $0.upperBound >= index }
    #expect(knowledge.gap(atOrAbove: point) == above.map { line.interval($0) })
    #expect(
      Array(knowledge.gaps(in: interval).intervals)
        == pair.runs(of: false, in: range).map { line.interval($0) })
    #expect(
      Array(knowledge.intersection(interval).intervals)
        == pair.runs(of: true, in: range).map { line.interval($0) })
    #expect(knowledge.count == known.count)
    #expect(knowledge.isEmpty == known.isEmpty)
    #expect(knowledge.isComplete == gaps.isEmpty)
    let again = Knowledge<RowID>(pair.expected.reversed())
    #expect(again == knowledge)
    #expect(again.hashValue == knowledge.hashValue)
  }

  /// Checks what nobody sees: chunks are neither empty nor too large, their ceilings are right, and
  /// if there are chunks the two slots are free.
  static func checkChunks(_ knowledge: Knowledge<RowID>) {
    guard !knowledge.chunks.isEmpty else { return }
    #expect(knowledge.first.isNone && knowledge.second.isNone)
    for chunk in knowledge.chunks {
      #expect(chunk.intervals.last?.high == chunk.ceiling)
      #expect(chunk.intervals.count <= Knowledge<RowID>.Chunk.limit)
    }
  }

  @Test func `a small chunk is joined to its neighbour only if there is room`() {
    let limit = Knowledge<RowID>.Chunk.limit
    func known(_ numbers: some Sequence<Int>) -> Knowledge<RowID> {
      Knowledge<RowID>(numbers.map { IDInterval(RowID(Int64($0) * 2)) })
    }
    // One more than fits makes two halves. Then the upper half is filled.
    let two = known(0..<(limit + limit / 2))
    #expect(two.chunks.map(\.intervals.count) == [limit / 2, limit])
    var one = two
    for left in (0..<(limit / 2)).reversed() {
      one.remove(RowID(Int64(limit / 2 - 1 - left) * 2))
      Self.checkChunks(one)
      #expect(one == known((limit / 2 - left)..<(limit + limit / 2)))
      #expect(one.chunks.map(\.intervals.count) == (left == 0 ? [limit] : [left, limit]))
    }
    // The other way round, there is room for both in the end.
    var both = two
    for number in (limit / 2..<(limit + limit / 2)).dropLast() {
      both.remove(RowID(Int64(number) * 2))
    }
    for number in 1..<(limit / 2) { both.remove(RowID(Int64(number) * 2)) }
    #expect(both.chunks.map(\.intervals.count) == [2])
    #expect(both == known([0, limit + limit / 2 - 1]))
  }

  @Test func `many intervals make many chunks, which are removed with them`() {
    var knowledge = Knowledge<RowID>()
    var order = Array(Int64(0)..<5000)
    var steps = SplitMix(5)
    for index in order.indices { order.swapAt(index, index + steps.below(order.count - index)) }
    for number in order { knowledge.insert(RowID(number * 2)) }
    #expect(knowledge.count == 5000)
    #expect(knowledge.chunks.count > 5000 / Knowledge<RowID>.Chunk.limit)
    Self.checkChunks(knowledge)
    let all = knowledge
    for number in order.dropLast(2) { knowledge.remove(RowID(number * 2)) }
    Self.checkChunks(knowledge)
    #expect(knowledge.count == 2)
    // Almost empty chunks were joined.
    #expect(knowledge.chunks.count == 1)
    #expect(knowledge == Knowledge<RowID>(order.suffix(2).map { IDInterval(RowID($0 * 2)) }))
    knowledge.remove(RowID(order[4998] * 2))
    #expect(knowledge.chunks.isEmpty)
    #expect(all.count == 5000)
    // One interval swallows all.
    var whole = all
    whole.insert(.everything)
    #expect(whole.isComplete && whole.chunks.isEmpty && all.count == 5000)
    #expect(all.intersection(whole) == all)
    #expect(all.union(all.gaps()) == whole)
    #expect(all.intersection(all.gaps()).isEmpty)
  }
}
