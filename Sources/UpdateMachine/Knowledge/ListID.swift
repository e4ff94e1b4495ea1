/// The ID of something in a list: an integer, greater for what comes later.
///
/// The least and the greatest 64-bit number are no IDs: they stand for the ends of the line
/// (``IDInterval``). They become their neighbours, so that no number from a server can trap:
///
///     init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
public protocol ListID: BitwiseCopyable, Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number that orders IDs; never the least or the greatest 64-bit number.
  var number: Int64 { get }

  /// Creates the ID of a number; of the nearest valid one, if it is the least or the greatest.
  init(_ number: Int64)
}

extension ListID {
  /// In the order of the numbers.
  @inlinable
  public static func < (one: Self, other: Self) -> Bool { one.number < other.number }

  /// The number.
  public var description: String { "\(number)" }
}
