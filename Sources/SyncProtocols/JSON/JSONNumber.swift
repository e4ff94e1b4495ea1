/// A JSON number: decimal, exact, and with one spelling, so that equal numbers are the same text on
/// every platform. 1, 1.0 and 10e-1 are equal; −0 is 0.
///
/// The spelling is that of ECMAScript's `Number::toString`, without redundant zeros: plain from
/// 10⁻⁶ up to below 10²¹, else with an exponent. Unlike there, no digit is ever rounded away.
public struct JSONNumber: Hashable, Sendable {
  /// Valid JSON text.
  public let text: String

  /// The greatest exponent, positive or negative. It is out of all practical range, and keeps
  /// arithmetic from overflowing.
  @inlinable
  package static var exponentMaximum: Int64 { 999_999 }

  /// Creates an integer, exactly.
  public init(_ number: Int64) { text = "\(number)" }

  /// The number, if it is an integer and fits.
  @usableFromInline package var int64: Int64? { Int64(text) }

  /// `nil`: the exponent is too great.
  init?(_ number: JSONDecimal) {
    var exponent = number.exponent
    var kept = Array(number.digits.drop { $0 == JSONNumber.zero })
    while kept.last == JSONNumber.zero {
      kept.removeLast()
      exponent += 1
    }
    guard !kept.isEmpty else {
      text = "0"
      return
    }
    let point = Int64(kept.count) + exponent  // How many digits precede the point.
    guard abs(point - 1) <= JSONNumber.exponentMaximum else { return nil }
    let plain = JSONNumber.plain(kept, point: point) ?? JSONNumber.scaled(kept, point: point)
    text = (number.isNegative ? "-" : "") + String(decoding: plain, as: UTF8.self)
  }

  private static var zero: UInt8 { UInt8(ascii: "0") }
  private static var dot: UInt8 { UInt8(ascii: ".") }

  /// The digits without an exponent; `nil` if that needs too many zeros.
  private static func plain(_ digits: [UInt8], point: Int64) -> [UInt8]? {
    guard -6 < point, point <= 21 else { return nil }
    let point = Int(point)
    if point <= 0 {
      return [zero, dot] + [UInt8](repeating: zero, count: -point) + digits
    }
    if point >= digits.count {
      return digits + [UInt8](repeating: zero, count: point - digits.count)
    }
    return digits[..<point] + [dot] + digits[point...]
  }

  private static func scaled(_ digits: [UInt8], point: Int64) -> [UInt8] {
    var text = [digits[0]]
    if digits.count > 1 { text += [dot] + digits[1...] }
    text += "e\(point > 0 ? "+" : "")\(point - 1)".utf8
    return text
  }
}

extension JSONNumber: CustomStringConvertible {
  public var description: String { text }
}

#if !hasFeature(Embedded)
  extension JSONNumber {
    /// The shortest decimal that reads back as this number; `nil`: it is not finite.
    public init?(_ number: Double) {
      guard number.isFinite, case .number(let parsed)? = try? JSONValue(parsing: "\(number)") else {
        return nil
      }
      self = parsed
    }

    /// The nearest `Double`.
    public var double: Double { Double(text) ?? .nan }
  }
#endif
