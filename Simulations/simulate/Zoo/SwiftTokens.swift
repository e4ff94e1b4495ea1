// Parses enough of Swift's lexical structure to find where bodies begin and end. It skips comments,
// recognises string literals, and pairs brackets. It does not know regular expressions between
// slashes; none are used here.

/// The tokens of a Swift source.
struct SwiftTokens {
  /// One token: its kind, and its bytes in the text.
  struct Token: Equatable {
    enum Kind: Equatable { case word, literal, mark }
    var kind: Kind
    var range: Range<Int>
  }

  /// An error for brackets that do not match, or a literal without an end.
  struct Malformed: Error, Equatable {
    var line: Int
    var found: String
  }

  let text: [UInt8]
  private(set) var tokens: [Token] = []
  /// For each bracket, the index of its other half; for any other token, -1.
  private(set) var other: [Int] = []

  init(_ text: [UInt8]) throws(Malformed) {
    self.text = text
    var at = 0
    while at < text.count {
      if let end = try skipped(at) {
        at = end
        continue
      }
      let token = try nextToken(at)
      tokens.append(token)
      at = token.range.upperBound
    }
    try matchBrackets()
  }

  /// The text of a token.
  func word(_ index: Int) -> String {
    tokens.indices.contains(index) ? String(decoding: text[tokens[index].range], as: UTF8.self) : ""
  }

  func isMark(_ index: Int, _ mark: String) -> Bool {
    tokens.indices.contains(index) && tokens[index].kind == .mark && word(index) == mark
  }

  /// The number of the line, from 1, that contains a byte.
  func line(of offset: Int) -> Int { 1 + text[..<offset].count { $0 == UInt8(ascii: "\n") } }

  // MARK: One token

  private func has(_ word: String, at offset: Int) -> Bool {
    text[offset...].starts(with: word.utf8)
  }

  /// Returns the end of the blanks or the comment that begins here; `nil`: neither does.
  private func skipped(_ at: Int) throws(Malformed) -> Int? {
    if text[at] == UInt8(ascii: " ") || text[at] == UInt8(ascii: "\n")
      || text[at] == UInt8(ascii: "\t") || text[at] == UInt8(ascii: "\r")
    {
      return at + 1
    }
    if has("//", at: at) { return text[at...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count }
    guard has("/*", at: at) else { return nil }
    var depth = 0
    var end = at
    repeat {
      guard end < text.count else {
        throw Malformed(line: line(of: at), found: "a comment without an end")
      }
      if has("/*", at: end) {
        depth += 1
        end += 2
      } else if has("*/", at: end) {
        depth -= 1
        end += 2
      } else {
        end += 1
      }
    } while depth > 0
    return end
  }

  private func nextToken(_ at: Int) throws(Malformed) -> Token {
    if let end = try endOfString(at) { return Token(kind: .literal, range: at..<end) }
    if text[at] == UInt8(ascii: "`"), let end = text[(at + 1)...].firstIndex(of: text[at]) {
      return Token(kind: .word, range: at..<(end + 1))
    }
    var end = at
    while end < text.count, isWordByte(text[end]) { end += 1 }
    return end > at
      ? Token(kind: .word, range: at..<end) : Token(kind: .mark, range: at..<(at + 1))
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "@"),
      UInt8(ascii: "#"), UInt8(ascii: "$"), 128...:
      true
    default: false
    }
  }

  /// Returns the end of the string literal that begins here, interpolations included; `nil`: none
  /// does.
  private func endOfString(_ at: Int) throws(Malformed) -> Int? {
    let pounds = text[at...].prefix { $0 == UInt8(ascii: "#") }.count
    let quote = at + pounds
    guard quote < text.count, text[quote] == UInt8(ascii: "\"") else { return nil }
    let isLong = has("\"\"\"", at: quote)
    let closing =
      Array(repeating: UInt8(ascii: "\""), count: isLong ? 3 : 1)
      + Array(repeating: UInt8(ascii: "#"), count: pounds)
    let escape = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: pounds)
    var end = quote + (isLong ? 3 : 1)
    while end < text.count {
      if text[end...].starts(with: closing) { return end + closing.count }
      if !isLong, text[end] == UInt8(ascii: "\n") { break }
      guard text[end...].starts(with: escape) else {
        end += 1
        continue
      }
      end += escape.count
      if end < text.count, text[end] == UInt8(ascii: "(") {
        end = try endOfInterpolation(end)
      } else {
        end += 1
      }
    }
    throw Malformed(line: line(of: at), found: "a string without an end")
  }

  /// Returns the end of an interpolation's parentheses, which may contain other strings.
  private func endOfInterpolation(_ at: Int) throws(Malformed) -> Int {
    var depth = 0
    var end = at
    while end < text.count {
      if let next = try skipped(end) {
        end = next
        continue
      }
      let token = try nextToken(end)
      if text[end] == UInt8(ascii: "(") { depth += 1 }
      if text[end] == UInt8(ascii: ")") { depth -= 1 }
      end = token.range.upperBound
      if depth == 0 { return end }
    }
    throw Malformed(line: line(of: at), found: "an interpolation without an end")
  }

  private mutating func matchBrackets() throws(Malformed) {
    other = Array(repeating: -1, count: tokens.count)
    var open: [Int] = []
    for index in tokens.indices where tokens[index].kind == .mark {
      let mark = word(index)
      if "([{".contains(mark) { open.append(index) }
      guard ")]}".contains(mark) else { continue }
      guard let first = open.popLast(), ["()", "[]", "{}"].contains(word(first) + mark) else {
        let place = line(of: tokens[index].range.lowerBound)
        throw Malformed(line: place, found: "\"\(mark)\" without its other half")
      }
      other[first] = index
      other[index] = first
    }
    if let first = open.last {
      throw Malformed(
        line: line(of: tokens[first].range.lowerBound),
        found: "\"\(word(first))\" without its other half")
    }
  }
}
