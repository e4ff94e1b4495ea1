// VersionedMap: the room of the ordered map whose copies share what they have in common. Replicas
// keep their models in it, so that forking one and publishing it cost nothing, and so that two
// versions of it can be compared at the price of what differs. It imports nothing.
//
// VersionedMap may use: Values.

/// An ordered map with structure sharing: a copy costs nothing, and is changed at the price of the
/// change alone.
///
///     let before = map            // O(1), whatever the size
///     map[7] = "seven"            // copies the few nodes on the way to 7, and no others
///     map.difference(from: before).changes    // looks at those nodes only
///
/// Shape: the keys are unique, and every order is theirs, ascending unless said otherwise. A key is
/// kept as it was first given, also when its value is replaced by way of another key that is equal.
///
/// A map that shares nothing is changed in place. One that shares copies what it changes, a node at
/// a time, and is then the only owner of the copies; the other versions notice nothing. Versions may
/// be read and changed in several threads at the same time, each by one thread.
///
/// Nothing here fails. It is a programmer's mistake, which traps, to build a map from what is not
/// sorted or not unique.
///
/// Source: the B-tree is Bayer and McCreight's ("Organization and maintenance of large ordered
/// indexes", 1972), with all entries in the leaves (Comer, "The ubiquitous B-tree", 1979); that new
/// versions share the nodes off the changed path is path copying (Driscoll, Sarnak, Sleator and
/// Tarjan, "Making data structures persistent", 1989). Filling, splitting and the difference are ours.
public struct VersionedMap<Key: Comparable, Value> {
  public typealias Element = (key: Key, value: Value)

  @usableFromInline typealias Node = MapNode<Key, Value>

  /// `nil`: there is no entry.
  @usableFromInline var root: Node?

  /// Empty.
  @inlinable
  public init() { root = nil }

  @inlinable
  init(root: Node?) { self.root = root }

  // MARK: One entry

  /// The value of a key; `nil`: there is none, or when set, there shall be none. O(log n).
  ///
  /// What is read and set again through this is copied in between. ``modifyValue(forKey:_:)`` changes
  /// a value where it is.
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

  /// An entry with the key as it is kept.
  @inlinable
  func entry(for key: Key) -> Element? {
    guard let root else { return nil }
    return withExtendedLifetime(root) {
      unsafe root.leaf(for: key)._withUnsafeGuaranteedRef { leaf in
        leaf.index(of: key).map { unsafe (leaf.keys[$0], leaf.values[$0]) }
      }
    }
  }

  /// O(log n).
  @inlinable
  public func contains(_ key: Key) -> Bool {
    guard let root else { return false }
    return withExtendedLifetime(root) {
      unsafe root.leaf(for: key)._withUnsafeGuaranteedRef { $0.index(of: key) != nil }
    }
  }

  /// Sets a value; returns the one that was there. O(log n).
  @inlinable
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    if root == nil { root = Node.make(level: 0, limit: Node.leafLimitAtFirst) }
    var old: Value?
    if let second = Node.set(value, for: key, in: &root!, old: &old) {
      root = Node.parent(of: root!, second)
    }
    return old
  }

  /// Changes a value where it is; returns what `body` returns, or `nil` without calling it if the key
  /// has none. O(log n).
  @inlinable
  @discardableResult
  public mutating func modifyValue<Result, Failure: Error>(
    forKey key: Key, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard contains(key) else { return nil }
    return try Node.modify(key, in: &root!, body)
  }

  /// Removes an entry; returns its value, or `nil` if there was none. O(log n). To remove what is not
  /// there copies nothing.
  @inlinable
  @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    guard contains(key) else { return nil }
    let value = Node.remove(key, in: &root!)
    if root!.count == 1, root!.level > 0 {
      root = unsafe root!.children[0]
    } else if root!.count == 0 {
      root = nil
    }
    return value
  }

  @inlinable
  public mutating func removeAll() { root = nil }

  // MARK: Queries

  /// O(1).
  @inlinable
  public var count: Int { root?.total ?? 0 }

  @inlinable
  public var isEmpty: Bool { root == nil }

  /// Whether the two are one version: a copy of the other, with no change made since to either. Says
  /// no about maps that are equal by chance. O(1).
  @inlinable
  public func isIdentical(to other: VersionedMap) -> Bool { root === other.root }
}

extension VersionedMap: ExpressibleByDictionaryLiteral {
  /// A key that occurs twice is a programmer's mistake.
  @inlinable
  public init(dictionaryLiteral elements: (Key, Value)...) {
    self.init()
    for (key, value) in elements {
      let old = updateValue(value, forKey: key)
      precondition(old == nil, "a key occurs twice")
    }
  }
}

// Nodes are class instances that are changed only while one map alone refers to them, which
// `isKnownUniquelyReferenced` makes sure of; that is what arrays do, too. So versions in several
// threads share only what nobody changes.
extension VersionedMap: @unchecked Sendable where Key: Sendable, Value: Sendable {}

extension VersionedMap: Equatable where Value: Equatable {
  /// O(what differs, and how far they were apart in their making): versions of one map share most
  /// nodes, and what is shared is not looked at.
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
