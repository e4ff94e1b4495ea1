/// The ID of something in a list: a whole number; a greater one comes later.
///
/// The least and the greatest number of 64 bits name nothing, for the line of IDs has its ends there
/// (``Interval``). They become their neighbours, so that no number that a server sends can trap:
///
///     init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }
public protocol ListID: BitwiseCopyable, Hashable, Comparable, Sendable, CustomStringConvertible {
  var number: Int64 { get }

  /// The ID of this number; of the nearest that is one, if it is the least or the greatest.
  init(_ number: Int64)
}

extension ListID {
  /// In the order of the numbers.
  @inlinable
  public static func < (one: Self, other: Self) -> Bool { one.number < other.number }

  /// The number.
  public var description: String { "\(number)" }
}
