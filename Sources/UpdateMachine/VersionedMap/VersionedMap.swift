// VersionedMap: the room of an ordered map whose copies share structure. Replicas keep their models
// in it. So forking and publishing a model costs nothing, and comparing two versions costs only
// what differs. It imports nothing.
//
// VersionedMap may use: Values.

/// An ordered map with structure sharing. A copy costs nothing, and a change costs only what it
/// changes.
///
///     let before = map            // O(1), whatever the size
///     map[7] = "seven"            // copies the few nodes on the way to 7, and no others
///     map.difference(from: before).changes    // looks at those nodes only
///
/// Shape: keys are unique, and every order is by key, ascending unless said otherwise. A key is
/// kept as it was first given, even when its value is replaced through another key that is equal.
///
/// A map that shares nothing is changed in place. One that shares nodes copies those that it
/// changes, and then owns the copies alone; other versions are unaffected. Several threads may read
/// and change versions at the same time, if each version has one thread.
///
/// Nothing here fails. Building a map from unsorted or repeated keys is a programmer's mistake,
/// which traps.
///
/// Source: the B-tree is Bayer and McCreight's ("Organization and maintenance of large ordered
/// indexes", 1972), with all entries in the leaves (Comer, "The ubiquitous B-tree", 1979). Sharing
/// the nodes off the changed path is path copying (Driscoll, Sarnak, Sleator and Tarjan, "Making
/// data structures persistent", 1989). Filling, splitting and the difference are ours.
public struct VersionedMap<Key: Comparable, Value> {
  public typealias Element = (key: Key, value: Value)

  @usableFromInline typealias Node = MapNode<Key, Value>

  /// `nil`: the map is empty.
  @usableFromInline var root: Node?

  /// An empty map.
  @inlinable
  public init() { root = nil }

  @inlinable
  init(root: Node?) { self.root = root }

  // MARK: One entry

  /// The value of a key; `nil` if there is none. Setting `nil` removes the entry. O(log n).
  ///
  /// Reading a value and setting it again copies it. ``modifyValue(forKey:_:)`` changes it in
  /// place.
  @inlinable
  public subscript(key: Key) -> Value? {
    get {
      guard let root else { return nil }
      return withExtendedLifetime(root) {
        unsafe root.leaf(for: key)._withUnsafeGuaranteedRef { leaf in
          leaf.index(of: key).map { unsafe leaf.values[$0] }
        }
      }
    }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
  }

  /// The entry of a key, with the key as it was first given.
  @inlinable
  func entry(for key: Key) -> Element? {
    guard let root else { return nil }
    return withExtendedLifetime(root) {
      unsafe root.leaf(for: key)._withUnsafeGuaranteedRef { leaf in
        leaf.index(of: key).map { unsafe (leaf.keys[$0], leaf.values[$0]) }
      }
    }
  }

  /// Whether the key has a value. O(log n).
  @inlinable
  public func contains(_ key: Key) -> Bool {
    guard let root else { return false }
    return withExtendedLifetime(root) {
      unsafe root.leaf(for: key)._withUnsafeGuaranteedRef { $0.index(of: key) != nil }
    }
  }

  /// Sets a value; returns the old one. O(log n).
  @inlinable
  @discardableResult
  package mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    if root == nil { root = Node.make(level: 0, limit: Node.leafLimitAtFirst) }
    var old: Value?
    if let second = Node.set(value, for: key, in: &root!, old: &old) {
      root = Node.parent(of: root!, second)
    }
    return old
  }

  /// Changes a value in place, and returns what `body` returns. If the key has no value, returns
  /// `nil` without calling `body`. O(log n).
  @inlinable
  @discardableResult
  public mutating func modifyValue<Result, Failure: Error>(
    forKey key: Key, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard contains(key) else { return nil }
    return try Node.modify(key, in: &root!, body)
  }

  /// Removes an entry; returns its value, or `nil` if there was none. O(log n). If there is nothing
  /// to remove, nothing is copied.
  @inlinable
  @discardableResult
  package mutating func removeValue(forKey key: Key) -> Value? {
    guard contains(key) else { return nil }
    let value = Node.remove(key, in: &root!)
    if root!.count == 1, root!.level > 0 {
      root = unsafe root!.children[0]
    } else if root!.count == 0 {
      root = nil
    }
    return value
  }

  /// Removes every entry. Copies keep theirs.
  @inlinable
  package mutating func removeAll() { root = nil }

  // MARK: Queries

  /// O(1).
  @inlinable
  public var count: Int { root?.total ?? 0 }

  /// Whether it has no entries. O(1).
  @inlinable
  public var isEmpty: Bool { root == nil }

  /// Whether both are the same version: one is a copy of the other, and neither was changed since,
  /// or both are empty. Returns `false` for other maps that are equal by chance. O(1).
  @inlinable
  package func isIdentical(to other: VersionedMap) -> Bool { root === other.root }
}

extension VersionedMap: ExpressibleByDictionaryLiteral {
  /// Traps if a key occurs twice.
  @inlinable
  public init(dictionaryLiteral elements: (Key, Value)...) {
    self.init()
    for (key, value) in elements {
      let old = updateValue(value, forKey: key)
      precondition(old == nil, "a key occurs twice")
    }
  }
}

// Nodes are class instances. As with arrays, `isKnownUniquelyReferenced` makes sure that they are
// changed only while one map alone refers to them. So threads share only nodes that never change.
extension VersionedMap: @unchecked Sendable where Key: Sendable, Value: Sendable {}

extension VersionedMap: Equatable where Value: Equatable {
  /// O(nodes that the two do not share): versions of one map share most nodes, and shared nodes are
  /// skipped.
  @inlinable
  public static func == (one: VersionedMap, other: VersionedMap) -> Bool {
    guard one.count == other.count else { return false }
    var isEqual = true
    one.compare(with: other) { _, _, _ in
      isEqual = false
      return false
    }
    return isEqual
  }
}

extension VersionedMap: Hashable where Key: Hashable, Value: Hashable {
  /// O(n).
  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for (key, value) in self {
      hasher.combine(key)
      hasher.combine(value)
    }
  }
}
