// How knowledge is stored: in two slots, or in chunks. All code above this file uses spots, and
// does not see which.

extension Knowledge {
  /// Some neighbours in order, with their greatest point beside them: a search for a chunk reads
  /// only that point.
  @usableFromInline
  struct Chunk: Sendable {
    @usableFromInline var ceiling: Int64
    @usableFromInline var intervals: ContiguousArray<IDInterval<ID>>

    /// The most intervals in a chunk: 1 KB, which moves in about the time that a search takes.
    @inlinable static var limit: Int { 64 }
    /// A chunk with fewer is joined to a neighbour, if both together leave room.
    @inlinable static var least: Int { limit / 4 }

    /// `intervals` must not be empty.
    @inlinable
    init(_ intervals: ContiguousArray<IDInterval<ID>>) {
      ceiling = intervals[intervals.count - 1].high
      self.intervals = intervals
    }
  }

  /// The place where an interval is, or would be: a slot, or an offset in a chunk. After the last
  /// one comes the first free slot, or the beginning of the chunk after the last.
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

  // MARK: Searching

  /// The spot of the first interval that has a point at or above `place`.
  @inlinable
  @inline(__always)
  func spot(of place: Int64) -> Spot {
    guard !chunks.isEmpty else {
      // A free slot ends the search: nothing follows it.
      if place <= first.high || first.isNone { return Spot(chunk: 0, offset: 0) }
      return Spot(chunk: 0, offset: place <= second.high || second.isNone ? 1 : 2)
    }
    guard place <= chunks[chunks.count - 1].ceiling else {
      return Spot(chunk: chunks.count, offset: 0)
    }
    return spotInChunks(of: place)
  }

  /// The same if there are chunks; the last interval, if all are below `place`.
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

  /// Returns the first of `count` ordered places that is not below `place`; the last, if all are.
  /// There is at least one.
  ///
  /// A binary search. Its first two halves overlap, so that all later sizes are powers of 2. Then
  /// the result of a comparison can be shifted and added. A branch would be mispredicted half the
  /// time.
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

  /// The interval at a spot; a free slot after the last one.
  @inlinable
  @inline(__always)
  subscript(spot: Spot) -> IDInterval<ID> {
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

  /// The interval before a spot; a free slot, if there is none.
  @inlinable
  func before(_ spot: Spot) -> IDInterval<ID> {
    if spot.offset > 0 { return self[Spot(chunk: spot.chunk, offset: spot.offset - 1)] }
    guard spot.chunk > 0 else { return .none }
    let intervals = chunks[spot.chunk - 1].intervals
    return intervals[intervals.count - 1]
  }

  // MARK: Changing

  /// Adds an interval that lies above all others and does not touch them. O(1).
  @inlinable
  mutating func append(_ interval: IDInterval<ID>) {
    let end =
      chunks.isEmpty
      ? Spot(chunk: 0, offset: first.isNone ? 0 : second.isNone ? 1 : 2)
      : Spot(chunk: chunks.count, offset: 0)
    replace(from: end, to: end, with: interval, .none)
  }

  /// Replaces the intervals from `start` up to, not including, `end` by up to two others. If there
  /// is only one, it is `one`.
  @inlinable
  mutating func replace(
    from start: Spot, to end: Spot, with one: IDInterval<ID>, _ two: IDInterval<ID>
  ) {
    guard !chunks.isEmpty else { return replaceSlots(start.offset, end.offset, one, two) }
    // With chunks, the spot after the last interval means the end of the last chunk.
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

  /// The same in the slots. A third interval moves all of them into a chunk.
  @inlinable
  mutating func replaceSlots(_ start: Int, _ end: Int, _ one: IDInterval<ID>, _ two: IDInterval<ID>)
  {
    // Three at most: either two are kept and one is new, or one is split and the other kept.
    var kept = (IDInterval<ID>.none, IDInterval<ID>.none, IDInterval<ID>.none)
    func keep(_ interval: IDInterval<ID>) {
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
  mutating func spill(_ third: IDInterval<ID>) {
    var intervals = ContiguousArray<IDInterval<ID>>()
    intervals.reserveCapacity(8)
    intervals.append(first)
    intervals.append(second)
    intervals.append(third)
    chunks = [Chunk(intervals)]
    first = .none
    second = .none
  }

  /// Removes all intervals between a chunk and `end`.
  @inlinable
  @inline(never)
  mutating func removeBehind(_ chunk: Int, _ end: Spot) {
    if end.offset > 0 { chunks[end.chunk].intervals.removeSubrange(0..<end.offset) }
    chunks.removeSubrange((chunk + 1)..<end.chunk)
  }

  /// Splits a chunk that is too large, and joins a small one to a neighbour if there is room. A
  /// single interval goes back to the first slot. Two do not, because they may soon be three again.
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
      // The last chunk joins its lower neighbour, all others the upper one.
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
  /// Replaces the intervals from `start` up to, not including, `end` by up to two others.
  @inlinable
  mutating func replace(_ start: Int, _ end: Int, _ one: IDInterval<ID>, _ two: IDInterval<ID>) {
    var offset = start
    put(one, at: &offset, before: end)
    put(two, at: &offset, before: end)
    if offset < end { intervals.removeSubrange(offset..<end) }
    if let last = intervals.last { ceiling = last.high }
  }

  /// Overwrites an interval that is to go, if there is one; otherwise makes room.
  @inlinable
  mutating func put(_ interval: IDInterval<ID>, at offset: inout Int, before end: Int) {
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
