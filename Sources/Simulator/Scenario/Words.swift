internal import SyncProtocols
internal import UpdateMachine

/// The words of one line, read from left to right. A comma or a colon at the end of a word counts
/// as a word of its own.
struct Words {
  let number: Int
  private var words: [String] = []
  private var index = 0

  init(_ line: String, number: Int) {
    self.number = number
    var word: [UInt8] = []
    func end(_ words: inout [String]) {
      var mark: UInt8?
      if let last = word.last, last == UInt8(ascii: ",") || last == UInt8(ascii: ":") {
        mark = last
        word.removeLast()
      }
      if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
      if let mark { words.append(String(decoding: [mark], as: UTF8.self)) }
      word = []
    }
    for byte in line.utf8 {
      if byte == UInt8(ascii: " ") { end(&words) } else { word.append(byte) }
    }
    end(&words)
  }

  // MARK: Reading

  /// The next word, without taking it.
  var next: String? { index < words.count ? words[index] : nil }

  mutating func word(_ expected: String) throws(ScenarioError) -> String {
    guard let word = next else { throw error(expected) }
    index += 1
    return word
  }

  /// Takes the next word if it equals this one.
  mutating func take(_ word: String) -> Bool {
    guard next == word else { return false }
    index += 1
    return true
  }

  mutating func require(_ word: String) throws(ScenarioError) {
    guard take(word) else { throw error("\"\(word)\"") }
  }

  func requireEnd() throws(ScenarioError) {
    guard next == nil else { throw error("the end of the line") }
  }

  /// The error that something else was expected in place of the next word.
  func error(_ expected: String) -> ScenarioError {
    ScenarioError(
      line: number, expected: expected, found: next.map { "\"\($0)\"" } ?? "the end of the line")
  }

  /// Takes the next word if `parse` accepts it.
  mutating func value<Value>(
    _ expected: String, _ parse: (String) -> Value?
  ) throws(ScenarioError) -> Value {
    guard let word = next, let value = parse(word) else { throw error(expected) }
    index += 1
    return value
  }

  // MARK: Values

  mutating func span() throws(ScenarioError) -> TimeSpan {
    try value("a span of time such as 50ms, 10s, 10min, 1h or 7d", Words.span)
  }

  mutating func finger() throws(ScenarioError) -> QueueFinger {
    try value("a finger such as q1:7", Words.finger)
  }

  mutating func count(to most: Int) throws(ScenarioError) -> Int {
    try value("a whole number from 1 to \(most)") { word in
      guard let count = Int(word), (1...most).contains(count) else { return nil }
      return count
    }
  }

  mutating func failure() throws(ScenarioError) -> SyncFailure {
    let expected = "a failure such as serverFault"
    switch next {
    case "rateLimited":
      index += 1
      guard let word = next, let span = Words.signedSpan(word) else {
        return .rateLimited(after: nil)
      }
      index += 1
      return .rateLimited(after: span)
    case "rejected":
      index += 1
      guard let code = next, code != ",", code != "then" else { return .rejected(.none) }
      index += 1
      return .rejected(RejectionCode(code))
    case "html":
      index += 1
      let status = try count(to: 599)
      return ServerAnswer(status: status, result: nil).failure() ?? .serverFault
    case let word?:
      let failure = Words.plainFailures.first { $0.description == word }
      guard let failure else { throw error(expected) }
      index += 1
      return failure
    case nil: throw error(expected)
    }
  }

  /// The failures that carry no details.
  private static let plainFailures: [SyncFailure] = [
    .unreachable, .timedOut, .serverFault, .unauthorized, .unsupported, .expired, .malformed,
    .modelRefused,
  ]

  static func span(_ word: String) -> TimeSpan? {
    guard let span = signedSpan(word), span >= .zero else { return nil }
    return span
  }

  /// A whole number and its unit. It may be negative, because servers send such numbers.
  static func signedSpan(_ word: String) -> TimeSpan? {
    let bytes = Array(word.utf8)
    let unitStart = bytes.firstIndex { ($0 < 0x30 || $0 > 0x39) && $0 != UInt8(ascii: "-") }
    guard let unitStart else { return nil }
    let unit: Int64
    switch String(decoding: bytes[unitStart...], as: UTF8.self) {
    case "ms": unit = 1
    case "s": unit = 1000
    case "min": unit = 60_000
    case "h": unit = 3_600_000
    case "d": unit = 86_400_000
    default: return nil
    }
    guard let number = Int64(String(decoding: bytes[..<unitStart], as: UTF8.self)) else {
      return nil
    }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : .milliseconds(milliseconds)
  }

  static func finger(_ word: String) -> QueueFinger? {
    let bytes = Array(word.utf8)
    guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
    let last = Int64(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
    guard let last, last >= -1 else { return nil }
    return QueueFinger(
      queue: QueueID(String(decoding: bytes[..<colon], as: UTF8.self)), lastEventID: last)
  }

  /// Splits "spread=30s" in two; `nil` if there is no equals sign.
  static func pair(_ word: String) -> (name: String, value: String)? {
    let bytes = Array(word.utf8)
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    return (
      String(decoding: bytes[..<equals], as: UTF8.self),
      String(decoding: bytes[(equals + 1)...], as: UTF8.self)
    )
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
