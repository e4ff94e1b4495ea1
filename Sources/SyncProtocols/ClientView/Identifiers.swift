public import UpdateMachine

/// Names one client of a user. A client keeps its ID for as long as it keeps its state; one that lost
/// its state, or logged out, is another client.
public struct ClientID: Hashable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }
}

/// Numbers a client's mutations as they are pushed: from 1, without holes. 0 names none.
public struct MutationID: Hashable, Comparable, Sendable {
  public var number: UInt64

  @inlinable
  public init(_ number: UInt64) { self.number = number }

  /// Before every mutation.
  @inlinable
  public static var none: MutationID { MutationID(0) }

  @inlinable
  public static func < (one: MutationID, other: MutationID) -> Bool { one.number < other.number }
}

extension ClientID: CustomStringConvertible {
  public var description: String { "client \(number)" }
}

extension MutationID: CustomStringConvertible {
  public var description: String { "\(number)" }
}

/// A mutation that the server will never run, and why.
public struct MutationRefusal: Hashable, Sendable {
  public var id: MutationID
  public var code: RejectionCode

  @inlinable
  public init(_ id: MutationID, _ code: RejectionCode = .none) {
    self.id = id
    self.code = code
  }
}

extension MutationRefusal: CustomStringConvertible {
  public var description: String {
    code.text.isEmpty ? "refused \(id)" : "refused \(id) (\(code.text))"
  }
}
