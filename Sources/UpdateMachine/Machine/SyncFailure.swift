/// What became of a request that did not succeed. Classified once, at the source (DESIGN §5, 5);
/// MACHINE §5 says what each leads to.
public enum SyncFailure: Error, Hashable, Sendable {
  /// No connection, or one that broke.
  case unreachable
  /// The source, or our own deadline, gave up waiting.
  case timedOut
  /// A 5xx, or any answer without the protocol's envelope: a proxy's, a portal's.
  case serverFault
  /// The server asks us to wait; `nil` if it does not say how long. Clamped by the machine.
  case rateLimited(after: TimeSpan?)
  /// The credentials are no longer good. Only the app can go on.
  case unauthorized
  /// The server is too old, or too new. Only an upgrade helps.
  case unsupported
  /// The server does not know the finger's log any more.
  case expired
  /// The server refuses this request for another reason; its code, where it has one.
  case rejected(RejectionCode)
  /// An answer that has the envelope but not what we need, or that does not follow on the finger.
  case malformed
  /// The app's model could not take what came.
  case modelRefused
}

/// A server's own code for a refusal, kept for the report. Equal codes are equal refusals.
public struct RejectionCode: Hashable, Sendable {
  /// The code as the server spells it; empty if it gave none.
  public var text: String

  @inlinable
  public init(_ text: String) { self.text = text }

  /// The server gave none.
  @inlinable
  public static var none: RejectionCode { RejectionCode("") }

  /// Ours: a mutation may be at the server in a name that the app has lost.
  @inlinable
  public static var nameLost: RejectionCode { RejectionCode("NAME_LOST") }
}

extension SyncFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreachable: "unreachable"
    case .timedOut: "timedOut"
    case .serverFault: "serverFault"
    case .rateLimited(nil): "rateLimited"
    case .rateLimited(let after?): "rateLimited(after \(after))"
    case .unauthorized: "unauthorized"
    case .unsupported: "unsupported"
    case .expired: "expired"
    case .rejected(let code): code.text.isEmpty ? "rejected" : "rejected(\(code.text))"
    case .malformed: "malformed"
    case .modelRefused: "modelRefused"
    }
  }
}
