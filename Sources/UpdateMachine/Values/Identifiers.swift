/// One incarnation: one start of one replica. The host gives each a number that no other
/// incarnation of the same client has used (TheMachine §1). So a late answer to an earlier one is
/// never taken for an answer to this one.
public struct Incarnation: BitwiseCopyable, Hashable, Sendable {
  /// The number that the host gave. It has no order or other meaning.
  @usableFromInline package var number: UInt64

  /// Creates an incarnation from a number that no other one of the client has used.
  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// The part of a client that asked for something. Each part numbers its own requests and timers.
/// Their IDs name the part, so a host needs one table of each.
@usableFromInline
package enum ClientPart: UInt8, BitwiseCopyable, Hashable, Sendable {
  /// Follows the log: registers and polls.
  case machine
  /// Sends the user's changes.
  case outbox
  /// Reads and writes the saved form.
  case storage
  /// Fetches what windows are missing.
  case pages
}

/// Identifies one request. Requests are numbered from 1 within one incarnation and part.
public struct RequestID: BitwiseCopyable, Hashable, Sendable {
  @usableFromInline package var incarnation: Incarnation
  @usableFromInline package var part: ClientPart
  @usableFromInline package var number: UInt64

  @inlinable
  package init(incarnation: Incarnation, part: ClientPart = .machine, number: UInt64) {
    self.incarnation = incarnation
    self.part = part
    self.number = number
  }
}

/// Identifies one timer of a client. Timers are numbered from 1 within one part.
public struct TimerID: BitwiseCopyable, Hashable, Sendable {
  @usableFromInline package var part: ClientPart
  @usableFromInline package var number: UInt64

  @inlinable
  package init(part: ClientPart = .machine, _ number: UInt64) {
    self.part = part
    self.number = number
  }
}

/// Identifies one write of a machine. Writes are numbered from 1.
public struct WriteID: Hashable, Sendable {
  @usableFromInline package var number: UInt64

  @inlinable
  package init(_ number: UInt64) { self.number = number }
}

extension Incarnation: CustomStringConvertible {
  public var description: String { "incarnation \(number)" }
}

extension RequestID: CustomStringConvertible {
  /// Just the number for the machine's requests, because one machine has only one incarnation.
  /// Other parts put their name first: "pages 3".
  public var description: String { part == .machine ? "\(number)" : "\(part) \(number)" }
}

extension TimerID: CustomStringConvertible {
  /// Written like a request's.
  public var description: String { part == .machine ? "\(number)" : "\(part) \(number)" }
}

extension ClientPart: CustomStringConvertible {
  @usableFromInline package var description: String {
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

/// An outbox's name at its server. Drawn once, when the outbox is made, and saved with it. Two
/// outboxes with one ID would mistake each other's mutations for their own.
public struct ClientID: BitwiseCopyable, Hashable, Sendable {
  /// The number that was drawn. It has no order or other meaning.
  public var number: UInt64

  /// Creates a client's ID from a number that no other outbox has.
  @inlinable
  public init(_ number: UInt64) { self.number = number }

  /// Stands for the name of an outbox that has none before the first snapshot. It sends nothing, so
  /// no server hears this number from us.
  @inlinable
  package static var nameless: ClientID { ClientID(0) }
}
