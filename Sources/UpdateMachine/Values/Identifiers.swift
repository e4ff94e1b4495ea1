/// One start of one replica. The driver gives each a number that no other life of the same client
/// ever had (MACHINE §1): a late answer to an earlier life can then not be taken for one to this.
public struct Life: Hashable, Sendable {
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
