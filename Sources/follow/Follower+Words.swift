import UpdateMachine
import ZulipSync

// Why there is no connection, in words.

extension Follower {
  /// Why there is no connection to a site, in the detail of the request that failed.
  /// - Parameters:
  ///   - detail: the connection's last failure. Another request than the machine's may have had it.
  ///   - next: the time of the next attempt.
  static func words(
    _ trouble: SyncFailure?, _ detail: ZulipFailure?, at site: String, next: String?
  ) -> String {
    if case .rateLimited = trouble, let next {
      return "too many requests: the server wants none until \(next)"
    }
    guard let detail, detail.failure == trouble else { return words(trouble) }
    switch detail.reason {
    case .unknownHost:
      return "no host is known for \(site): check the address, and this computer's network"
    case .notConnected:
      return "\(site) takes no connection: its port is closed, or the network is down"
    case .untrusted: return "the certificate of \(site) cannot be trusted"
    case .broken: return "the connection to \(site) breaks"
    case .notHTTP: return "no Zulip server is at \(site): what answers there is not HTTP"
    case .redirected:
      return "\(site) redirects to another address, which gets no key: use the server's own "
        + "address, or log in to this network first"
    case .noEnvelope where (detail.status ?? 500) < 500 && trouble == .serverFault:
      return "no Zulip server is at \(site): check the address (HTTP status \(detail.status ?? 0))"
    case .refused, .noEnvelope:
      guard trouble == .serverFault, let status = detail.status else { return words(trouble) }
      return "the server has a fault (HTTP status \(status))"
    case .cancelled, .timedOut, .tooLarge, .malformed, .tooOld, .malformedPath:
      return words(trouble)
    }
  }

  /// Why there is no connection.
  static func words(_ trouble: SyncFailure?) -> String {
    switch trouble {
    case .unreachable, .unauthorized, .unsupported, nil: "the server cannot be reached"
    case .timedOut: "the server does not answer in time"
    case .serverFault: "the server has a fault, or something else answers in its place"
    case .rateLimited: "the server wants fewer requests"
    case .expired: "the server has forgotten this client"
    case .rejected(let code):
      code.text.isEmpty ? "the server refuses the request" : "the server refuses it: \(code.text)"
    case .malformed, .modelRefused: "the server's answer cannot be used"
    }
  }

  /// Why a search has no answer.
  static func words(search failure: ZulipFailure, at site: String) -> String {
    if case .rejected(let code) = failure.failure {
      return "the server refuses the search" + (code.text.isEmpty ? "" : ": \(code.text)")
    }
    return "the search failed: " + words(failure.failure, failure, at: site, next: nil)
  }

  /// Why the server does not list a narrow.
  static func words(refused narrow: NarrowText, _ failure: SyncFailure) -> String {
    let list = narrow.words.isEmpty ? "the messages" : "'\(narrow.words)'"
    if case .rejected(let code) = failure {
      return "the server refuses to list \(list)" + (code.text.isEmpty ? "" : ": \(code.text)")
    }
    return "the server's answer about \(list) cannot be used: \(failure)"
  }

  static func words(_ halt: MachineStatus.Halt) -> String {
    switch halt {
    case .credentials: "the server refuses the key, or the e-mail"
    case .unsupported: "the server is too old: this needs Zulip 7 or later"
    case .stopped: "stopped"
    }
  }
}
