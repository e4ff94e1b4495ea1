import UpdateMachine

// Why there is no connection, in words.

extension Follower {
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
