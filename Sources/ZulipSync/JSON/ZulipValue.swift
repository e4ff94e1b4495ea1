// JSON: the room of what a server wrote, as a value; of reading types from it, and of what is
// wrong with it. Foundation reads the bytes.
//
// JSON may use: no other room.

/// Any JSON value. What a server has of itself that no code here knows is kept as it came.
public enum ZulipValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A whole number of 64 bits.
  case number(Int64)
  /// Any other number; always finite. One beyond 64 bits is the next that there is.
  case fraction(Double)
  case text(String)
  case list([ZulipValue])
  case fields(ZulipFields)
}

/// A JSON object: values by their names. Each name once; in ascending order.
public struct ZulipFields: Hashable, Sendable {
  /// One name with its value.
  public struct Entry: Hashable, Sendable {
    public var name: String
    public var value: ZulipValue

    public init(_ name: String, _ value: ZulipValue) {
      self.name = name
      self.value = value
    }
  }

  /// Ascending by name.
  public private(set) var entries: [Entry]

  /// Of a name that comes twice the last one counts, as with most readers of JSON.
  public init(_ entries: [Entry] = []) {
    var sorted = entries
    // Few are sorted, and most are short: that is faster than a stable sort of all.
    for index in sorted.indices.dropFirst() where sorted[index].name <= sorted[index - 1].name {
      sorted = ZulipFields.sorted(entries)
      break
    }
    self.entries = sorted
  }

  private static func sorted(_ entries: [Entry]) -> [Entry] {
    let order = entries.indices.sorted { one, other in
      entries[one].name == entries[other].name
        ? one < other : entries[one].name < entries[other].name
    }
    var unique: [Entry] = []
    unique.reserveCapacity(order.count)
    for index in order {
      if unique.last?.name == entries[index].name { unique.removeLast() }
      unique.append(entries[index])
    }
    return unique
  }

  /// The value of a name; `nil`: there is none, or when set, there shall be none. O(log n) to read.
  public subscript(name: String) -> ZulipValue? {
    get {
      let place = place(of: name)
      guard place < entries.count, entries[place].name == name else { return nil }
      return entries[place].value
    }
    set {
      let place = place(of: name)
      let isThere = place < entries.count && entries[place].name == name
      switch (isThere, newValue) {
      case (true, let value?): entries[place].value = value
      case (true, nil): entries.remove(at: place)
      case (false, let value?): entries.insert(Entry(name, value), at: place)
      case (false, nil): break
      }
    }
  }

  /// The first place whose name is not less.
  private func place(of name: String) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension ZulipFields: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, ZulipValue)...) {
    self.init(elements.map { Entry($0.0, $0.1) })
  }
}

// MARK: What it is

extension ZulipValue {
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// Also of a fraction that has none, but for a large one: which number was written is not known.
  public var number: Int64? {
    switch self {
    case .number(let number): number
    case .fraction(let fraction):
      fraction.magnitude < 0x1p53 ? Int64(exactly: fraction) : nil
    case .null, .bool, .text, .list, .fields: nil
    }
  }

  public var text: String? { if case .text(let text) = self { text } else { nil } }

  public var list: [ZulipValue]? { if case .list(let list) = self { list } else { nil } }

  public var fields: ZulipFields? { if case .fields(let fields) = self { fields } else { nil } }

  /// `nil` if there is one element that is no number.
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

  /// Whether it can be said where the other one was: the server changes no setting from one kind of
  /// value to another, but for an unset one, and a group, which has a number or is given in full.
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

// Not by `nil`: where a value is optional that would be read as no value, or as none of it.
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

// MARK: As text

extension ZulipValue: CustomStringConvertible {
  /// Its JSON, with the names in ascending order: equal values have equal texts.
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
