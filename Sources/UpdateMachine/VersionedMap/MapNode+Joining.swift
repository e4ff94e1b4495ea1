// Cutting a tree in two, and joining two trees: what a range removal is made of.
//
// A tree here is a map's root: a leaf with at least one entry, or a node with at least two
// children. Every node below it holds at least its minimum.

extension MapNode {
  /// Joins two trees; everything in `left` is below everything in `right`. O(difference of their
  /// heights).
  @inlinable
  static func joined(_ left: consuming MapNode?, _ right: consuming MapNode?) -> MapNode? {
    guard var left else { return right }
    guard var right else { return left }
    if left.level >= right.level {
      guard let second = append(right, to: &left) else { return left }
      return parent(of: left, second)
    }
    guard let second = prepend(left, to: &right) else { return right }
    return parent(of: right, second)
  }

  /// Makes a tree with two children.
  @inlinable
  static func parent(of left: MapNode, _ right: MapNode) -> MapNode {
    let parent = make(level: left.level + 1, limit: childrenMaximum)
    unsafe parent.keys.initialize(to: left.first)
    unsafe (parent.keys + 1).initialize(to: right.first)
    unsafe parent.children.initialize(to: left)
    unsafe (parent.children + 1).initialize(to: right)
    parent.count = 2
    parent.recount()
    return parent
  }

  /// Appends a tree that is not higher. If the node was split, returns its second half.
  @inlinable
  static func append(_ tree: consuming MapNode, to slot: inout MapNode) -> MapNode? {
    if slot.level == tree.level { return balance(&slot, &tree) ? nil : tree }
    own(&slot)
    slot.total += tree.total
    let last = slot.count - 1
    guard let second = unsafe append(tree, to: &slot.children[last]) else { return nil }
    return insertChild(second, at: last + 1, in: &slot)
  }

  /// Prepends a tree that is lower. If the node was split, returns its second half.
  @inlinable
  static func prepend(_ tree: consuming MapNode, to slot: inout MapNode) -> MapNode? {
    if slot.level == tree.level {
      let isOne = balance(&tree, &slot)
      swap(&tree, &slot)
      return isOne ? nil : tree
    }
    own(&slot)
    slot.total += tree.total
    let second = unsafe prepend(tree, to: &slot.children[0])
    unsafe slot.keys[0] = slot.children[0].first
    guard let second else { return nil }
    return insertChild(second, at: 1, in: &slot)
  }

  /// Returns the entries below an edge, and those above it, as trees. O(log n).
  @inlinable
  static func cut(
    _ tree: consuming MapNode, at edge: MapEdge<Key>
  ) -> (below: MapNode?, above: MapNode?) {
    let count = tree.count
    guard tree.level > 0 else {
      let index = edge.countBelow(in: tree)
      if index == 0 { return (nil, tree) }
      if index == count { return (tree, nil) }
      own(&tree)
      let above = tree.splitOff(from: index)
      return (tree, above)
    }
    own(&tree)
    let index = tree.childIndex(for: edge.key)
    let above = tree.splitOff(from: index + 1)
    let child = tree.popChild()
    tree.recount()
    let parts = cut(child, at: edge)
    return (joined(trimmed(tree), parts.below), joined(parts.above, trimmed(above)))
  }

  /// Turns an unshared node into a tree: `nil` if it is empty, and its child if it has only one.
  @inlinable
  static func trimmed(_ node: consuming MapNode) -> MapNode? {
    switch node.count {
    case 0: nil
    case 1 where node.level > 0: node.popChild()
    default: node
    }
  }

  /// Removes and returns the last child. The caller updates the total.
  @inlinable
  func popChild() -> MapNode {
    count -= 1
    unsafe (keys + count).deinitialize(count: 1)
    return unsafe (children + count).move()
  }
}

/// A position between keys: just before a key, or just after it.
@usableFromInline
struct MapEdge<Key: Comparable> {
  @usableFromInline var key: Key
  @usableFromInline var isAfter: Bool

  @inlinable
  init(before key: Key) {
    self.key = key
    isAfter = false
  }

  @inlinable
  init(after key: Key) {
    self.key = key
    isAfter = true
  }

  @inlinable
  func isAbove(_ other: Key) -> Bool { isAfter ? other <= key : other < key }

  /// Returns how many keys of a node are below this edge.
  @inlinable
  func countBelow<Value>(in node: MapNode<Key, Value>) -> Int {
    isAfter ? node.countThrough(key) : node.countBelow(key)
  }
}
