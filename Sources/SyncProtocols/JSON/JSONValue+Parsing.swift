/// The reason why a text is not accepted as JSON. Offsets are in bytes of UTF-8, from 0.
public enum JSONError: Error, Hashable, Sendable {
  /// Something else was expected there, perhaps the end of the text.
  case unexpected(at: Int)
  /// The text ends in the middle of a value.
  case unfinished
  /// Nested deeper than `JSONValue.depthMaximum`.
  case tooDeep(at: Int)
  /// An object has a duplicate name. The offset is where the object ends.
  case duplicateName(at: Int)
  /// An escape that JSON does not have, or half of a surrogate pair.
  case badEscape(at: Int)
  /// A number with an exponent beyond `JSONNumber.exponentMaximum`.
  case numberOutOfRange(at: Int)
}

extension JSONValue {
  /// Parses a JSON text (RFC 8259). Stricter: names must be unique, and surrogates paired.
  public init(parsing text: String) throws(JSONError) {
    var reader = JSONReader(Array(text.utf8), depthMaximum: JSONValue.depthMaximum)
    try self.init(from: &reader)
    try reader.end()
  }

  private init(from reader: inout JSONReader) throws(JSONError) {
    switch try reader.token() {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .text(let text): self = .string(text)
    case .integer(let integer): self = .number(JSONNumber(integer))
    case .decimal(let decimal):
      guard let number = JSONNumber(decimal) else { throw .numberOutOfRange(at: decimal.start) }
      self = .number(number)
    case .array:
      var elements: [JSONValue] = []
      while try reader.hasElement() { elements.append(try JSONValue(from: &reader)) }
      self = .array(elements)
    case .object:
      var members: [JSONObject.Member] = []
      while let name = try reader.name() {
        members.append(JSONObject.Member(name, try JSONValue(from: &reader)))
      }
      guard let object = JSONObject(members) else { throw .duplicateName(at: reader.index - 1) }
      self = .object(object)
    }
  }
}
