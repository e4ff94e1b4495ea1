/// A decoder over a value that is already parsed. An answer's bytes are parsed once, and any number
/// of types are decoded from the value. A `JSONDecoder` would parse them again, at many times the
/// cost where a type contains a ``ZulipValue``.
struct ZulipDecoder: Decoder {
  let value: ZulipValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: ZulipValue, at path: [any CodingKey] = []) {
    self.value = value
    codingPath = path
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .fields(let fields) = value else { throw mismatch(ZulipFields.self) }
    return KeyedDecodingContainer(Fields(fields: fields, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .list(let list) = value else { throw mismatch([ZulipValue].self) }
    return Elements(list: list, codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "of another kind"))
  }
}

// MARK: One value

extension ZulipDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

  private func need<Value>(_ found: Value?) throws -> Value {
    guard let found else { throw mismatch(Value.self) }
    return found
  }

  private func whole<Number: FixedWidthInteger>() throws -> Number {
    try need(value.number.flatMap { Number(exactly: $0) })
  }

  private var fraction: Double? {
    switch value {
    case .number(let number): Double(number)
    case .fraction(let fraction): fraction
    case .null, .bool, .text, .list, .fields: nil
    }
  }

  func decode(_ type: Bool.Type) throws -> Bool { try need(value.bool) }
  func decode(_ type: String.Type) throws -> String { try need(value.text) }
  func decode(_ type: Double.Type) throws -> Double { try need(fraction) }
  func decode(_ type: Float.Type) throws -> Float { try need(fraction.map { Float($0) }) }
  func decode(_ type: Int.Type) throws -> Int { try whole() }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole() }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole() }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole() }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole() }
  func decode(_ type: UInt.Type) throws -> UInt { try whole() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole() }
}

// MARK: An object

extension ZulipDecoder {
  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let fields: ZulipFields
    let codingPath: [any CodingKey]

    var allKeys: [Key] { fields.entries.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

    private func decoder(_ key: Key) throws -> ZulipDecoder {
      guard let value = fields[key.stringValue] else {
        throw DecodingError.keyNotFound(
          key, .init(codingPath: codingPath, debugDescription: "not there"))
      }
      return ZulipDecoder(value, at: codingPath + [key])
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }

    /// Handles all types: `Value(from:)` asks for a single value where it needs one.
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try Value(from: decoder(key))
    }

    func nestedContainer<Other: CodingKey>(
      keyedBy type: Other.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Other> {
      try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { ZulipDecoder(.fields(fields), at: codingPath) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
  }
}

// MARK: A list

extension ZulipDecoder {
  private struct Elements: UnkeyedDecodingContainer {
    let list: [ZulipValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0

    var count: Int? { list.count }
    var isAtEnd: Bool { currentIndex == list.count }

    /// An index in a list.
    private struct Index: CodingKey {
      var number: Int
      var intValue: Int? { number }
      var stringValue: String { "\(number)" }

      init(_ number: Int) { self.number = number }
      init?(intValue: Int) { number = intValue }
      init?(stringValue: String) { return nil }
    }

    private func decoder() throws -> ZulipDecoder {
      let path = codingPath + [Index(currentIndex)]
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          ZulipValue.self, .init(codingPath: path, debugDescription: "there are no more"))
      }
      return ZulipDecoder(list[currentIndex], at: path)
    }

    /// Reads the next element. One that cannot be read is not skipped.
    private mutating func next<Value>(_ read: (ZulipDecoder) throws -> Value) throws -> Value {
      let value = try read(try decoder())
      currentIndex += 1
      return value
    }

    mutating func decodeNil() throws -> Bool {
      guard try decoder().decodeNil() else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try next { try Value(from: $0) }
    }

    mutating func nestedContainer<Key: CodingKey>(
      keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
      try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }
  }
}
