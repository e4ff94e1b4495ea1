/// Lets a type that is decodable be read from a ``ZulipValue``, so that bytes are read once.
struct ZulipValueDecoder: Decoder {
  let value: ZulipValue
  fileprivate let path: Path

  /// Where it stands. It is made a list only where something is wrong there.
  fileprivate indirect enum Path {
    case start
    case step(Path, any CodingKey)

    var keys: [any CodingKey] {
      switch self {
      case .start: []
      case .step(let path, let key): path.keys + [key]
      }
    }
  }

  init(_ value: ZulipValue) {
    self.value = value
    path = .start
  }

  fileprivate init(_ value: ZulipValue, _ path: Path) {
    self.value = value
    self.path = path
  }

  var codingPath: [any CodingKey] { path.keys }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .fields(let fields) = value else { throw mismatch(ZulipFields.self) }
    return KeyedDecodingContainer(KeyedZulipFields(fields: fields, path: path))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .list(let list) = value else { throw mismatch([ZulipValue].self) }
    return ZulipList(list: list, path: path)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  /// Without a word of what was there instead.
  fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "the value is of another kind")
    return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  fileprivate func whole<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard let number = value.number.flatMap({ Number(exactly: $0) }) else { throw mismatch(type) }
    return number
  }
}

extension ZulipValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let bool) = value else { throw mismatch(type) }
    return bool
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .text(let text) = value else { throw mismatch(type) }
    return text
  }

  func decode(_ type: Double.Type) throws -> Double {
    switch value {
    case .fraction(let fraction): return fraction
    case .number(let number): return Double(number)
    case .null, .bool, .text, .list, .fields: throw mismatch(type)
    }
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try whole(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if type == ZulipValue.self, let value = value as? Value { return value }
    return try Value(from: self)
  }
}

private struct KeyedZulipFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let fields: ZulipFields
  let path: ZulipValueDecoder.Path

  var codingPath: [any CodingKey] { path.keys }

  var allKeys: [Key] { fields.entries.compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

  private func value(_ key: Key) throws -> ZulipValue {
    guard let value = fields[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "the field is not there"))
    }
    return value
  }

  private func decoder(_ key: Key) throws -> ZulipValueDecoder {
    ZulipValueDecoder(try value(key), .step(path, key))
  }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key) == .null }

  // The two that are read most, without a decoder of their own.

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    guard case .text(let text) = try value(key) else { throw try decoder(key).mismatch(type) }
    return text
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    guard case .number(let number) = try value(key) else { return try decoder(key).decode(type) }
    return number
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try decoder(key).decode(type)
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).decode(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).decode(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).decode(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try decoder(key).decode(type)
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try decoder(key).decode(type)
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).decode(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try decoder(key).decode(type)
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try decoder(key).decode(type)
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try decoder(key).decode(type)
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try decoder(key).decode(type)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { ZulipValueDecoder(.fields(fields), path) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct ZulipList: UnkeyedDecodingContainer {
  let list: [ZulipValue]
  let path: ZulipValueDecoder.Path
  var currentIndex = 0

  var codingPath: [any CodingKey] { path.keys }
  var count: Int? { list.count }
  var isAtEnd: Bool { currentIndex == list.count }

  private struct Place: CodingKey {
    var index: Int

    var stringValue: String { "\(index)" }
    var intValue: Int? { index }

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { index = intValue }
    init?(stringValue: String) { return nil }
  }

  /// The next element; it is left behind only once it was read.
  private func next() throws -> ZulipValueDecoder {
    let place = ZulipValueDecoder.Path.step(path, Place(currentIndex))
    guard currentIndex < list.count else {
      throw DecodingError.valueNotFound(
        ZulipValue.self, .init(codingPath: place.keys, debugDescription: "the list is at its end"))
    }
    return ZulipValueDecoder(list[currentIndex], place)
  }

  mutating func decodeNil() throws -> Bool {
    guard try next().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next().decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try next().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try next()
    currentIndex += 1
    return decoder
  }
}

extension ZulipValue: Codable {
  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }

  /// From any decoder; from one of ours at no cost.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ZulipValueDecoder {
      self = decoder.value
      return
    }
    if let fields = try? decoder.container(keyedBy: Name.self) {
      self = .fields(
        ZulipFields(
          try fields.allKeys.map {
            ZulipFields.Entry($0.stringValue, try fields.decode(ZulipValue.self, forKey: $0))
          }))
      return
    }
    if var list = try? decoder.unkeyedContainer() {
      var elements: [ZulipValue] = []
      while !list.isAtEnd { elements.append(try list.decode(ZulipValue.self)) }
      self = .list(elements)
      return
    }
    let single = try decoder.singleValueContainer()
    if single.decodeNil() {
      self = .null
    } else if let bool = try? single.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? single.decode(Int64.self) {
      self = .number(number)
    } else if let fraction = try? single.decode(Double.self) {
      self = .fraction(fraction)
    } else {
      self = .text(try single.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .fields(let fields):
      var container = encoder.container(keyedBy: Name.self)
      for entry in fields.entries {
        try container.encode(entry.value, forKey: Name(stringValue: entry.name))
      }
    case .list(let list):
      var container = encoder.unkeyedContainer()
      for element in list { try container.encode(element) }
    case .null, .bool, .number, .fraction, .text:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let bool): try container.encode(bool)
      case .number(let number): try container.encode(number)
      case .fraction(let fraction): try container.encode(fraction)
      case .text(let text): try container.encode(text)
      case .null, .list, .fields: try container.encodeNil()
      }
    }
  }
}
