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
        .string(words), .null, true, false, written(-1.5e-7, "-1.5e-7"), written(2e21, "2e+21"),
      ])
    case 3: ["": .string(words), "\u{1}\"\\/\n": [:], "é😀": [], "a": [["b": ["c": 0]]]]
    case 5: .string("\(words) \u{0}\t\u{1F}\"\\/ é😀 \u{2028}")
    case 7: .array([.string(words), written(1234.5, "1234.5"), written(0.001, "0.001"), -7])
    default: .string(words)
    }
  }

  /// Returns a number. Traps if it is not written so.
  private static func written(_ number: Double, _ text: String) -> JSONValue {
    guard let number = JSONNumber(number), number.text == text else {
      preconditionFailure("\(number) is \(text) in JSON")
    }
    return .number(number)
  }
}
