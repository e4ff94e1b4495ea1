public import UpdateMachine

/// The failure of a request. It shows no text from the server except its codes, and nothing from
/// the request.
public struct ZulipFailure: Error, Hashable, Sendable {
  /// What the failure means for the next request.
  public var failure: SyncFailure
  /// What was observed.
  public var reason: Reason
  /// The HTTP status; `nil` if there was none.
  package var status: Int?
  /// The server's own words about a refusal, for the user who asked; empty if there are none. They
  /// may name what was asked for, so no description has them.
  package var words = ""
  /// Whether the server may have received the request. `false` only if it certainly has not.
  public var hasLeft: Bool

  /// What was observed. Several reasons can mean the same failure.
  public enum Reason: Hashable, Sendable {
    /// The task was cancelled.
    case cancelled
    /// The whole answer did not arrive before the deadline.
    case timedOut
    /// No connection could be made.
    case notConnected
    /// The host's name has no address, or there is no network to ask for it.
    case unknownHost
    /// The server cannot prove its identity.
    case untrusted
    /// The connection broke.
    case broken
    /// The answer is not HTTP.
    case notHTTP
    /// The server redirects, as a captive portal does. The redirection was not followed.
    case redirected
    /// The answer is not a JSON object with a `result`: a proxy's page, nothing, half a body.
    case noEnvelope
    /// The answer is larger than ``ZulipSettings`` allows.
    case tooLarge
    /// The server refused the request; with its code, if it gave one.
    case refused(RejectionCode)
    /// The answer is a success that lacks a required field.
    case malformed(ZulipError)
    /// The server's feature level is too low.
    case tooOld(Int64)
    /// The path of a request to ``ZulipConnection/ask(_:_:_:within:)`` is not allowed. Nothing was
    /// sent.
    case malformedPath
  }

  init(_ failure: SyncFailure, _ reason: Reason, status: Int? = nil, hasLeft: Bool = true) {
    self.failure = failure
    self.reason = reason
    self.status = status
    self.hasLeft = hasLeft
  }
}

extension ZulipFailure {
  /// What it means for a change: a refusal without a code of its own has the server's words in its
  /// place, because they are all that says why.
  var failureOfChange: SyncFailure {
    guard case .rejected(let code) = failure, code == .badRequest || code.text.isEmpty,
      !words.isEmpty
    else { return failure }
    return .rejected(RejectionCode(String(words.prefix(ZulipFailure.wordsMaximum))))
  }

  /// The most characters of a refusal that are kept with a change.
  private static var wordsMaximum: Int { 300 }
}

extension RejectionCode {
  /// Zulip's code for whatever has no code of its own.
  static var badRequest: RejectionCode { RejectionCode("BAD_REQUEST") }
}

extension ZulipFailure: CustomStringConvertible, CustomReflectable {
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

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
    case .unknownHost: "unknown host"
    case .untrusted: "untrusted"
    case .broken: "broken"
    case .notHTTP: "no HTTP"
    case .redirected: "redirected"
    case .noEnvelope: "no envelope"
    case .tooLarge: "too large"
    case .refused(let code): code.text.isEmpty ? "refused" : "refused (\(code.text))"
    case .malformed(let error): "\(error)"
    case .tooOld(let level): "feature level \(level)"
    case .malformedPath: "malformed path"
    }
  }
}
