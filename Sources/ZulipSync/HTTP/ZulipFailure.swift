public import UpdateMachine

/// Why a request did not succeed. There is nothing in it that the server wrote, but for its codes, and
/// nothing of what was asked.
public struct ZulipFailure: Error, Hashable, Sendable {
  /// What it means for whoever asks again.
  public var failure: SyncFailure
  /// What was seen.
  public var reason: Reason
  /// The HTTP status; `nil`: there was none.
  public var status: Int?
  /// Whether the server may have heard of the request. `false` only if it certainly has not.
  public var hasLeft: Bool

  public enum Reason: Hashable, Sendable {
    /// The task was cancelled.
    case cancelled
    /// The whole answer was not here in time.
    case timedOut
    /// There was no connection.
    case notConnected
    /// The server cannot prove who it is.
    case untrusted
    /// The connection broke.
    case broken
    /// What came is no HTTP.
    case notHTTP
    /// The server sends us elsewhere, as a portal does. Nobody went there.
    case redirected
    /// No JSON object that says what came of it: a proxy's page, nothing, half a body.
    case noEnvelope
    /// More than ``ZulipSettings`` allows.
    case tooLarge
    /// The server says no; its code, if it gave one.
    case refused(RejectionCode)
    /// A success that lacks what it must have.
    case malformed(ZulipError)
    /// The server's feature level, which is too low.
    case tooOld(Int64)
  }

  init(_ failure: SyncFailure, _ reason: Reason, status: Int? = nil, hasLeft: Bool = true) {
    self.failure = failure
    self.reason = reason
    self.status = status
    self.hasLeft = hasLeft
  }
}

extension ZulipFailure: CustomStringConvertible {
  /// "rejected(BAD_NARROW), 400: refused".
  public var description: String {
    "\(failure)\(status.map { ", \($0)" } ?? ""): \(reason)"
  }
}

extension ZulipFailure.Reason: CustomStringConvertible {
  public var description: String {
    switch self {
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .notConnected: "not connected"
    case .untrusted: "untrusted"
    case .broken: "broken"
    case .notHTTP: "no HTTP"
    case .redirected: "redirected"
    case .noEnvelope: "no envelope"
    case .tooLarge: "too large"
    case .refused(let code): code.text.isEmpty ? "refused" : "refused (\(code.text))"
    case .malformed(let error): "\(error)"
    case .tooOld(let level): "feature level \(level)"
    }
  }
}
