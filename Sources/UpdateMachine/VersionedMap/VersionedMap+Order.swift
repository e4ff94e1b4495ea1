// The entries in order, from any key, in both directions.

extension VersionedMap: Sequence {
  /// Iterates over this version, ascending. Later changes do not show.
  @inlinable
  public func makeIterator() -> Ascending { Ascending(root: root, above: nil) }

  @inlinable
  public var underestimatedCount: Int { count }

  // MARK: One entry

  /// The entry with the least key. O(log n).
  @inlinable
  public var first: Element? { makeIterator().peek() }

  /// The entry with the greatest key. O(log n).
  @inlinable
  public var last: Element? { descending().peek() }

  /// The entry of a key, or the next above it if the key has none. O(log n).
  @inlinable
  package func first(from key: Key) -> Element? { ascending(from: key).peek() }

  /// The next entry above a key. O(log n).
  @inlinable
  package func first(after key: Key) -> Element? { ascending(after: key).peek() }

  /// The entry of a key, or the next below it if the key has none. O(log n).
  @inlinable
  package func last(through key: Key) -> Element? { descending(from: key).peek() }

  /// The next entry below a key. O(log n).
  @inlinable
  package func last(before key: Key) -> Element? { descending(before: key).peek() }

  // MARK: Many

  /// All entries from a key on, including its own. O(log n) for the first, then O(1) for each.
  @inlinable
  public func ascending(from key: Key) -> Ascending {
    Ascending(root: root, above: MapEdge(before: key))
  }

  /// All entries above a key. O(log n) for the first, then O(1) for each.
  @inlinable
  package func ascending(after key: Key) -> Ascending {
    Ascending(root: root, above: MapEdge(after: key))
  }

  /// All entries, descending.
  @inlinable
  package func descending() -> Descending { Descending(root: root, below: nil) }

  /// All entries from a key down, including its own. O(log n) for the first, then O(1) for each.
  @inlinable
  package func descending(from key: Key) -> Descending {
    Descending(root: root, below: MapEdge(after: key))
  }

  /// All entries below a key, descending. O(log n) for the first, then O(1) for each.
  @inlinable
  package func descending(before key: Key) -> Descending {
    Descending(root: root, below: MapEdge(before: key))
  }
}

extension VersionedMap {
  /// Shows `body` every entry from `start` on in place, ascending, until it returns `true`.
  /// Iterating would copy each entry; for a large value that takes longer than looking at it.
  @inlinable
  @inline(__always)
  package func look(from start: Key?, _ body: (Key, borrowing Value) -> Bool) {
    guard let root else { return }
    withExtendedLifetime(root) {
      var next: Unmanaged<Node>? =
        unsafe start.map { unsafe root.leaf(for: $0) } ?? root.firstLeaf
      var isFirst = true
      while let leaf = unsafe next {
        unsafe next = unsafe leaf._withUnsafeGuaranteedRef { leaf in
          let (keys, values, count) = unsafe (leaf.keys, leaf.values, leaf.count)
          let first = isFirst ? start.map { leaf.countBelow($0) } ?? 0 : 0
          for index in first..<count
          where unsafe VersionedMap.shows(keys[index], &values[index], to: body) { return nil }
          return unsafe root.leaf(after: keys[count - 1])
        }
        isFirst = false
      }
    }
  }

  /// Passes the value `inout`, because reading it through a pointer would copy it first.
  @inlinable
  @inline(__always)
  static func shows(
    _ key: Key, _ value: inout Value, to body: (Key, borrowing Value) -> Bool
  ) -> Bool { body(key, value) }

  /// Returns the keys whose values satisfy `isSo`, ascending; all keys are tested if no range is
  /// given. O(n) in the range's entries, none of which is copied.
  @inlinable
  @inline(__always)
  package func keys(
    in range: ClosedRange<Key>? = nil, where isSo: (borrowing Value) -> Bool
  ) -> [Key] {
    var keys: [Key] = []
    look(from: range?.lowerBound) { key, value in
      if let range, key > range.upperBound { return true }
      if isSo(value) { keys.append(key) }
      return false
    }
    return keys
  }

  /// Returns whether any value satisfies `isSo`. O(n), and none is copied.
  @inlinable
  @inline(__always)
  package func hasValue(where isSo: (borrowing Value) -> Bool) -> Bool {
    var isThere = false
    look(from: nil) { _, value in
      isThere = isSo(value)
      return isThere
    }
    return isThere
  }
}

/// The entries of one leaf. Its pointers are valid as long as the leaf's tree.
@usableFromInline
@safe
struct MapRun<Key: Comparable, Value> {
  @usableFromInline let keys: UnsafeMutablePointer<Key>
  @usableFromInline let values: UnsafeMutablePointer<Value>
  @usableFromInline let count: Int

  @inlinable
  init(_ leaf: Unmanaged<MapNode<Key, Value>>) {
    unsafe (keys, values, count) = unsafe leaf._withUnsafeGuaranteedRef {
      unsafe ($0.keys, $0.values, $0.count)
    }
  }

  @inlinable
  func entry(_ index: Int) -> (key: Key, value: Value) { unsafe (keys[index], values[index]) }
}

extension VersionedMap {
  /// The entries of one version, ascending. It keeps what it needs of that version.
  @safe
  public struct Ascending: Sequence, IteratorProtocol {
    @usableFromInline let root: Node?
    /// The leaf with the next entry; `nil`: there is none.
    @usableFromInline var run: MapRun<Key, Value>?
    @usableFromInline var index = 0

    @inlinable
    init(root: Node?, above edge: MapEdge<Key>?) {
      self.root = root
      guard let root else { return }
      guard let edge else {
        run = unsafe MapRun(root.firstLeaf)
        return
      }
      let leaf = unsafe root.leaf(for: edge.key)
      run = unsafe MapRun(leaf)
      index = unsafe leaf._withUnsafeGuaranteedRef { edge.countBelow(in: $0) }
      if index == run!.count { goOn() }
    }

    @inlinable
    public mutating func next() -> Element? {
      guard let run else { return nil }
      return withExtendedLifetime(root) {
        let entry = run.entry(index)
        index += 1
        if index == run.count { goOn() }
        return entry
      }
    }

    @inlinable
    func peek() -> Element? { withExtendedLifetime(root) { run?.entry(index) } }

    @inlinable
    @inline(never)
    mutating func goOn() {
      guard let root, let run else { return }
      self.run = unsafe root.leaf(after: run.keys[run.count - 1]).map { unsafe MapRun($0) }
      index = 0
    }
  }

  /// The entries of one version, descending. It keeps what it needs of that version.
  @safe
  @usableFromInline
  package struct Descending: Sequence, IteratorProtocol {
    @usableFromInline let root: Node?
    /// The leaf with the next entry; `nil`: there is none.
    @usableFromInline var run: MapRun<Key, Value>?
    @usableFromInline var index = 0

    @inlinable
    init(root: Node?, below edge: MapEdge<Key>?) {
      self.root = root
      guard let root else { return }
      guard let edge else {
        run = unsafe MapRun(root.lastLeaf)
        index = run!.count - 1
        return
      }
      let leaf = unsafe root.leaf(for: edge.key)
      run = unsafe MapRun(leaf)
      index = unsafe leaf._withUnsafeGuaranteedRef { edge.countBelow(in: $0) } - 1
      if index < 0 { goOn() }
    }

    @inlinable
    package mutating func next() -> Element? {
      guard let run else { return nil }
      return withExtendedLifetime(root) {
        let entry = run.entry(index)
        index -= 1
        if index < 0 { goOn() }
        return entry
      }
    }

    @inlinable
    func peek() -> Element? { withExtendedLifetime(root) { run?.entry(index) } }

    @inlinable
    @inline(never)
    mutating func goOn() {
      guard let root, let run else { return }
      self.run = unsafe root.leaf(before: run.keys[0]).map { unsafe MapRun($0) }
      index = (self.run?.count ?? 0) - 1
    }
  }
}

// Sendable like their map: the nodes that they read do not change while they hold its root.
extension VersionedMap.Ascending: @unchecked Sendable where Key: Sendable, Value: Sendable {}
extension VersionedMap.Descending: @unchecked Sendable where Key: Sendable, Value: Sendable {}
