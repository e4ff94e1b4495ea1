/// One start of one replica. The driver gives each a number that no other life of the same client
/// ever had (MACHINE §1): a late answer to an earlier life can then not be taken for one to this.
public struct Life: BitwiseCopyable, Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// The part of a client that asked for something. Each part counts its own requests and timers; the part
/// in their names keeps them apart, so a host needs one table of each.
public enum ClientPart: UInt8, BitwiseCopyable, Hashable, Sendable {
  /// Follows the log: registers and polls.
  case machine
  /// Sends what the user changed.
  case outbox
  /// Reads and writes the saved form.
  case storage
  /// Fetches what windows lack.
  case pages
}

/// Names one request. The requests of one life and one part count up from 1.
public struct RequestID: BitwiseCopyable, Hashable, Sendable {
  public var life: Life
  public var part: ClientPart
  public var number: UInt64

  @inlinable
  public init(life: Life, part: ClientPart = .machine, number: UInt64) {
    self.life = life
    self.part = part
    self.number = number
  }
}

/// Names one timer of one client. The timers of one part count up from 1.
public struct TimerID: BitwiseCopyable, Hashable, Sendable {
  public var part: ClientPart
  public var number: UInt64

  @inlinable
  public init(part: ClientPart = .machine, _ number: UInt64) {
    self.part = part
    self.number = number
  }
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
  /// The number alone for the machine's: within one machine every request is of one life. Behind the
  /// part's name for the others: "pages 3".
  public var description: String { part == .machine ? "\(number)" : "\(part) \(number)" }
}

extension TimerID: CustomStringConvertible {
  /// As a request's.
  public var description: String { part == .machine ? "\(number)" : "\(part) \(number)" }
}

extension ClientPart: CustomStringConvertible {
  public var description: String {
    switch self {
    case .machine: "machine"
    case .outbox: "outbox"
    case .storage: "storage"
    case .pages: "pages"
    }
  }
}

extension WriteID: CustomStringConvertible {
  public var description: String { "\(number)" }
}
