/// One start of one replica. The driver gives each a number that no other life of the same client
/// ever had (MACHINE §1): a late answer to an earlier life can then not be taken for one to this.
public struct Life: BitwiseCopyable, Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// Names one request. Requests of one life count up from 1.
public struct RequestID: Hashable, Sendable {
  public var life: Life
  public var number: UInt64

  @inlinable
  public init(life: Life, number: UInt64) {
    self.life = life
    self.number = number
  }
}

/// Names one timer of one machine. They count up from 1.
public struct TimerID: Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// Names one write of one machine. They count up from 1.
public struct WriteID: Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// Names one message, as the server numbers them: a greater number is a later message.
///
/// The least and the greatest number of 64 bits name none, for the line of IDs has its ends there
/// (``Interval``). They become their neighbours, so that no number that a server sends can trap.
public struct MessageID: BitwiseCopyable, Hashable, Comparable, Sendable {
  public let number: Int64

  @inlinable
  public init(_ number: Int64) { self.number = Swift.min(Swift.max(number, .min + 1), .max - 1) }

  @inlinable
  public static func < (one: MessageID, other: MessageID) -> Bool { one.number < other.number }
}

extension Life: CustomStringConvertible {
  public var description: String { "life \(number)" }
}

extension RequestID: CustomStringConvertible {
  /// The number alone: within one machine every request is of one life.
  public var description: String { "\(number)" }
}

extension TimerID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension WriteID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension MessageID: CustomStringConvertible {
  public var description: String { "\(number)" }
}
