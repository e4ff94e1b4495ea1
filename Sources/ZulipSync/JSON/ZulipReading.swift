/// Typed access to fields that the protocol requires. Errors say where the fields are. All types of
/// this module are decoded with it, once, when an answer arrives.
struct ZulipReading: Sendable {
  let fields: ZulipFields
  /// The path for errors, with a trailing point.
  let path: String

  init(_ fields: ZulipFields, path: String) {
    self.fields = fields
    self.path = path
  }

  /// - Parameter path: the path of a value that must be an object.
  init(_ value: ZulipValue, path: String) throws(ZulipError) {
    guard let fields = value.fields else { throw .malformed(path: path) }
    self.init(fields, path: path.isEmpty ? "" : path + ".")
  }

  /// Reads at a decoder's position. A ``ZulipDecoder`` has the value already, and nothing is parsed
  /// again.
  init(_ decoder: any Decoder) throws {
    try self.init(ZulipValue(from: decoder), path: ZulipError.text(of: decoder.codingPath))
  }

  func malformed(_ name: String) -> ZulipError { .malformed(path: path + name) }

  func value(_ name: String) throws(ZulipError) -> ZulipValue {
    guard let value = fields[name] else { throw malformed(name) }
    return value
  }

  func number(_ name: String) throws(ZulipError) -> Int64 {
    guard let number = fields[name]?.number else { throw malformed(name) }
    return number
  }

  func text(_ name: String) throws(ZulipError) -> String {
    guard let text = fields[name]?.text else { throw malformed(name) }
    return text
  }

  func bool(_ name: String) throws(ZulipError) -> Bool {
    guard let bool = fields[name]?.bool else { throw malformed(name) }
    return bool
  }

  func object(_ name: String) throws(ZulipError) -> ZulipReading {
    guard let value = fields[name] else { throw malformed(name) }
    return try ZulipReading(value, path: path + name)
  }

  func list(_ name: String) throws(ZulipError) -> [ZulipValue] {
    guard let list = fields[name]?.list else { throw malformed(name) }
    return list
  }

  func objects(_ name: String) throws(ZulipError) -> [ZulipReading] {
    var objects: [ZulipReading] = []
    for (index, value) in try list(name).enumerated() {
      objects.append(try ZulipReading(value, path: "\(path)\(name)[\(index)]"))
    }
    return objects
  }

  func numbers(_ name: String) throws(ZulipError) -> [Int64] {
    try elements(name) { $0.number }
  }

  func texts(_ name: String) throws(ZulipError) -> [String] {
    try elements(name) { $0.text }
  }

  private func elements<Element>(
    _ name: String, _ read: (ZulipValue) -> Element?
  ) throws(ZulipError) -> [Element] {
    let list = try list(name)
    var elements: [Element] = []
    elements.reserveCapacity(list.count)
    for (index, value) in list.enumerated() {
      guard let element = read(value) else { throw malformed("\(name)[\(index)]") }
      elements.append(element)
    }
    return elements
  }

  /// Whether there is a value other than `null`.
  func has(_ name: String) -> Bool {
    switch fields[name] {
    case nil, .null: false
    case .bool, .number, .fraction, .text, .list, .fields: true
    }
  }

  func numberIfPresent(_ name: String) throws(ZulipError) -> Int64? {
    has(name) ? try number(name) : nil
  }

  func textIfPresent(_ name: String) throws(ZulipError) -> String? {
    has(name) ? try text(name) : nil
  }

  func boolIfPresent(_ name: String) throws(ZulipError) -> Bool? {
    has(name) ? try bool(name) : nil
  }

  /// Reads one of the words that the protocol defines for a field.
  func word<Word: RawRepresentable>(
    _ name: String, _ type: Word.Type = Word.self
  ) throws(ZulipError) -> Word where Word.RawValue == String {
    guard let word = Word(rawValue: try text(name)) else { throw malformed(name) }
    return word
  }
}
