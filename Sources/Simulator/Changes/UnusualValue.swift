package import SyncProtocols

/// Values as apps seldom write them, so that everything which JSON can say is sent, applied, saved
/// and read again: nesting, fractions and exponents, empty names, control characters.
package enum UnusualValue {
  /// Returns a value that contains some words; every other one is no plain string.
  ///
  /// - Parameters:
  ///   - words: what tells it from others.
  ///   - number: which shape it has.
  package static func value(_ words: String, _ number: Int64) -> JSONValue {
    switch number & 7 {
    case 1:
      .array([
        .string(words), .null, true, false, numeral("-1.5e-7"), numeral("2e+21"),
      ])
    case 3: ["": .string(words), "\u{1}\"\\/\n": [:], "é😀": [], "a": [["b": ["c": 0]]]]
    case 5: .string("\(words) \u{0}\t\u{1F}\"\\/ é😀 \u{2028}")
    case 7: .array([.string(words), numeral("1234.5"), numeral("0.001"), -7])
    default: .string(words)
    }
  }

  /// Reads a number. Traps if it is not written as it was read.
  private static func numeral(_ text: String) -> JSONValue {
    guard let value = try? JSONValue(parsing: text), value.description == text else {
      preconditionFailure("\(text) is a number in JSON, and this is how it is written")
    }
    return value
  }
}
