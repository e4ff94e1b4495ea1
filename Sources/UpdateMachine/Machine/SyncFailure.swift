/// Why a request failed. The source classifies it once (TheMachine §2); TheMachine §5 says what
/// each leads to.
public enum SyncFailure: Error, Hashable, Sendable {
  /// No connection, or a broken one.
  case unreachable
  /// The source, or our own deadline, gave up waiting.
  case timedOut
  /// A 5xx, or an answer without the protocol's envelope, for example a proxy's or a captive
  /// portal's.
  case serverFault
  /// The server asks us to wait; `nil` if it does not say how long. The machine clamps it.
  case rateLimited(after: TimeSpan?)
  /// The credentials are no longer valid. Only the app can go on.
  case unauthorized
  /// The server is too old, or too new. Only an upgrade helps.
  case unsupported
  /// The server no longer knows the finger's log.
  case expired
  /// The server refuses this request for another reason, with a code, if it gave one.
  case rejected(RejectionCode)
  /// An answer with the envelope but without what we need, or that does not follow the finger.
  case malformed
  /// The app's model could not take the answer.
  case modelRefused
}

/// A server's own code for a refusal, kept for the report. Equal codes are equal refusals.
public struct RejectionCode: Hashable, Sendable {
  /// The code as the server spells it; empty if it gave none.
  public var text: String

  /// Creates a code from the server's own text, unchanged.
  @inlinable
  public init(_ text: String) { self.text = text }

  /// The server gave none.
  @inlinable
  package static var none: RejectionCode { RejectionCode("") }

  /// Our own code: a mutation may be at the server under a name that the app has lost.
  @inlinable
  public static var nameLost: RejectionCode { RejectionCode("NAME_LOST") }

  /// Our own code: a mutation could not be read for a while, and may be at the server.
  @inlinable
  public static var unreadable: RejectionCode { RejectionCode("UNREADABLE") }

  /// Our own code: a push of one mutation alone is too large for the server.
  @inlinable
  public static var tooLarge: RejectionCode { RejectionCode("TOO_LARGE") }
}

extension RejectionCode: CustomStringConvertible {
  /// A sentence about the code. The server's own text is ``text``.
  public var description: String {
    switch self {
    case .none: "The server gave no code. Its log may say more."
    case .nameLost:
      "The change may be at the server, under a client ID that was lost. Retry or discard it."
    case .unreadable:
      "The change could not be read for a while, and may be at the server. Retry or discard it."
    case .tooLarge:
      "The change is too large for the server. Discard it, and make a smaller one."
    default:
      isProse
        ? "The server refuses it in words of its own."
        : "The server's code is \(text). Its documentation says what helps."
    }
  }

  /// Whether it is a text for the user, who made the request that it may quote. No description
  /// shows that.
  fileprivate var isProse: Bool { text.utf8.contains(UInt8(ascii: " ")) }
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
    case .rejected(let code) where code.text.isEmpty || code.isProse: "rejected"
    case .rejected(let code): "rejected(\(code.text))"
    case .malformed: "malformed"
    case .modelRefused: "modelRefused"
    }
  }
}
