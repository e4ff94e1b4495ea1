/// The parameters of a request, in order.
package struct ZulipForm: Sendable {
  /// The parameters, joined by `&`. Each byte that is not a letter, a digit or one of `-._~` is
  /// percent-encoded. This is valid in a query and in a body.
  package private(set) var encoded = ""

  init() {}

  /// Adds a parameter, as Zulip expects it: a text as it is, everything else as JSON. `nil` adds
  /// nothing.
  mutating func add(_ name: String, _ value: ZulipValue?) {
    guard let value else { return }
    if !encoded.isEmpty { encoded += "&" }
    encoded += ZulipForm.encode(name) + "=" + ZulipForm.encode(value.text ?? value.description)
  }

  private static let digits = Array("0123456789ABCDEF".utf8)

  /// Percent-encodes the text, for a query, a body or a part of a path.
  static func encode(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        bytes.append(byte)
      default:
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
