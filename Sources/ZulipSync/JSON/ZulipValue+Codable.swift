extension ZulipValue: Codable {
  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }

  /// Decodes with any decoder. This costs several times as much as `init(json:)`: it tries each
  /// type in turn.
  public init(from decoder: any Decoder) throws {
    if let read = decoder as? ZulipDecoder {
      self = read.value
      return
    }
    guard decoder.codingPath.count <= ZulipValue.depthMaximum else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "too deep"))
    }
    let single = try decoder.singleValueContainer()
    if single.decodeNil() {
      self = .null
    } else if let text = try? single.decode(String.self) {
      self = .text(text)
    } else if let number = try? single.decode(Int64.self) {
      self = .number(number)
    } else if let bool = try? single.decode(Bool.self) {
      self = .bool(bool)
    } else if let fraction = try? single.decode(Double.self) {
      self = .fraction(fraction)
    } else if var list = try? decoder.unkeyedContainer() {
      var elements: [ZulipValue] = []
      while !list.isAtEnd { elements.append(try list.decode(ZulipValue.self)) }
      self = .list(elements)
    } else {
      let fields = try decoder.container(keyedBy: Name.self)
      self = .fields(
        ZulipFields(
          try fields.allKeys.map {
            ZulipFields.Entry($0.stringValue, try fields.decode(ZulipValue.self, forKey: $0))
          }))
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
