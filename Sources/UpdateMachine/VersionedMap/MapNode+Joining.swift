// Whole trees: cut in two, and joined. What a range removal is made of.
//
// A tree here is a root as a map has it: a leaf with one entry at least, or a node with two children
// at least; everything below it is as full as it must be.

extension MapNode {
  /// A tree of all that is in both; everything in `left` is below everything in `right`. O(difference
  /// of their heights).
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

  /// A tree of one child or of several.
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

  /// Hangs a tree that is not higher behind the entries of another. If the node had to be split,
  /// returns its second half.
  @inlinable
  static func append(_ tree: consuming MapNode, to slot: inout MapNode) -> MapNode? {
    if slot.level == tree.level { return balance(&slot, &tree) ? nil : tree }
    own(&slot)
    slot.total += tree.total
    let last = slot.count - 1
    guard let second = unsafe append(tree, to: &slot.children[last]) else { return nil }
    return insertChild(second, at: last + 1, in: &slot)
  }

  /// Hangs a tree that is lower before the entries of another. If the node had to be split, returns
  /// its second half.
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

  /// The entries below an edge, and those above it, as trees. O(log n).
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

  /// A node of our own as a tree: nothing without children, and an only child for itself.
  @inlinable
  static func trimmed(_ node: consuming MapNode) -> MapNode? {
    switch node.count {
    case 0: nil
    case 1 where node.level > 0: node.popChild()
    default: node
    }
  }

  /// Takes the last child out. Leaves the total to the caller.
  @inlinable
  func popChild() -> MapNode {
    count -= 1
    unsafe (keys + count).deinitialize(count: 1)
    return unsafe (children + count).move()
  }
}

/// A place between keys: just before a key, or just after it.
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

  /// How many keys of a node are below this edge.
  @inlinable
  func countBelow<Value>(in node: MapNode<Key, Value>) -> Int {
    isAfter ? node.countThrough(key) : node.countBelow(key)
  }
}
