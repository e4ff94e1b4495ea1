// Prints compact text: no spaces, members in order, and only the escapes that JSON requires.

extension JSONValue: CustomStringConvertible {
  /// Compact JSON text. Equal values have equal text.
  public var description: String {
    var bytes: [UInt8] = []
    print(into: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func print(into bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let bool): bytes += (bool ? "true" : "false").utf8
    case .number(let number): bytes += number.text.utf8
    case .string(let string): JSONValue.print(text: string, into: &bytes)
    case .array(let array):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in array.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.print(into: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in object.members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONValue.print(text: member.name, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.print(into: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func print(text: String, into bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if escapedLength(of: byte) == 1 {
        bytes.append(byte)
        continue
      }
      bytes.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: bytes.append(UInt8(ascii: "b"))
      case 0x09: bytes.append(UInt8(ascii: "t"))
      case 0x0A: bytes.append(UInt8(ascii: "n"))
      case 0x0C: bytes.append(UInt8(ascii: "f"))
      case 0x0D: bytes.append(UInt8(ascii: "r"))
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
      case _:
        bytes += byte < 0x10 ? "u000".utf8 : "u001".utf8
        bytes += String(byte & 0x0F, radix: 16).utf8
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// The number of bytes that one byte of a text becomes.
  @inlinable
  static func escapedLength(of byte: UInt8) -> Int64 {
    switch byte {
    case 0x08, 0x09, 0x0A, 0x0C, 0x0D, UInt8(ascii: "\""), UInt8(ascii: "\\"): 2
    case 0..<0x20: 6
    case _: 1
    }
  }

  /// The length in bytes of a text written as JSON, with its quotes.
  @inlinable
  static func byteCount(ofText text: String) -> Int64 {
    text.utf8.reduce(2) { $0 + escapedLength(of: $1) }
  }
}

extension JSONValue {
  /// The length of its ``description`` in UTF-8. O(its size).
  public var byteCount: Int64 {
    switch self {
    case .null, .bool(true): 4
    case .bool(false): 5
    case .number(let number): Int64(number.text.utf8.count)
    case .string(let string): JSONValue.byteCount(ofText: string)
    case .array(let array):
      array.reduce(Int64(2 + max(0, array.count - 1))) { $0 + $1.byteCount }
    case .object(let object):
      object.members.reduce(Int64(2 + max(0, object.members.count - 1))) {
        $0 + JSONValue.byteCount(ofText: $1.name) + 1 + $1.value.byteCount
      }
    }
  }
}
