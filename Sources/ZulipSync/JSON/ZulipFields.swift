/// A JSON object: values by name. Names are unique and ascending.
public struct ZulipFields: Hashable, Sendable {
  /// One name with its value.
  public struct Entry: Hashable, Sendable {
    /// The name, unique within its object.
    public var name: String
    /// The value; `null` if the server sent that.
    public var value: ZulipValue

    package init(_ name: String, _ value: ZulipValue) {
      self.name = name
      self.value = value
    }
  }

  /// Ascending by name.
  public private(set) var entries: [Entry]

  /// Sorts the entries. If a name occurs twice, the last one counts, as in most JSON parsers.
  package init(_ entries: [Entry] = []) {
    var sorted = entries
    // Few lists need sorting, and most are short: checking first is faster than a stable sort of
    // all.
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

  /// The value of a name; `nil` if there is none. Setting `nil` removes it. Reading is O(log n).
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

  /// The first index whose name is not less.
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
