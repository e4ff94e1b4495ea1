/// One step through a JSON text.
package enum JSONToken {
  case null
  case bool(Bool)
  case text(String)
  case integer(Int64)
  /// Any other number.
  case decimal(JSONDecimal)
  /// An array begins: `hasElement()` comes next.
  case array
  /// An object begins: `name()` comes next.
  case object
}

/// A number as it is written: its digits, which may begin or end with zeros, times ten to the
/// exponent.
package struct JSONDecimal {
  /// Where it begins, in bytes from 0.
  package var start: Int
  package var isNegative: Bool
  package var digits: [UInt8]
  /// Cut off beyond what any number has.
  package var exponent: Int64
}

/// Reads a JSON text (RFC 8259) from its beginning to its end, without recursion and for any type
/// of value. Stricter: surrogates must be paired, and bytes must be UTF-8. Whether names are unique
/// is for the value to say.
package struct JSONReader {
  /// How many bytes are read.
  package private(set) var index = 0
  private let bytes: [UInt8]
  private let depthMaximum: Int
  private var depth = 0
  /// Whether an array or object has just begun.
  private var isFirst = false

  /// - Parameter depthMaximum: the deepest nesting of arrays and objects that is read.
  package init(_ bytes: [UInt8], depthMaximum: Int) {
    self.bytes = bytes
    self.depthMaximum = depthMaximum
  }

  /// Takes a value, or the beginning of one.
  package mutating func token() throws(JSONError) -> JSONToken {
    skipSpace()
    switch try peek() {
    case UInt8(ascii: "\""): return .text(try text())
    case UInt8(ascii: "["):
      try open()
      return .array
    case UInt8(ascii: "{"):
      try open()
      return .object
    case UInt8(ascii: "n"):
      try takeWord("null")
      return .null
    case UInt8(ascii: "t"):
      try takeWord("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try takeWord("false")
      return .bool(false)
    case _: return try number()
    }
  }

  /// Whether the array has one more element, which `token()` takes; else its end is taken.
  package mutating func hasElement() throws(JSONError) -> Bool {
    try goesOn(until: UInt8(ascii: "]"))
  }

  /// The name of the object's next member, whose value `token()` takes; `nil`: its end is taken.
  package mutating func name() throws(JSONError) -> String? {
    guard try goesOn(until: UInt8(ascii: "}")) else { return nil }
    skipSpace()
    let name = try text()
    skipSpace()
    try take(UInt8(ascii: ":"))
    return name
  }

  /// Nothing but space may follow.
  package mutating func end() throws(JSONError) {
    skipSpace()
    guard index == bytes.count else { throw .unexpected(at: index) }
  }

  private mutating func open() throws(JSONError) {
    guard depth < depthMaximum else { throw .tooDeep(at: index) }
    depth += 1
    index += 1
    isFirst = true
  }

  private mutating func goesOn(until end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    let byte = try peek()
    defer { isFirst = false }
    if byte == end {
      index += 1
      depth -= 1
      return false
    }
    if !isFirst { try take(UInt8(ascii: ",")) }
    return true
  }

  private mutating func takeWord(_ word: StaticString) throws(JSONError) {
    for offset in 0..<word.utf8CodeUnitCount {
      try take(unsafe word.utf8Start[offset])
    }
  }

  // MARK: Numbers

  private mutating func number() throws(JSONError) -> JSONToken {
    let start = index
    let isNegative = takeIf(UInt8(ascii: "-"))
    let digits = index
    // Negative, because there is one more negative number than there are positive ones.
    var integer: Int64 = 0
    var isLarge = false
    while let digit = takeDigit() {
      let tenfold = integer.multipliedReportingOverflow(by: 10)
      let sum = tenfold.partialValue.subtractingReportingOverflow(digit)
      isLarge = isLarge || tenfold.overflow || sum.overflow
      integer = sum.partialValue
    }
    guard index > digits else { throw index < bytes.count ? .unexpected(at: index) : .unfinished }
    if index > digits + 1, bytes[digits] == UInt8(ascii: "0") { throw .unexpected(at: start) }
    let isInteger = index == bytes.count || !JSONReader.goesOnNumber(bytes[index])
    guard isInteger, !isLarge, isNegative || integer > .min else {
      return try number(from: start, digits: digits, isNegative: isNegative)
    }
    return .integer(isNegative ? integer : -integer)
  }

  /// Whether a byte after digits belongs to their number.
  private static func goesOnNumber(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
  }

  /// A number that has a point, an exponent or many digits. Those before the point are taken.
  private mutating func number(
    from start: Int, digits: Int, isNegative: Bool
  ) throws(JSONError) -> JSONToken {
    var decimal = JSONDecimal(
      start: start, isNegative: isNegative, digits: Array(bytes[digits..<index]), exponent: 0)
    if takeIf(UInt8(ascii: ".")) {
      let point = index
      try skipDigits()
      decimal.digits += bytes[point..<index]
      decimal.exponent = Int64(point - index)
    }
    if takeIf(UInt8(ascii: "e")) || takeIf(UInt8(ascii: "E")) {
      let isSmall = takeIf(UInt8(ascii: "-"))
      if !isSmall { _ = takeIf(UInt8(ascii: "+")) }
      let first = index
      try skipDigits()
      // A greater exponent is out of range in any case.
      var power: Int64 = 0
      for digit in bytes[first..<index] {
        power = min(power * 10 + Int64(digit & 15), 1_000_000_000_000)
      }
      decimal.exponent += isSmall ? -power : power
    }
    return .decimal(decimal)
  }

  /// Takes one digit, if there is one.
  private mutating func takeDigit() -> Int64? {
    guard index < bytes.count else { return nil }
    let digit = bytes[index] &- UInt8(ascii: "0")
    guard digit < 10 else { return nil }
    index += 1
    return Int64(digit)
  }

  /// Takes one digit or more.
  private mutating func skipDigits() throws(JSONError) {
    let start = index
    while takeDigit() != nil {}
    guard index == start else { return }
    _ = try peek()
    throw .unexpected(at: index)
  }

  // MARK: Texts

  private mutating func text() throws(JSONError) -> String {
    try take(UInt8(ascii: "\""))
    let start = index
    var end = start
    var all: UInt8 = 0
    while end < bytes.count {
      let byte = bytes[end]
      guard byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 else { break }
      all |= byte
      end += 1
    }
    index = end
    guard try peek() == UInt8(ascii: "\"") else { return try textWithEscapes(from: start) }
    index += 1
    // Of ASCII nothing must be checked.
    if all < 0x80 { return String(decoding: bytes[start..<end], as: UTF8.self) }
    return try string(bytes[start..<end], from: start)
  }

  /// The rest of a text in which an escape comes now.
  private mutating func textWithEscapes(from start: Int) throws(JSONError) -> String {
    var text = Array(bytes[start..<index])
    while true {
      let byte = try peek()
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        return try string(text[...], from: start)
      case UInt8(ascii: "\\"): try escape(into: &text)
      case 0..<0x20: throw .unexpected(at: index)
      case _:
        text.append(byte)
        index += 1
      }
    }
  }

  private func string(_ bytes: ArraySlice<UInt8>, from start: Int) throws(JSONError) -> String {
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw .unexpected(at: start)
    }
    return string
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
      text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
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
