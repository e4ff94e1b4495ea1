/// A closed, non-empty span of IDs: both its ends belong to it.
///
/// The line of IDs has two more points: the *very beginning*, before every ID, and the *very end*,
/// after every ID. An interval that reaches the very end holds every greater ID, whether a row
/// has it or not (PartialKnowledge R6).
public struct IDInterval<ID: ListID>: BitwiseCopyable, Hashable, Sendable {
  /// A point of the line: an ID, or one of the two ends.
  @usableFromInline package struct Point: BitwiseCopyable, Hashable, Comparable, Sendable {
    /// The ID's number; the ends have the least and the greatest number there is.
    @usableFromInline let place: Int64

    @inlinable
    init(place: Int64) { self.place = place }

    /// Before every ID.
    @inlinable
    package static var veryBeginning: Point { Point(place: .min) }

    /// After every ID.
    @inlinable
    package static var veryEnd: Point { Point(place: .max) }

    /// Returns the point of an ID, between the two ends.
    @inlinable
    package static func id(_ id: ID) -> Point { Point(place: id.number) }

    /// `nil`: one of the two ends.
    @inlinable
    package var id: ID? {
      place == .min || place == .max ? nil : ID(place)
    }

    @inlinable
    package static func < (one: Point, other: Point) -> Bool { one.place < other.place }
  }

  /// The places of the ends. Only a free slot, which is no interval, has `low` above `high`.
  @usableFromInline package let low: Int64
  @usableFromInline package let high: Int64

  @inlinable
  package init(low: Int64, high: Int64) {
    self.low = low
    self.high = high
  }

  /// Creates the interval from one point to another, both included. An upper end below the lower
  /// one is a programmer's mistake.
  @inlinable
  package init(from lowerEnd: Point, to upperEnd: Point) {
    precondition(lowerEnd <= upperEnd, "an interval holds at least one point")
    self.init(low: lowerEnd.place, high: upperEnd.place)
  }

  /// Creates the interval from one ID to another, both included. An upper end below the lower one
  /// is a programmer's mistake.
  @inlinable
  package init(from lowerEnd: ID, to upperEnd: ID) {
    self.init(from: .id(lowerEnd), to: .id(upperEnd))
  }

  /// One ID alone.
  @inlinable
  package init(_ id: ID) { self.init(low: id.number, high: id.number) }

  /// From the very beginning to the very end.
  @inlinable
  package static var everything: IDInterval { IDInterval(low: .min, high: .max) }

  /// The least point in it.
  @inlinable
  package var lowerEnd: Point { Point(place: low) }

  /// The greatest point in it.
  @inlinable
  package var upperEnd: Point { Point(place: high) }

  @inlinable
  package func contains(_ point: Point) -> Bool {
    // Without a branch: for points in random order, half of the predictions would be wrong.
    (low <= point.place ? 1 : 0) & (point.place <= high ? 1 : 0) == 1
  }

  @inlinable
  package func contains(_ id: ID) -> Bool { contains(.id(id)) }

  /// Whether it contains every point of `other`.
  @inlinable
  package func covers(_ other: IDInterval) -> Bool { low <= other.low && other.high <= high }

  /// The points that are in both; `nil`: none.
  @inlinable
  package func intersection(_ other: IDInterval) -> IDInterval? {
    let both = IDInterval(low: max(low, other.low), high: min(high, other.high))
    return both.isNone ? nil : both
  }

  /// The value of a free slot.
  @inlinable
  static var none: IDInterval { IDInterval(low: .max, high: .min) }

  @inlinable
  var isNone: Bool { low > high }
}

extension IDInterval.Point: CustomStringConvertible {
  /// "begin", "17", "end".
  @usableFromInline package var description: String {
    switch place {
    case .min: "begin"
    case .max: "end"
    default: "\(place)"
    }
  }
}

extension IDInterval: CustomStringConvertible {
  /// "[begin…17]", "[3…9]", "[20…end]"; one point alone is "[5]".
  public var description: String {
    low == high ? "[\(lowerEnd)]" : "[\(lowerEnd)…\(upperEnd)]"
  }
}
