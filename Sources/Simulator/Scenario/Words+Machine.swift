internal import SyncProtocols
internal import UpdateMachine

// What a scenario of machines says besides plain words.

extension Words {
  mutating func finger() throws(ScenarioError) -> QueueFinger {
    try value("a finger such as q1:7", Words.finger)
  }

  mutating func failure() throws(ScenarioError) -> SyncFailure {
    let expected = "a failure such as serverFault"
    switch next {
    case "rateLimited":
      skip()
      guard let word = next, let span = Words.signedSpan(word) else {
        return .rateLimited(after: nil)
      }
      skip()
      return .rateLimited(after: span)
    case "rejected":
      skip()
      guard let code = next, code != ",", code != "then" else { return .rejected(.none) }
      skip()
      return .rejected(RejectionCode(code))
    case "html":
      skip()
      let status = try count(to: 599)
      return ServerAnswer(status: status, result: nil).failure() ?? .serverFault
    case let word?:
      let failure = Words.plainFailures.first { $0.description == word }
      guard let failure else { throw error(expected) }
      skip()
      return failure
    case nil: throw error(expected)
    }
  }

  /// The failures that carry no details.
  private static let plainFailures: [SyncFailure] = [
    .unreachable, .timedOut, .serverFault, .unauthorized, .unsupported, .expired, .malformed,
    .modelRefused,
  ]

  static func finger(_ word: String) -> QueueFinger? {
    let bytes = Array(word.utf8)
    guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
    let last = Int64(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
    guard let last, last >= -1 else { return nil }
    return QueueFinger(
      queue: QueueID(String(decoding: bytes[..<colon], as: UTF8.self)), lastEventID: last)
  }
}

extension MachineSettings {
  /// Sets a setting by its name in TheMachine §1; `false` if there is no such setting, or if the
  /// text is not a value of it.
  mutating func assign(_ name: String, _ text: String) -> Bool {
    switch name {
    case "durable":
      guard text == "yes" || text == "no" else { return false }
      isDurable = text == "yes"
      return true
    case "paceBurst", "wakeBurst":
      guard let count = Int64(text), (0...1_000_000).contains(count) else { return false }
      if name == "paceBurst" { retry.paceBurst = count } else { retry.wakeBurst = count }
      return true
    default:
      guard let span = Words.span(text) else { return false }
      return set(name, to: span)
    }
  }
}
