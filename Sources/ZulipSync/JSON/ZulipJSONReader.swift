public import Foundation

extension ZulipValue {
  /// Reads one JSON text (RFC 8259, UTF-8). No bytes make it trap, and none take more than memory in
  /// proportion to them.
  ///
  /// Ours, because Foundation's readers are slow on Linux (`Simulations/Benchmarks`), and give numbers
  /// and booleans that cannot be told apart.
  public init(json bytes: Data) throws(ZulipError) {
    var reader = ZulipJSONReader(Array(bytes))
    guard let value = reader.read() else { throw .malformed(path: "") }
    self = value
  }
}

/// Goes through the bytes once.
struct ZulipJSONReader {
  private let bytes: [UInt8]
  private var place = 0
  /// Names come again and again: each text is made once. Where two share a slot, the newer has it.
  private var names: [String] = Array(repeating: "", count: slots)

  /// A power of two. A register has some 400 names, an event 20.
  private static let slots = 256
  /// Objects and lists in one another. A server's have 6; more is an attack on the stack.
  private static let depthMaximum = 100

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// `nil`: it is no JSON.
  mutating func read() -> ZulipValue? {
    guard let value = value(depth: 0) else { return nil }
    skipSpace()
    return place == bytes.count ? value : nil
  }

  private mutating func skipSpace() {
    while place < bytes.count {
      switch bytes[place] {
      case 0x20, 0x0A, 0x0D, 0x09: place += 1
      default: return
      }
    }
  }

  /// Takes this byte, if it stands next.
  private mutating func take(_ byte: UInt8) -> Bool {
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  private mutating func value(depth: Int) -> ZulipValue? {
    skipSpace()
    guard place < bytes.count, depth <= ZulipJSONReader.depthMaximum else { return nil }
    switch bytes[place] {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return list(depth: depth)
    case UInt8(ascii: "\""): return string().map { .text($0) }
    case UInt8(ascii: "t"): return word("true", .bool(true))
    case UInt8(ascii: "f"): return word("false", .bool(false))
    case UInt8(ascii: "n"): return word("null", .null)
    default: return number()
    }
  }

  private mutating func word(_ word: StaticString, _ value: ZulipValue) -> ZulipValue? {
    let isThere = unsafe bytes[place...].starts(
      with: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    guard isThere else { return nil }
    place += word.utf8CodeUnitCount
    return value
  }

  private mutating func list(depth: Int) -> ZulipValue? {
    place += 1
    var elements: [ZulipValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .list([]) }
    while true {
      guard let element = value(depth: depth + 1) else { return nil }
      elements.append(element)
      skipSpace()
      if take(UInt8(ascii: "]")) { return .list(elements) }
      guard take(UInt8(ascii: ",")) else { return nil }
    }
  }

  private mutating func object(depth: Int) -> ZulipValue? {
    place += 1
    var entries: [ZulipFields.Entry] = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return .fields(ZulipFields()) }
    while true {
      skipSpace()
      guard let name = name() else { return nil }
      skipSpace()
      guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
      entries.append(ZulipFields.Entry(name, value))
      skipSpace()
      if take(UInt8(ascii: "}")) { return .fields(ZulipFields(entries)) }
      guard take(UInt8(ascii: ",")) else { return nil }
    }
  }

  /// A text, the same that was made before if it is known.
  private mutating func name() -> String? {
    guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else { return nil }
    var end = place + 1
    var hash: UInt32 = 2_166_136_261
    while end < bytes.count, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") {
      hash = (hash ^ UInt32(bytes[end])) &* 16_777_619
      end += 1
    }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "\"") else { return string() }
    let slot = Int(hash ^ hash >> 15) & (ZulipJSONReader.slots - 1)
    if names[slot].utf8.elementsEqual(bytes[place + 1..<end]) {
      place = end + 1
      return names[slot]
    }
    guard let name = string() else { return nil }
    names[slot] = name
    return name
  }

  private mutating func string() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    let start = place
    var end = start
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        place = end + 1
        return String(validating: bytes[start..<end], as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") {
        place = end
        return escaped(from: start)
      }
      guard byte >= 0x20 else { return nil }
      end += 1
    }
    return nil
  }

  /// The rest of a text that has an escape in it.
  private mutating func escaped(from start: Int) -> String? {
    var utf8 = Array(bytes[start..<place])
    while place < bytes.count {
      let byte = bytes[place]
      place += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validating: utf8, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        utf8.append(contentsOf: Array(String(Character(scalar)).utf8))
      case 0..<0x20: return nil
      default: utf8.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard place < bytes.count else { return nil }
    let byte = bytes[place]
    place += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return codePoint()
    default: return nil
    }
  }

  /// Four digits, or twice four for what is beyond them. Half a pair is nothing.
  private mutating func codePoint() -> Unicode.Scalar? {
    guard let high = fourDigits() else { return nil }
    guard (0xD800..<0xE000).contains(high) else { return Unicode.Scalar(high) }
    guard high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = fourDigits(),
      (0xDC00..<0xE000).contains(low)
    else { return nil }
    return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func fourDigits() -> UInt32? {
    guard place + 4 <= bytes.count else { return nil }
    var number: UInt32 = 0
    for byte in bytes[place..<place + 4] {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt32(byte - 48)
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt32(byte - 87)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt32(byte - 55)
      default: return nil
      }
    }
    place += 4
    return number
  }

  private mutating func number() -> ZulipValue? {
    let start = place
    let isNegative = take(UInt8(ascii: "-"))
    let first = place
    var number: Int64 = 0
    var isWhole = true
    while place < bytes.count, let digit = digit(bytes[place]) {
      let (ten, over) = number.multipliedReportingOverflow(by: 10)
      let (sum, overToo) = ten.subtractingReportingOverflow(digit)
      number = sum
      if over || overToo { isWhole = false }
      place += 1
    }
    guard place > first, bytes[first] != UInt8(ascii: "0") || place == first + 1 else { return nil }
    if take(UInt8(ascii: ".")) {
      isWhole = false
      guard skipDigits() else { return nil }
    }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      isWhole = false
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      guard skipDigits() else { return nil }
    }
    // Counted downwards, for there is one more below 0 than above.
    if isWhole, isNegative { return .number(number) }
    if isWhole, number != .min { return .number(-number) }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    guard let fraction = Double(text), fraction.isFinite else { return nil }
    return .fraction(fraction)
  }

  private mutating func skipDigits() -> Bool {
    let start = place
    while place < bytes.count, digit(bytes[place]) != nil { place += 1 }
    return place > start
  }

  private func digit(_ byte: UInt8) -> Int64? {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) ? Int64(byte - 48) : nil
  }
}
