/// Fields that must be what the protocol says; if not, the error says where.
struct ZulipReading {
  let fields: ZulipFields
  /// As in an error, with the point behind it.
  let path: String

  init(_ fields: ZulipFields, path: String) {
    self.fields = fields
    self.path = path
  }

  /// - Parameter path: what a value is called that must be an object.
  init(_ value: ZulipValue, path: String) throws(ZulipError) {
    guard let fields = value.fields else { throw .malformed(path: path) }
    self.init(fields, path: path + ".")
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
    guard let numbers = fields[name]?.numbers else { throw malformed(name) }
    return numbers
  }

  func texts(_ name: String) throws(ZulipError) -> [String] {
    var texts: [String] = []
    for value in try list(name) {
      guard let text = value.text else { throw malformed(name) }
      texts.append(text)
    }
    return texts
  }
}
