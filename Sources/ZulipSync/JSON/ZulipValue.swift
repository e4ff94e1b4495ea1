// JSON: a server's JSON as a value, decoding of types from it, and errors in it. The
// bytes are read by the parser of SyncProtocols.
//
// JSON may use: no other room.

/// Any JSON value. Fields that are unknown here are kept as they came.
public enum ZulipValue: Hashable, Sendable {
  /// The literal `null`.
  case null
  /// The literal `true` or `false`.
  case bool(Bool)
  /// An integer of 64 bits.
  case number(Int64)
  /// Any other number, always finite. One beyond 64 bits is rounded to the nearest `Double`.
  case fraction(Double)
  /// A string.
  case text(String)
  /// An array, in the server's order.
  case list([ZulipValue])
  /// An object.
  case fields(ZulipFields)
}

// MARK: Typed access

extension ZulipValue {
  /// The Boolean; `nil` for any other value, also for 0 and 1.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The number, also of a fraction that is whole. `nil` for large ones, whose exact digits are
  /// unknown.
  public var number: Int64? {
    switch self {
    case .number(let number): number
    case .fraction(let fraction):
      fraction.magnitude < 0x1p53 ? Int64(exactly: fraction) : nil
    case .null, .bool, .text, .list, .fields: nil
    }
  }

  /// The string; `nil` for any other value.
  public var text: String? { if case .text(let text) = self { text } else { nil } }

  /// The array's elements; `nil` for any other value.
  public var list: [ZulipValue]? { if case .list(let list) = self { list } else { nil } }

  /// The object's fields; `nil` for any other value.
  public var fields: ZulipFields? { if case .fields(let fields) = self { fields } else { nil } }

  /// The numbers of a list; `nil` if an element is not a number.
  public var numbers: [Int64]? {
    guard let list else { return nil }
    var numbers: [Int64] = []
    numbers.reserveCapacity(list.count)
    for element in list {
      guard let number = element.number else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  /// Whether this value may replace the other one. The server never changes a setting's type, with
  /// two exceptions: an unset value, and a group, which is a number or an object.
  func isOfKind(of other: ZulipValue) -> Bool {
    switch (self, other) {
    case (.null, _), (_, .null), (.bool, .bool), (.text, .text), (.list, .list), (.fields, .fields),
      (.number, .number), (.number, .fraction), (.fraction, .number), (.fraction, .fraction),
      (.number, .fields), (.fields, .number):
      true
    case (.bool, _), (.text, _), (.list, _), (.fields, _), (.number, _), (.fraction, _): false
    }
  }
}

// No `nil` literal: for an optional value it would be ambiguous, no value or `null`.
extension ZulipValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .number(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(arrayLiteral elements: ZulipValue...) { self = .list(elements) }

  public init(dictionaryLiteral elements: (String, ZulipValue)...) {
    self = .fields(ZulipFields(elements.map { ZulipFields.Entry($0.0, $0.1) }))
  }
}

// MARK: Text

extension ZulipValue: CustomStringConvertible {
  /// The JSON text, with names in ascending order: equal values have equal texts.
  public var description: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let bool): text += bool ? "true" : "false"
    case .number(let number): text += "\(number)"
    case .fraction(let fraction): text += "\(fraction)"
    case .text(let string): ZulipValue.write(string, to: &text)
    case .list(let list):
      text += "["
      for (index, element) in list.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .fields(let fields):
      text += "{"
      for (index, entry) in fields.entries.enumerated() {
        if index > 0 { text += "," }
        ZulipValue.write(entry.name, to: &text)
        text += ":"
        entry.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
