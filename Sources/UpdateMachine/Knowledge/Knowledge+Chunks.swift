// How knowledge is held: two slots, or chunks. Everything above this file goes by spots, and does
// not see which.

extension Knowledge {
  /// Some neighbours in order, and the greatest point in them beside them: to find a chunk, only
  /// those are read.
  @usableFromInline
  struct Chunk: Sendable {
    @usableFromInline var ceiling: Int64
    @usableFromInline var intervals: ContiguousArray<Interval<ID>>

    /// At most so many: 1 KB, which moves in about the time that it takes to find the place.
    @inlinable static var limit: Int { 64 }
    /// With fewer it is joined to a neighbour, if both together leave room.
    @inlinable static var least: Int { limit / 4 }

    /// `intervals` is not empty.
    @inlinable
    init(_ intervals: ContiguousArray<Interval<ID>>) {
      ceiling = intervals[intervals.count - 1].high
      self.intervals = intervals
    }
  }

  /// Where an interval is, or would be: in a slot, or at an offset of a chunk. Behind the last one
  /// is the first free slot, or the beginning of the chunk after the last.
  @usableFromInline
  struct Spot: Equatable, Sendable {
    @usableFromInline var chunk: Int
    @usableFromInline var offset: Int

    @inlinable
    init(chunk: Int, offset: Int) {
      self.chunk = chunk
      self.offset = offset
    }
  }

  // MARK: Looking

  /// The first interval that has a point at or above `place`.
  @inlinable
  @inline(__always)
  func spot(of place: Int64) -> Spot {
    guard !chunks.isEmpty else {
      // A free slot ends the search: there is nothing behind it.
      if place <= first.high || first.isNone { return Spot(chunk: 0, offset: 0) }
      return Spot(chunk: 0, offset: place <= second.high || second.isNone ? 1 : 2)
    }
    guard place <= chunks[chunks.count - 1].ceiling else {
      return Spot(chunk: chunks.count, offset: 0)
    }
    return spotInChunks(of: place)
  }

  /// The same, where there are chunks; of the last interval, if all are below `place`.
  @inlinable
  @inline(__always)
  func spotInChunks(of place: Int64) -> Spot {
    unsafe chunks.withUnsafeBufferPointer { chunks in
      let chunk =
        chunks.count == 1
        ? 0 : Knowledge.search(place, chunks.count) { unsafe chunks[$0].ceiling }
      let offset = unsafe chunks[chunk].intervals.withUnsafeBufferPointer { intervals in
        Knowledge.search(place, intervals.count) { unsafe intervals[$0].high }
      }
      return Spot(chunk: chunk, offset: offset)
    }
  }

  /// The first of `count` places, which are in order, that is not below `place`; the last, if all
  /// are. There is at least one.
  ///
  /// By halves, of which the first two overlap, so that all that follow are powers of 2. Then what a
  /// comparison says can be shifted and added. A branch would be guessed wrong every other time.
  @inlinable
  @inline(__always)
  static func search(_ place: Int64, _ count: Int, _ at: (Int) -> Int64) -> Int {
    var shift = Int.bitWidth &- 1 &- count.leadingZeroBitCount
    let rest = count &- (1 &<< shift)
    var base = at(max(rest &- 1, 0)) < place ? rest : 0
    while shift > 0 {
      shift &-= 1
      let isBelow = at(base &+ (1 &<< shift) &- 1) < place ? 1 : 0
      base &+= isBelow &<< shift
    }
    return base
  }

  /// The interval there; a free slot behind the last one.
  @inlinable
  @inline(__always)
  subscript(spot: Spot) -> Interval<ID> {
    guard !chunks.isEmpty else {
      return spot.offset == 0 ? first : spot.offset == 1 ? second : .none
    }
    return spot.chunk < chunks.count ? chunks[spot.chunk].intervals[spot.offset] : .none
  }

  /// The spot of the next interval.
  @inlinable
  func after(_ spot: Spot) -> Spot {
    guard !chunks.isEmpty, spot.offset + 1 == chunks[spot.chunk].intervals.count else {
      return Spot(chunk: spot.chunk, offset: spot.offset + 1)
    }
    return Spot(chunk: spot.chunk + 1, offset: 0)
  }

  /// The interval before a spot; a free slot if it is the first.
  @inlinable
  func before(_ spot: Spot) -> Interval<ID> {
    if spot.offset > 0 { return self[Spot(chunk: spot.chunk, offset: spot.offset - 1)] }
    guard spot.chunk > 0 else { return .none }
    let intervals = chunks[spot.chunk - 1].intervals
    return intervals[intervals.count - 1]
  }

  // MARK: Changing

  /// Adds an interval that lies above all others and does not touch them. O(1).
  @inlinable
  mutating func append(_ interval: Interval<ID>) {
    let end =
      chunks.isEmpty
      ? Spot(chunk: 0, offset: first.isNone ? 0 : second.isNone ? 1 : 2)
      : Spot(chunk: chunks.count, offset: 0)
    replace(from: end, to: end, with: interval, .none)
  }

  /// Puts up to two intervals in the place of those from `start` up to, not including, `end`. If
  /// there is but one, it is `one`.
  @inlinable
  mutating func replace(from start: Spot, to end: Spot, with one: Interval<ID>, _ two: Interval<ID>)
  {
    guard !chunks.isEmpty else { return replaceSlots(start.offset, end.offset, one, two) }
    // Behind the last is, for a chunk, the end of the last one.
    let isBehind = start.chunk == chunks.count
    let chunk = isBehind ? start.chunk - 1 : start.chunk
    let count = chunks[chunk].intervals.count
    let offset = isBehind ? count : start.offset
    let isWithin = end.chunk == chunk
    if !isWithin, end.chunk > chunk + 1 || end.offset > 0 { removeBehind(chunk, end) }
    chunks[chunk].replace(offset, isWithin ? end.offset : count, one, two)
    let left = chunks[chunk].intervals.count
    if left < Chunk.least || left > Chunk.limit { balance(chunk) }
  }

  /// In the slots; three intervals move into a chunk.
  @inlinable
  mutating func replaceSlots(_ start: Int, _ end: Int, _ one: Interval<ID>, _ two: Interval<ID>) {
    // Three at most: either two are kept and one is new, or one is split and the other kept.
    var kept = (Interval<ID>.none, Interval<ID>.none, Interval<ID>.none)
    func keep(_ interval: Interval<ID>) {
      if interval.isNone { return }
      if kept.0.isNone {
        kept.0 = interval
      } else if kept.1.isNone {
        kept.1 = interval
      } else {
        kept.2 = interval
      }
    }
    if start > 0 { keep(first) }
    if start > 1 { keep(second) }
    keep(one)
    keep(two)
    if end < 1 { keep(first) }
    if end < 2 { keep(second) }
    first = kept.0
    second = kept.1
    if !kept.2.isNone { spill(kept.2) }
  }

  /// Moves the two intervals of the slots and a third one into a chunk.
  @inlinable
  @inline(never)
  mutating func spill(_ third: Interval<ID>) {
    var intervals = ContiguousArray<Interval<ID>>()
    intervals.reserveCapacity(8)
    intervals.append(first)
    intervals.append(second)
    intervals.append(third)
    chunks = [Chunk(intervals)]
    first = .none
    second = .none
  }

  /// Removes what lies between a chunk and `end`.
  @inlinable
  @inline(never)
  mutating func removeBehind(_ chunk: Int, _ end: Spot) {
    if end.offset > 0 { chunks[end.chunk].intervals.removeSubrange(0..<end.offset) }
    chunks.removeSubrange((chunk + 1)..<end.chunk)
  }

  /// Splits a chunk that is too large, and joins one that is small to a neighbour if there is room.
  /// What fits the first slot goes back there: with two it may soon be three again.
  @inlinable
  @inline(never)
  mutating func balance(_ chunk: Int) {
    let count = chunks[chunk].intervals.count
    if count > Chunk.limit {
      let upper = ContiguousArray(chunks[chunk].intervals[(count / 2)...])
      chunks[chunk].intervals.removeSubrange((count / 2)...)
      chunks[chunk].ceiling = chunks[chunk].intervals[count / 2 - 1].high
      chunks.insert(Chunk(upper), at: chunk + 1)
      return
    }
    if count == 0 {
      chunks.remove(at: chunk)
    } else if chunks.count > 1 {
      // The last has its neighbour below, the others above.
      let lower = min(chunk, chunks.count - 2)
      let both = chunks[lower].intervals.count + chunks[lower + 1].intervals.count
      guard both <= Chunk.limit / 2 else { return }
      chunks[lower].intervals.append(contentsOf: chunks[lower + 1].intervals)
      chunks[lower].ceiling = chunks[lower + 1].ceiling
      chunks.remove(at: lower + 1)
    }
    if chunks.count == 1, chunks[0].intervals.count == 1 {
      first = chunks[0].intervals[0]
      chunks = []
    }
  }
}

extension Knowledge.Chunk {
  /// Puts up to two intervals in the place of those from `start` up to, not including, `end`.
  @inlinable
  mutating func replace(_ start: Int, _ end: Int, _ one: Interval<ID>, _ two: Interval<ID>) {
    var offset = start
    put(one, at: &offset, before: end)
    put(two, at: &offset, before: end)
    if offset < end { intervals.removeSubrange(offset..<end) }
    if let last = intervals.last { ceiling = last.high }
  }

  /// Writes over what is to go for as long as there is any, and makes room after that.
  @inlinable
  mutating func put(_ interval: Interval<ID>, at offset: inout Int, before end: Int) {
    guard !interval.isNone else { return }
    if offset < end {
      intervals[offset] = interval
    } else {
      let count = intervals.count
      intervals.append(interval)
      unsafe intervals.withUnsafeMutableBufferPointer { intervals in
        guard let start = intervals.baseAddress else { return }
        let spot = unsafe start + offset
        unsafe (spot + 1).update(from: spot, count: count - offset)
        unsafe spot.pointee = interval
      }
    }
    offset += 1
  }
}
