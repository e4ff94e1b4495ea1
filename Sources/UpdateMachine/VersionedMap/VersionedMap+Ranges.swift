// Counting and removing ranges of keys.

extension VersionedMap {
  /// Returns how many keys are in the range. O(log n).
  @inlinable
  package func count(in range: Range<Key>) -> Int {
    countBelow(MapEdge(before: range.upperBound)) - countBelow(MapEdge(before: range.lowerBound))
  }

  /// Returns how many keys are in the range. O(log n).
  @inlinable
  package func count(in range: ClosedRange<Key>) -> Int {
    countBelow(MapEdge(after: range.upperBound)) - countBelow(MapEdge(before: range.lowerBound))
  }

  /// Removes the entries in the range; returns how many there were. O(log n), plus freeing them.
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: Range<Key>) -> Int {
    removeAll(above: MapEdge(before: range.lowerBound), below: MapEdge(before: range.upperBound))
  }

  /// Removes the entries in the range; returns how many there were. O(log n), plus freeing them.
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: ClosedRange<Key>) -> Int {
    removeAll(above: MapEdge(before: range.lowerBound), below: MapEdge(after: range.upperBound))
  }

  /// Removes the entries from a key on; returns how many there were. O(log n), plus freeing them.
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: PartialRangeFrom<Key>) -> Int {
    removeAll(above: MapEdge(before: range.lowerBound), below: nil)
  }

  /// Removes the entries below a key; returns how many there were. O(log n), plus freeing them.
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: PartialRangeUpTo<Key>) -> Int {
    removeAll(above: nil, below: MapEdge(before: range.upperBound))
  }

  /// Removes the entries up to a key, including its own; returns how many there were. O(log n),
  /// plus freeing them.
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: PartialRangeThrough<Key>) -> Int {
    removeAll(above: nil, below: MapEdge(after: range.upperBound))
  }

  @inlinable
  mutating func removeAll(above lower: MapEdge<Key>?, below upper: MapEdge<Key>?) -> Int {
    let before = count
    // A cut copies shared nodes, so cut only if there is something to remove.
    guard let next = Ascending(root: root, above: lower).peek(),
      upper?.isAbove(next.key) ?? true
    else { return 0 }
    var kept: Node?
    var rest = root
    root = nil
    if let lower, let tree = rest.take() { (kept, rest) = Node.cut(tree, at: lower) }
    if let upper, let tree = rest.take() {
      rest = Node.cut(tree, at: upper).above
    } else {
      rest = nil
    }
    root = Node.joined(kept, rest)
    return before - count
  }

  /// Returns how many entries are below an edge.
  @inlinable
  func countBelow(_ edge: MapEdge<Key>) -> Int {
    guard let root else { return 0 }
    return withExtendedLifetime(root) {
      var count = 0
      var node = unsafe Unmanaged.passUnretained(root)
      while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
        unsafe node = unsafe node._withUnsafeGuaranteedRef {
          let index = $0.childIndex(for: edge.key)
          for left in 0..<index {
            count += unsafe $0.link(left)._withUnsafeGuaranteedRef { $0.total }
          }
          return unsafe $0.link(index)
        }
      }
      return unsafe count + node._withUnsafeGuaranteedRef { edge.countBelow(in: $0) }
    }
  }
}
