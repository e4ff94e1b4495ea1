/// The reason why a text is not accepted as JSON. Offsets are in bytes of UTF-8, from 0.
public enum JSONError: Error, Hashable, Sendable {
  /// Something else was expected there, perhaps the end of the text.
  case unexpected(at: Int)
  /// The text ends in the middle of a value.
  case unfinished
  /// Nested deeper than `JSONValue.depthMaximum`.
  case tooDeep(at: Int)
  /// An object has a duplicate name. The offset is where the object ends.
  case duplicateName(at: Int)
  /// An escape that JSON does not have, or half of a surrogate pair.
  case badEscape(at: Int)
  /// A number with an exponent beyond `JSONNumber.exponentMaximum`.
  case numberOutOfRange(at: Int)
}

extension JSONValue {
  /// Parses a JSON text (RFC 8259). Stricter: names must be unique, and surrogates paired.
  public init(parsing text: String) throws(JSONError) {
    var parser = JSONParser(bytes: Array(text.utf8))
    self = try parser.parse()
  }
}

private struct JSONParser {
  let bytes: [UInt8]
  var index = 0
  var depth = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  mutating func parse() throws(JSONError) -> JSONValue {
    let value = try value()
    skipSpace()
    guard index == bytes.count else { throw .unexpected(at: index) }
    return value
  }

  // MARK: Values

  private mutating func value() throws(JSONError) -> JSONValue {
    skipSpace()
    switch try peek() {
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "\""): return .string(try text())
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "{"): return try object()
    case _: return .number(try number())
    }
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for byte in word.utf8 { try take(byte) }
    return value
  }

  private mutating func array() throws(JSONError) -> JSONValue {
    var elements: [JSONValue] = []
    try open()
    if try !closes(with: UInt8(ascii: "]")) {
      repeat { elements.append(try value()) } while try goesOn(until: UInt8(ascii: "]"))
    }
    depth -= 1
    return .array(elements)
  }

  private mutating func object() throws(JSONError) -> JSONValue {
    var members: [JSONObject.Member] = []
    try open()
    if try !closes(with: UInt8(ascii: "}")) {
      repeat {
        skipSpace()
        let name = try text()
        skipSpace()
        try take(UInt8(ascii: ":"))
        members.append(JSONObject.Member(name, try value()))
      } while try goesOn(until: UInt8(ascii: "}"))
    }
    depth -= 1
    guard let object = JSONObject(members) else { throw .duplicateName(at: index - 1) }
    return .object(object)
  }

  private mutating func open() throws(JSONError) {
    guard depth < JSONValue.depthMaximum else { throw .tooDeep(at: index) }
    depth += 1
    index += 1
  }

  /// Whether the array or object ends before its first element.
  private mutating func closes(with end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    guard try peek() == end else { return false }
    index += 1
    return true
  }

  /// Whether another element follows.
  private mutating func goesOn(until end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    let byte = try peek()
    guard byte == UInt8(ascii: ",") || byte == end else { throw .unexpected(at: index) }
    index += 1
    return byte != end
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> JSONNumber {
    let start = index
    let isNegative = takeIf(UInt8(ascii: "-"))
    var digits = try self.digits()
    if digits.count > 1, digits.first == UInt8(ascii: "0") { throw .unexpected(at: start) }
    var exponent: Int64 = 0
    if takeIf(UInt8(ascii: ".")) {
      let fraction = try self.digits()
      digits += fraction
      exponent = -Int64(fraction.count)
    }
    if takeIf(UInt8(ascii: "e")) || takeIf(UInt8(ascii: "E")) {
      let isSmall = takeIf(UInt8(ascii: "-"))
      if !isSmall { _ = takeIf(UInt8(ascii: "+")) }
      // A greater exponent is out of range in any case.
      let power = try self.digits().reduce(0 as Int64) {
        min($0 * 10 + Int64($1 - UInt8(ascii: "0")), 1_000_000_000_000)
      }
      exponent += isSmall ? -power : power
    }
    guard let number = JSONNumber(isNegative: isNegative, digits: digits, exponent: exponent)
    else { throw .numberOutOfRange(at: start) }
    return number
  }

  /// Takes one digit or more.
  private mutating func digits() throws(JSONError) -> ArraySlice<UInt8> {
    let start = index
    while index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9")
    {
      index += 1
    }
    if index == start {
      _ = try peek()
      throw .unexpected(at: index)
    }
    return bytes[start..<index]
  }

  // MARK: Texts

  private mutating func text() throws(JSONError) -> String {
    try take(UInt8(ascii: "\""))
    var text: [UInt8] = []
    while true {
      let byte = try peek()
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(into: &text)
      case 0..<0x20: throw .unexpected(at: index)
      case _:
        text.append(byte)
        index += 1
      }
    }
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
    let start = index
    index += 1
    let byte = try peek()
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "u"):
      var code = try fourDigits(from: start)
      if code >> 10 == 0xD800 >> 10 {
        guard takeIf(UInt8(ascii: "\\")), takeIf(UInt8(ascii: "u")) else {
          throw .badEscape(at: start)
        }
        let low = try fourDigits(from: start)
        guard low >> 10 == 0xDC00 >> 10 else { throw .badEscape(at: start) }
        code = 0x10000 + (code & 0x3FF) << 10 + (low & 0x3FF)
      }
      guard let scalar = Unicode.Scalar(code) else { throw .badEscape(at: start) }
      text += String(Character(scalar)).utf8
    case _: throw .badEscape(at: start)
    }
  }

  private mutating func fourDigits(from start: Int) throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      switch try peek() {
      case let byte where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"):
        code = code << 4 | UInt32(byte - UInt8(ascii: "0"))
      case let byte where byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"):
        code = code << 4 | UInt32(byte | 0x20 - UInt8(ascii: "a") + 10)
      case _: throw .badEscape(at: start)
      }
      index += 1
    }
    return code
  }

  // MARK: Bytes

  private func peek() throws(JSONError) -> UInt8 {
    guard index < bytes.count else { throw .unfinished }
    return bytes[index]
  }

  private mutating func take(_ byte: UInt8) throws(JSONError) {
    guard try peek() == byte else { throw .unexpected(at: index) }
    index += 1
  }

  private mutating func takeIf(_ byte: UInt8) -> Bool {
    guard index < bytes.count, bytes[index] == byte else { return false }
    index += 1
    return true
  }

  private mutating func skipSpace() {
    while index < bytes.count {
      switch bytes[index] {
      case 0x20, 0x09, 0x0A, 0x0D: index += 1
      case _: return
      }
    }
  }
}
