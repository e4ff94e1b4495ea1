/// HTTP's grammar of single bytes and words (RFC 9110, 5.6; RFC 9112, 2 to 5).
enum HTTPText {
  static let carriageReturn = UInt8(ascii: "\r")
  static let lineFeed = UInt8(ascii: "\n")
  static let space = UInt8(ascii: " ")
  static let tab = UInt8(ascii: "\t")

  /// Whether a byte may occur in a token: a method, or the name of a field.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
    default: false
    }
  }

  static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { isToken($0) }
  }

  /// Whether a byte may occur in a field's value: anything but control characters, except tab.
  static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == tab }

  /// Whether a byte may occur in a request's target. A fragment is never sent.
  static func isTarget(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#")
  }

  static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  static func lowered(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes.map { lowered($0) }, as: UTF8.self)
  }

  static func equal(_ one: String, _ other: String) -> Bool {
    one.utf8.elementsEqual(other.utf8) { lowered($0) == lowered($1) }
  }

  /// Returns the bytes without spaces and tabs at both ends.
  static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
    let rest = bytes.drop { $0 == space || $0 == tab }
    guard let last = rest.lastIndex(where: { $0 != space && $0 != tab }) else {
      return rest[rest.endIndex...]
    }
    return rest[...last]
  }

  /// Decodes UTF-8. Bytes that are not UTF-8 are read as Latin-1, so that none is lost.
  static func text(_ bytes: some Collection<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Decodes `%41` and the like. Returns `nil` if an escape is malformed, or if the result is not
  /// UTF-8.
  ///
  /// - Parameter plusIsSpace: whether `+` means a space, as in forms.
  static func percentDecoded(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String? {
    var decoded: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(hexadecimal),
          let low = rest.popFirst().flatMap(hexadecimal)
        else { return nil }
        decoded.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: decoded.append(space)
      default: decoded.append(byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }
}
