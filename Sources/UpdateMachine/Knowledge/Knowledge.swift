// Knowledge: the room of what a client may claim to know about lists that it holds only in part
// (the article PartialKnowledge), whatever is in them. It imports nothing.
//
// Knowledge may use: Stored, VersionedMap.

/// The IDs of which a list is known to hold everything: a set of points of the line of IDs, kept as
/// intervals.
///
/// The intervals are in order and do not touch. Between two of them lies at least one point that is
/// not known, so [1…3] and [4…9] become [1…9]. There is one such form for each set of points, so
/// equal knowledge is equal values, however it came about.
///
/// Up to two intervals, the usual case, allocate nothing. More are kept in chunks of at most 64,
/// until fewer than two are left. Each chunk has its greatest point beside it. So a change moves at
/// most one chunk, and a copy shares the chunks that neither side has changed. In the complexities
/// below, *n* is the number of intervals. Nothing here traps.
@usableFromInline
package struct Knowledge<ID: ListID>: Sendable {
  /// Up to two intervals, the lower one first, if there are no chunks. A free slot ends them.
  @usableFromInline var first: IDInterval<ID>
  @usableFromInline var second: IDInterval<ID>
  /// All intervals, once there were more than two, until fewer than two are left. No chunk is
  /// empty.
  @usableFromInline var chunks: ContiguousArray<Chunk>

  /// Nothing.
  @inlinable
  package init() {
    first = .none
    second = .none
    chunks = []
  }

  /// One interval.
  @inlinable
  package init(_ interval: IDInterval<ID>) {
    self.init()
    first = interval
  }

  /// Creates the union of these intervals, which may overlap, in any order.
  @inlinable
  package init(_ intervals: some Sequence<IDInterval<ID>>) {
    self.init()
    for interval in intervals { insert(interval) }
  }

  // MARK: Changes

  /// Adds every point of an interval. O(log *n*), plus one step for each interval that it swallows.
  @inlinable
  package mutating func insert(_ interval: IDInterval<ID>) {
    let below = interval.low == .min ? .min : interval.low &- 1
    let above = interval.high == .max ? .max : interval.high &+ 1
    let start = spot(of: below)
    var low = interval.low
    var high = interval.high
    var end = start
    while true {
      let next = self[end]
      if next.low > above || next.isNone { break }
      if next.covers(interval) { return }
      low = min(low, next.low)
      high = max(high, next.high)
      end = after(end)
    }
    replace(from: start, to: end, with: IDInterval(low: low, high: high), .none)
  }

  /// Adds one ID. O(log *n*).
  @inlinable
  package mutating func insert(_ id: ID) { insert(IDInterval(id)) }

  /// Adds what the other knows. O(*m* log *n*), where the other has *m* intervals.
  @inlinable
  package mutating func formUnion(_ other: Knowledge) {
    for interval in other.intervals { insert(interval) }
  }

  /// Removes every point of an interval, and splits one that contains it. O(log *n*), plus one step
  /// for each interval that loses a point.
  @inlinable
  package mutating func remove(_ interval: IDInterval<ID>) {
    let start = spot(of: interval.low)
    var end = start
    var below = IDInterval<ID>.none
    var above = IDInterval<ID>.none
    while true {
      let next = self[end]
      if next.low > interval.high || next.isNone { break }
      // No overflow is possible: `next` has a point on the other side.
      if next.low < interval.low { below = IDInterval(low: next.low, high: interval.low &- 1) }
      if next.high > interval.high { above = IDInterval(low: interval.high &+ 1, high: next.high) }
      end = after(end)
    }
    guard start != end else { return }
    if below.isNone {
      replace(from: start, to: end, with: above, .none)
    } else {
      replace(from: start, to: end, with: below, above)
    }
  }

  /// Removes one ID. O(log *n*).
  @inlinable
  package mutating func remove(_ id: ID) { remove(IDInterval(id)) }

  // MARK: Queries

  /// Whether the other is an unchanged copy of this one. O(1).
  @inlinable
  package func isIdentical(to other: Knowledge) -> Bool {
    guard first == other.first, second == other.second, chunks.count == other.chunks.count else {
      return false
    }
    let mine = unsafe chunks.withUnsafeBufferPointer { $0.baseAddress }
    let its = unsafe other.chunks.withUnsafeBufferPointer { $0.baseAddress }
    return unsafe mine == its
  }

  /// Whether nothing is known. O(1).
  @inlinable
  package var isEmpty: Bool { first.isNone && chunks.isEmpty }

  /// Whether everything is known, from the very beginning to the very end. O(1).
  @inlinable
  package var isComplete: Bool { first == .everything }

  /// How many intervals there are. O(*n*), but very fast.
  @inlinable
  package var count: Int {
    guard !chunks.isEmpty else { return (first.isNone ? 0 : 1) + (second.isNone ? 0 : 1) }
    return chunks.reduce(0) { $0 + $1.intervals.count }
  }

  /// O(log *n*).
  @inlinable
  package func contains(_ point: IDInterval<ID>.Point) -> Bool {
    guard !chunks.isEmpty else { return first.contains(point) || second.contains(point) }
    return self[spotInChunks(of: point.place)].contains(point)
  }

  /// O(log *n*).
  @inlinable
  package func contains(_ id: ID) -> Bool { contains(.id(id)) }

  /// Whether every point of an interval is known. O(log *n*).
  @inlinable
  package func covers(_ interval: IDInterval<ID>) -> Bool {
    self[spot(of: interval.low)].covers(interval)
  }

  /// The known interval that holds a point; `nil`: the point is not known. O(log *n*).
  @inlinable
  package func interval(holding point: IDInterval<ID>.Point) -> IDInterval<ID>? {
    let next = self[spot(of: point.place)]
    return next.contains(point) ? next : nil
  }

  /// The nearest gap that has a point at or below this one. The whole gap is returned: it may go on
  /// above the point if the point itself is not known. `nil`: everything down to the very beginning
  /// is known. O(log *n*).
  @inlinable
  package func gap(atOrBelow point: IDInterval<ID>.Point) -> IDInterval<ID>? {
    let spot = spot(of: point.place)
    let next = self[spot]
    guard !next.isNone else { return gap(from: before(spot), to: .none) }
    return next.low == .min ? nil : gap(from: before(spot), to: next)
  }

  /// The nearest gap that has a point at or above this one. The whole gap is returned: it may go on
  /// below the point if the point itself is not known. `nil`: everything up to the very end is
  /// known. O(log *n*).
  @inlinable
  package func gap(atOrAbove point: IDInterval<ID>.Point) -> IDInterval<ID>? {
    let spot = spot(of: point.place)
    let next = self[spot]
    guard next.contains(point) else { return gap(from: before(spot), to: next) }
    return next.high == .max ? nil : gap(from: next, to: self[after(spot)])
  }

  // MARK: Sets

  /// What both know. O(*m* log *n*), where *m* is the smaller number of intervals, plus one step
  /// for each interval of the result.
  @inlinable
  package func intersection(_ other: Knowledge) -> Knowledge {
    let (fewer, more) = count < other.count ? (self, other) : (other, self)
    var both = Knowledge()
    for interval in fewer.intervals { more.forEach(in: interval) { both.append($0) } }
    return both
  }

  /// What is known of an interval. O(log *n*), plus one step for each interval of the result.
  @inlinable
  package func intersection(_ interval: IDInterval<ID>) -> Knowledge {
    var known = Knowledge()
    forEach(in: interval) { known.append($0) }
    return known
  }

  /// What is known here but not there. O(*n* + *m* log *n*), where the other has *m* intervals.
  @inlinable
  package func subtracting(_ other: Knowledge) -> Knowledge {
    var rest = self
    for interval in other.intervals { rest.remove(interval) }
    return rest
  }

  /// What is known here or there. O(*m* log *n*), where the other has *m* intervals.
  @inlinable
  package func union(_ other: Knowledge) -> Knowledge {
    var either = self
    either.formUnion(other)
    return either
  }

  /// What is not known of an interval, by default of everything. O(log *n*), plus one step for each
  /// interval of the result.
  @inlinable
  package func gaps(in interval: IDInterval<ID> = .everything) -> Knowledge {
    var unknown = Knowledge()
    var low = interval.low
    var isDone = false
    forEach(in: interval) { known in
      if low < known.low { unknown.append(IDInterval(low: low, high: known.low &- 1)) }
      isDone = known.high == interval.high
      low = known.high &+ 1  // If this overflows, nothing is left to do.
    }
    if !isDone { unknown.append(IDInterval(low: low, high: interval.high)) }
    return unknown
  }

  // MARK: Helpers

  /// Calls `body` with each known part of an interval, in ascending order.
  @inlinable
  func forEach(in interval: IDInterval<ID>, _ body: (IDInterval<ID>) -> Void) {
    var spot = spot(of: interval.low)
    while let known = self[spot].intersection(interval) {
      body(known)
      spot = after(spot)
    }
  }

  /// The gap between two neighbours. A free slot stands for the very beginning or the very end.
  @inlinable
  func gap(from below: IDInterval<ID>, to above: IDInterval<ID>) -> IDInterval<ID> {
    IDInterval(
      low: below.isNone ? .min : below.high &+ 1, high: above.isNone ? .max : above.low &- 1)
  }
}

extension Knowledge: Equatable {
  /// O(*n*).
  @inlinable
  package static func == (one: Knowledge, other: Knowledge) -> Bool {
    guard one.chunks.isEmpty, other.chunks.isEmpty else {
      return one.intervals.elementsEqual(other.intervals)
    }
    return one.first == other.first && one.second == other.second
  }
}

extension Knowledge: Hashable {
  @inlinable
  package func hash(into hasher: inout Hasher) {
    for interval in intervals { hasher.combine(interval) }
    hasher.combine(IDInterval<ID>.none)
  }
}

extension Knowledge {
  /// The intervals in order, from below.
  @inlinable
  package var intervals: Intervals { Intervals(self) }

  /// The intervals of some knowledge, in order.
  @usableFromInline
  package struct Intervals: Sequence, IteratorProtocol, Sendable {
    @usableFromInline let knowledge: Knowledge
    @usableFromInline var spot = Spot(chunk: 0, offset: 0)

    @inlinable
    init(_ knowledge: Knowledge) { self.knowledge = knowledge }

    @inlinable
    package mutating func next() -> IDInterval<ID>? {
      let interval = knowledge[spot]
      guard !interval.isNone else { return nil }
      spot = knowledge.after(spot)
      return interval
    }
  }
}

extension Knowledge: CustomStringConvertible {
  /// The intervals in one line: "[begin…17] [20…29] [40…end]"; "nothing".
  @usableFromInline package var description: String {
    isEmpty ? "nothing" : intervals.map { $0.description }.joined(separator: " ")
  }
}

extension Knowledge: Storable {
  @inlinable
  package func put(into bytes: inout ByteWriter) {
    bytes.put(UInt64(count))
    for interval in intervals {
      bytes.put(interval.low)
      bytes.put(interval.high)
    }
  }

  @inlinable
  package init(from bytes: inout ByteReader) throws(StoredFormError) {
    self.init()
    for _ in 0..<(try bytes.takeCount()) {
      let low = try bytes.takeInt64()
      let high = try bytes.takeInt64()
      guard low <= high else { throw StoredFormError(expected: "an interval") }
      insert(IDInterval(low: low, high: high))
    }
  }
}
