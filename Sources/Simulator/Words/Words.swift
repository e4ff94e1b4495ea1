internal import UpdateMachine

// Words: the room of reading a line of text, word by word, and of what is wrong with it. It knows
// no directive.
//
// Words may use: no other room.

/// The words of one line, read from left to right. A comma or a colon at the end of a word counts
/// as a word of its own.
struct Words {
  let number: Int
  private let line: [UInt8]
  /// Each with its place in the line.
  private var words: [(text: String, start: Int)] = []
  private var index = 0

  init(_ line: String, number: Int) {
    self.number = number
    self.line = Array(line.utf8)
    var start = 0
    for end in 0...self.line.count
    where end == self.line.count || self.line[end] == UInt8(ascii: " ") {
      add(start..<end)
      start = end + 1
    }
  }

  private mutating func add(_ word: Range<Int>) {
    guard let last = line[word].last else { return }
    let isMarked = last == UInt8(ascii: ",") || last == UInt8(ascii: ":")
    let end = isMarked ? word.upperBound - 1 : word.upperBound
    for part in [word.lowerBound..<end, end..<word.upperBound] where !part.isEmpty {
      words.append((String(decoding: line[part], as: UTF8.self), part.lowerBound))
    }
  }

  // MARK: Reading

  /// The next word, without taking it.
  var next: String? { index < words.count ? words[index].text : nil }

  mutating func word(_ expected: String) throws(ScenarioError) -> String {
    guard let word = next else { throw error(expected) }
    index += 1
    return word
  }

  mutating func skip() { index += 1 }

  /// Takes the next word if it equals this one.
  mutating func take(_ word: String) -> Bool {
    guard next == word else { return false }
    index += 1
    return true
  }

  /// Takes these words, one after the other.
  mutating func require(_ all: String...) throws(ScenarioError) {
    for word in all { guard take(word) else { throw error("\"\(word)\"") } }
  }

  /// Takes one of these words.
  mutating func take(oneOf all: [String]) throws(ScenarioError) -> String {
    try value(Words.list(all)) { all.contains($0) ? $0 : nil }
  }

  /// Takes all that is left of the line, as it is written, without spaces around it.
  mutating func rest(_ expected: String) throws(ScenarioError) -> String {
    guard index < words.count else { throw error(expected) }
    var end = line.count
    while line[end - 1] == UInt8(ascii: " ") { end -= 1 }
    defer { index = words.count }
    return String(decoding: line[words[index].start..<end], as: UTF8.self)
  }

  /// "one, two or three".
  static func list(_ all: [String]) -> String {
    guard let last = all.last, all.count > 1 else { return all.first ?? "" }
    return all.dropLast().joined(separator: ", ") + " or " + last
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

  mutating func count(to most: Int) throws(ScenarioError) -> Int {
    try value("a whole number from 1 to \(most)") { word in
      guard let count = Int(word), (1...most).contains(count) else { return nil }
      return count
    }
  }

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

/// A scenario's text is invalid. The error names the line, and what to write there. Nothing after
/// that line was run.
package struct ScenarioError: Error, Equatable {
  /// The line number, from 1.
  package var line: Int
  /// What would have been valid there.
  package var expected: String
  /// What was found instead: a word, or "the end of the line".
  package var found: String

  package init(line: Int, expected: String, found: String) {
    self.line = line
    self.expected = expected
    self.found = found
  }
}

extension ScenarioError: CustomStringConvertible {
  /// A text like "line 3: expected a failure, found "sereverFault"".
  package var description: String { "line \(line): expected \(expected), found \(found)" }
}
