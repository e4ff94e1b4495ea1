// What changed between two versions, at the cost of the change alone.

extension VersionedMap {
  /// The changes that lead from one map to another.
  @usableFromInline
  package struct Difference {
    /// The change of one key.
    @usableFromInline
    package struct Change {
      @usableFromInline package var key: Key
      /// The old value; `nil`: the key had none.
      @usableFromInline package var old: Value?
      /// The new value; `nil`: the key has none.
      @usableFromInline package var new: Value?

      @inlinable
      package init(key: Key, old: Value?, new: Value?) {
        self.key = key
        self.old = old
        self.new = new
      }
    }

    /// Ascending by key, each key once, and only keys whose value changed, came or went.
    @usableFromInline package var changes: [Change]

    @inlinable
    package init(changes: [Change] = []) { self.changes = changes }

    @inlinable
    package var isEmpty: Bool { changes.isEmpty }

    /// The changes that lead back. O(changes).
    @inlinable
    package var inverted: Difference {
      Difference(changes: changes.map { Change(key: $0.key, old: $0.new, new: $0.old) })
    }
  }

  /// Gives every key in the difference its new value. Old values are not checked. O(changes × log
  /// n).
  @inlinable
  package mutating func apply(_ difference: Difference) {
    for change in difference.changes { self[change.key] = change.new }
  }
}

extension VersionedMap.Difference.Change: Equatable where Value: Equatable {}
extension VersionedMap.Difference.Change: Hashable where Key: Hashable, Value: Hashable {}
extension VersionedMap.Difference.Change: Sendable where Key: Sendable, Value: Sendable {}
extension VersionedMap.Difference: Equatable where Value: Equatable {}
extension VersionedMap.Difference: Hashable where Key: Hashable, Value: Hashable {}
extension VersionedMap.Difference: Sendable where Key: Sendable, Value: Sendable {}

extension VersionedMap where Value: Equatable {
  /// Returns what to apply to `old` to make it equal to this map. O(nodes that the two do not
  /// share). If one was made from the other by *k* changes, these are at most *k* times the height
  /// in either tree, plus a few where nodes were split or merged.
  @inlinable
  package func difference(from old: VersionedMap) -> Difference {
    var difference = Difference()
    old.compare(with: self) { key, old, new in
      difference.changes.append(Difference.Change(key: key, old: old, new: new))
      return true
    }
    return difference
  }

  /// As ``compare(with:where:_:)``, for equatable values.
  @inlinable
  @discardableResult
  func compare(with other: VersionedMap, _ body: (Key, Value?, Value?) -> Bool) -> Int {
    compare(with: other, where: { $0 != $1 }, body)
  }
}

extension VersionedMap {
  /// Calls `body` with every key whose value differs, ascending, with its values here and there.
  /// Stops when `body` returns `false`. Returns how many nodes of the two trees were opened.
  ///
  /// Both trees are walked from their least key. The next item of a side is an entry or a whole
  /// subtree, and begins with its least key. If one side's item begins first, an entry is reported
  /// and a subtree opened. If both begin with the same key, the higher one is opened. At the same
  /// height, two entries are compared; subtrees are skipped if they are one node, and both opened
  /// if not.
  ///
  /// So no subtree that is in both trees is ever opened. When it is next on one side, it is still
  /// to come on the other, with the same least key: as the next item, at the front of a higher one,
  /// or later. In none of these cases is it the one to be opened.
  @inlinable
  @discardableResult
  package func compare(
    with other: VersionedMap, where differ: (Value, Value) -> Bool,
    _ body: (Key, Value?, Value?) -> Bool
  ) -> Int {
    withExtendedLifetime((root, other.root)) {
      var here = MapWalk(root)
      var there = MapWalk(other.root)
      var goesOn = true
      while goesOn, !here.isAtEnd || !there.isAtEnd {
        if there.isAtEnd || !here.isAtEnd && here.key < there.key {
          if here.isEntry { goesOn = body(here.key, here.value, nil) }
          here.goOn()
        } else if here.isAtEnd || there.key < here.key {
          if there.isEntry { goesOn = body(there.key, nil, there.value) }
          there.goOn()
        } else if here.level != there.level {
          if here.level > there.level { here.open() } else { there.open() }
        } else if !here.isEntry {
          let isShared = unsafe here.subtree.toOpaque() == there.subtree.toOpaque()
          if isShared { here.skip() } else { here.open() }
          if isShared { there.skip() } else { there.open() }
        } else {
          if differ(here.value, there.value) { goesOn = body(here.key, here.value, there.value) }
          here.skip()
          there.skip()
        }
      }
      return here.opened + there.opened
    }
  }
}

/// A walk through a tree that can skip whole subtrees. The tree must outlive it.
@usableFromInline
@safe
struct MapWalk<Key: Comparable, Value> {
  @usableFromInline typealias Node = MapNode<Key, Value>

  /// How many nodes were opened.
  @usableFromInline var opened = 0

  /// The root, while it is itself the next item.
  @usableFromInline var root: Unmanaged<Node>?
  /// The node that was opened last, with its keys; `nil`: none yet.
  @usableFromInline var node: Unmanaged<Node>?
  @usableFromInline var keys: UnsafeMutablePointer<Key>?
  @usableFromInline var count = 0
  /// The index of the next item in it.
  @usableFromInline var index = 0
  /// The height of the next item; −1: it is an entry.
  @usableFromInline var level = -1
  /// The nodes above, each with the index of its next item.
  @usableFromInline var above: [(node: Unmanaged<Node>, index: Int)] = unsafe []

  @inlinable
  init(_ root: Node?) {
    guard let root else { return }
    unsafe self.root = unsafe Unmanaged.passUnretained(root)
    level = root.level
  }

  @inlinable
  var isAtEnd: Bool { unsafe root == nil && index == count }

  @inlinable
  var isEntry: Bool { level < 0 }

  /// The least key of the next item.
  @inlinable
  var key: Key {
    if let root = unsafe root { return unsafe root._withUnsafeGuaranteedRef { $0.first } }
    return unsafe keys.unsafelyUnwrapped[index]
  }

  /// The value of the next item, an entry.
  @inlinable
  var value: Value {
    unsafe node.unsafelyUnwrapped._withUnsafeGuaranteedRef { unsafe $0.values[index] }
  }

  /// The next item, a subtree.
  @inlinable
  var subtree: Unmanaged<Node> {
    if let root = unsafe root { return unsafe root }
    return unsafe node.unsafelyUnwrapped._withUnsafeGuaranteedRef { unsafe $0.link(index) }
  }

  /// Skips an entry, or opens a subtree.
  @inlinable
  mutating func goOn() {
    if isEntry { skip() } else { open() }
  }

  /// Skips the next item.
  @inlinable
  mutating func skip() {
    if unsafe root != nil {
      unsafe root = nil
      return
    }
    index += 1
    while index == count, let (parent, next) = unsafe above.popLast() {
      unsafe enter(parent, at: next)
    }
  }

  /// Opens the next item, a subtree.
  @inlinable
  mutating func open() {
    let subtree = unsafe subtree
    if let node = unsafe node { unsafe above.append((node, index + 1)) }
    unsafe root = nil
    opened += 1
    unsafe enter(subtree, at: 0)
  }

  @inlinable
  mutating func enter(_ node: Unmanaged<Node>, at index: Int) {
    unsafe self.node = unsafe node
    self.index = index
    unsafe (keys, count, level) = unsafe node._withUnsafeGuaranteedRef {
      unsafe ($0.keys, $0.count, $0.level - 1)
    }
  }
}
