/// The members of an object: each name once, ascending by its UTF-8 bytes.
public struct JSONObject: Sendable {
  /// One name with its value.
  public struct Member: Sendable {
    /// The name, unique within its object.
    public var name: String
    /// The value; it may be `null`.
    public var value: JSONValue

    /// Creates a member from its name and its value.
    @inlinable
    public init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The members, ascending by the UTF-8 bytes of their names, each name once.
  public private(set) var members: [Member]

  /// Makes an empty object.
  package init() { members = [] }

  /// Makes an object of members in any order; `nil` if a name occurs twice. O(n log n).
  public init?(_ members: [Member]) {
    self.members = members.sorted { $0.name.precedes($1.name) }
    for (one, next) in zip(self.members, self.members.dropFirst())
    where one.name.isSame(as: next.name) { return nil }
  }

  /// The value of a name; `nil`: there is none. Setting `nil` removes the member. O(n) to set.
  public subscript(name: String) -> JSONValue? {
    get {
      let index = index(for: name)
      return has(name, at: index) ? members[index].value : nil
    }
    set {
      let index = index(for: name)
      let isThere = has(name, at: index)
      if let newValue {
        if isThere {
          members[index].value = newValue
        } else {
          members.insert(Member(name, newValue), at: index)
        }
      } else if isThere {
        members.remove(at: index)
      }
    }
  }

  private func has(_ name: String, at index: Int) -> Bool {
    index < members.count && members[index].name.isSame(as: name)
  }

  /// The index of the name, or where it would be inserted.
  private func index(for name: String) -> Int {
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if members[middle].name.precedes(name) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

extension JSONObject: Hashable {}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// A duplicate name is a programmer's error.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    guard let object = JSONObject(elements.map { Member($0.0, $0.1) }) else {
      preconditionFailure("a name occurs twice")
    }
    self = object
  }
}

extension JSONObject.Member: Hashable {
  public static func == (one: JSONObject.Member, other: JSONObject.Member) -> Bool {
    one.name.isSame(as: other.name) && one.value == other.value
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(value)
  }
}
