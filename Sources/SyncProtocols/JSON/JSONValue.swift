public import UpdateMachine

// JSON: the room of a JSON value whose equal values have equal bytes, with its parser and printer.
//
// JSON may use: no other room.

/// A JSON value whose equal values have equal bytes: each number has one spelling, and members of
/// objects have one order. Texts are compared by their bytes.
public enum JSONValue: Sendable {
  /// The literal `null`.
  case null
  /// The literal `true` or `false`.
  case bool(Bool)
  /// A number, exact and in its one spelling.
  case number(JSONNumber)
  /// A text, compared by its UTF-8 bytes.
  case string(String)
  /// An array, in order.
  case array([JSONValue])
  /// An object, whose members have one order.
  case object(JSONObject)

  /// The deepest nesting that is parsed. More would need a larger stack than WebAssembly has.
  @inlinable
  package static var depthMaximum: Int { 64 }
}

// MARK: Reading

extension JSONValue {
  /// The Boolean; `nil` for any other value.
  @inlinable
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The number, of any size; `nil` for any other value.
  @inlinable
  public var number: JSONNumber? { if case .number(let number) = self { number } else { nil } }

  /// The number, if it is an integer and fits.
  @inlinable
  public var int64: Int64? { number?.int64 }

  /// The text; `nil` for any other value.
  @inlinable
  public var string: String? { if case .string(let string) = self { string } else { nil } }

  /// The elements; `nil` for any other value.
  @inlinable
  public var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }

  /// The object; `nil` for any other value.
  @inlinable
  public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }

  /// The member with this name, if this is an object that has one.
  @inlinable
  public subscript(name: String) -> JSONValue? { object?[name] }
}

// MARK: Comparing

extension JSONValue: Hashable {
  public static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): one.isSame(as: other)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)): one == other
    case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let bool): hasher.combine(bool)
    case .number(let number): hasher.combine(number)
    case .string(let string): hasher.combine(string)
    case .array(let array): hasher.combine(array)
    case .object(let object): hasher.combine(object)
    }
  }
}

extension JSONValue: Digestible {
  /// Folds in a word for the kind, then the contents.
  public func fold(into digest: inout StateDigest) {
    switch self {
    case .null: digest.fold(0 as UInt64)
    case .bool(false): digest.fold(1 as UInt64)
    case .bool(true): digest.fold(2 as UInt64)
    case .number(let number):
      digest.fold(3 as UInt64)
      number.text.fold(into: &digest)
    case .string(let string):
      digest.fold(4 as UInt64)
      string.fold(into: &digest)
    case .array(let array):
      digest.fold(5 as UInt64)
      array.fold(into: &digest)
    case .object(let object):
      digest.fold(6 as UInt64)
      digest.fold(UInt64(object.members.count))
      for member in object.members {
        member.name.fold(into: &digest)
        member.value.fold(into: &digest)
      }
    }
  }
}

// MARK: Literals

extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral bool: Bool) { self = .bool(bool) }
  public init(integerLiteral number: Int64) { self = .number(JSONNumber(number)) }
  public init(stringLiteral string: String) { self = .string(string) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// A duplicate name is a programmer's error.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    guard let object = JSONObject(elements.map { JSONObject.Member($0.0, $0.1) }) else {
      preconditionFailure("a name occurs twice")
    }
    self = .object(object)
  }
}
