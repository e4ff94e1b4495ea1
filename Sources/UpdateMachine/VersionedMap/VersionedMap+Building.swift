// Building a map from sorted entries, leaf by leaf.

extension VersionedMap {
  /// Creates a map from entries that are sorted by key, each key once; traps otherwise. O(n).
  @inlinable
  public init<Entries: Sequence>(sorted entries: Entries) where Entries.Element == Element {
    var builder = Builder()
    for (key, value) in entries {
      let follows = builder.append(key, value)
      precondition(follows, "the keys are not ascending, or not unique")
    }
    self.init(root: builder.finish())
  }

  /// A builder that fills one leaf after the other.
  @usableFromInline
  struct Builder {
    /// Full leaves, and a last one that is being filled.
    @usableFromInline var leaves: [Node] = []

    @inlinable
    init() {}

    /// Appends an entry. Returns `false`, and takes nothing, if the key is not above the last.
    @inlinable
    mutating func append(_ key: Key, _ value: Value) -> Bool {
      if leaves.isEmpty { leaves.append(Node.make(level: 0, limit: Node.leafLimitAtFirst)) }
      let last = leaves.count - 1
      let count = leaves[last].count
      if count > 0 {
        guard unsafe leaves[last].keys[count - 1] < key else { return false }
        guard count < Node.leafMaximum else {
          leaves.append(Node.make(level: 0, limit: Node.leafMaximum))
          return append(key, value)
        }
        Node.reserve(count + 1, in: &leaves[last])
      }
      let leaf = leaves[last]
      unsafe (leaf.keys + count).initialize(to: key)
      unsafe (leaf.values + count).initialize(to: value)
      leaf.count = count + 1
      leaf.total = count + 1
      return true
    }

    /// Returns the tree of all appended entries.
    @inlinable
    mutating func finish() -> Node? {
      guard leaves.count > 1 else { return leaves.popLast() }
      var last = leaves.removeLast()
      if !Node.balance(&leaves[leaves.count - 1], &last) { leaves.append(last) }
      var level = leaves
      leaves = []
      while level.count > 1 { level = Builder.parents(of: level) }
      return level[0]
    }

    /// Returns as few nodes as can hold these, evenly filled.
    @inlinable
    static func parents(of nodes: [Node]) -> [Node] {
      let number = (nodes.count + Node.childrenMaximum - 1) / Node.childrenMaximum
      var parents: [Node] = []
      parents.reserveCapacity(number)
      for index in 0..<number {
        let (start, end) = (nodes.count * index / number, nodes.count * (index + 1) / number)
        let parent = Node.make(level: nodes[0].level + 1, limit: Node.childrenMaximum)
        for child in nodes[start..<end] {
          unsafe (parent.keys + parent.count).initialize(to: child.first)
          unsafe (parent.children + parent.count).initialize(to: child)
          parent.count += 1
          parent.total += child.total
        }
        parents.append(parent)
      }
      return parents
    }
  }
}

#if !hasFeature(Embedded)
  extension VersionedMap: Encodable where Key: Encodable, Value: Encodable {
    /// One list of alternating keys and values, ascending.
    public func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      for (key, value) in self {
        try list.encode(key)
        try list.encode(value)
      }
    }
  }

  extension VersionedMap: Decodable where Key: Decodable, Value: Decodable {
    /// Throws `DecodingError` if the keys are not ascending or not unique, or if a key has no
    /// value.
    public init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      var builder = Builder()
      while !list.isAtEnd {
        let key = try list.decode(Key.self)
        guard builder.append(key, try list.decode(Value.self)) else {
          throw DecodingError.dataCorruptedError(
            in: list, debugDescription: "the keys are not ascending, or not unique")
        }
      }
      self.init(root: builder.finish())
    }
  }
#endif
