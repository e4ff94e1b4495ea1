// Changing nodes in place. A node is changed only while one map owns it alone (`own(_:)`).

extension MapNode {
  /// Replaces the node by a copy, unless it is uniquely referenced.
  @inlinable
  @inline(__always)
  static func own(_ slot: inout MapNode) {
    if !isKnownUniquelyReferenced(&slot) { slot = slot.copied() }
  }

  @inlinable
  @inline(never)
  func copied() -> MapNode {
    let copy = MapNode.make(level: level, limit: limit)
    unsafe copy.keys.initialize(from: keys, count: count)
    if level == 0 {
      unsafe copy.values.initialize(from: values, count: count)
    } else {
      unsafe copy.children.initialize(from: children, count: count)
    }
    copy.count = count
    copy.total = total
    return copy
  }

  /// Moves `number` keys, and their values or children, from `start` on to `place` in `other`,
  /// which is uninitialized. The caller updates the counts.
  @inlinable
  func move(_ number: Int, from start: Int, to other: MapNode, at place: Int) {
    guard number > 0 else { return }
    unsafe (other.keys + place).moveInitialize(from: keys + start, count: number)
    if level == 0 {
      unsafe (other.values + place).moveInitialize(from: values + start, count: number)
    } else {
      unsafe (other.children + place).moveInitialize(from: children + start, count: number)
    }
  }

  /// Recomputes the total from the children's totals.
  @inlinable
  func recount() {
    guard level > 0 else {
      total = count
      return
    }
    var sum = 0
    for index in 0..<count { sum += unsafe children[index].total }
    total = sum
  }

  /// Makes sure that the node has memory for `wanted` keys.
  @inlinable
  static func reserve(_ wanted: Int, in slot: inout MapNode) {
    guard slot.limit < wanted else { return }
    let limit = Swift.min(Swift.max(wanted, slot.limit * 2), maximum(level: slot.level))
    let larger = make(level: slot.level, limit: limit)
    slot.move(slot.count, from: 0, to: larger, at: 0)
    larger.count = slot.count
    larger.total = slot.total
    slot.count = 0
    slot = larger
  }

  /// Makes room for one more at `index`, in a second node if necessary. The caller puts it where
  /// the returned ``Gap`` says.
  @inlinable
  static func open(_ index: Int, in slot: inout MapNode) -> Gap {
    if slot.count < maximum(level: slot.level) {
      reserve(slot.count + 1, in: &slot)
      slot.move(slot.count - index, from: index, to: slot, at: index + 1)
      return Gap(index: index, isInSecond: false, second: nil)
    }
    // Keys that arrive at one end will not come back to the other, so cut near the growing end. In
    // a parent, the front is 1: behind its first child, which was split.
    let front = slot.level == 0 ? 0 : 1
    let quarter = slot.count / 4
    let cut = index <= front ? quarter : index == slot.count ? slot.count - quarter : slot.count / 2
    let second = slot.splitOff(from: cut)
    if index <= cut {
      slot.move(cut - index, from: index, to: slot, at: index + 1)
      return Gap(index: index, isInSecond: false, second: second)
    }
    second.move(second.count - (index - cut), from: index - cut, to: second, at: index - cut + 1)
    return Gap(index: index - cut, isInSecond: true, second: second)
  }

  /// Where room was made. The counts do not include it yet.
  @usableFromInline
  struct Gap {
    @usableFromInline var index: Int
    @usableFromInline var isInSecond: Bool
    @usableFromInline var second: MapNode?

    @inlinable
    init(index: Int, isInSecond: Bool, second: MapNode?) {
      self.index = index
      self.isInSecond = isInSecond
      self.second = second
    }
  }

  /// Moves everything from `cut` on to a new node, and returns it.
  @inlinable
  func splitOff(from cut: Int) -> MapNode {
    let second = MapNode.make(level: level, limit: MapNode.maximum(level: level))
    move(count - cut, from: cut, to: second, at: 0)
    second.count = count - cut
    count = cut
    second.recount()
    recount()
    return second
  }

  // MARK: One entry

  /// Sets one value, and puts the previous one into `old`. If the node was split, returns its
  /// second half.
  @inlinable
  static func set(
    _ value: consuming Value, for key: Key, in slot: inout MapNode, old: inout Value?
  ) -> MapNode? {
    own(&slot)
    guard slot.level > 0 else { return setInLeaf(value, for: key, in: &slot, old: &old) }
    let index = slot.childIndex(for: key)
    let second = unsafe set(value, for: key, in: &slot.children[index], old: &old)
    guard old == nil else { return nil }
    slot.total += 1
    if index == 0, key < slot.first { unsafe slot.keys[0] = key }
    guard let second else { return nil }
    return insertChild(second, at: index + 1, in: &slot)
  }

  @inlinable
  @inline(__always)
  static func setInLeaf(
    _ value: consuming Value, for key: Key, in slot: inout MapNode, old: inout Value?
  ) -> MapNode? {
    let index = slot.countBelow(key)
    if index < slot.count, unsafe slot.keys[index] == key {
      old = unsafe (slot.values + index).move()
      unsafe (slot.values + index).initialize(to: value)
      return nil
    }
    guard slot.count < slot.limit else {
      return insertWhereFull(value, for: key, at: index, in: &slot)
    }
    slot.move(slot.count - index, from: index, to: slot, at: index + 1)
    slot.insert(value, for: key, at: index)
    return nil
  }

  /// Puts an entry where room was made for it.
  @inlinable
  @inline(__always)
  func insert(_ value: consuming Value, for key: Key, at index: Int) {
    unsafe (keys + index).initialize(to: key)
    unsafe (values + index).initialize(to: value)
    count += 1
    total = count
  }

  @inlinable
  @inline(never)
  static func insertWhereFull(
    _ value: consuming Value, for key: Key, at index: Int, in slot: inout MapNode
  ) -> MapNode? {
    let gap = open(index, in: &slot)
    (gap.isInSecond ? gap.second! : slot).insert(value, for: key, at: gap.index)
    return gap.second
  }

  /// Inserts a child whose entries are counted already. If the node was split, returns its second
  /// half.
  @inlinable
  @inline(never)
  static func insertChild(
    _ child: MapNode, at index: Int, in slot: inout MapNode
  ) -> MapNode? {
    let gap = open(index, in: &slot)
    let node = gap.isInSecond ? gap.second! : slot
    unsafe (node.keys + gap.index).initialize(to: child.first)
    unsafe (node.children + gap.index).initialize(to: child)
    node.count += 1
    guard let second = gap.second else { return nil }
    second.recount()
    slot.recount()
    return second
  }

  /// Changes a value that exists.
  @inlinable
  static func modify<Result, Failure: Error>(
    _ key: Key, in slot: inout MapNode, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    own(&slot)
    if slot.level == 0 { return try unsafe body(&slot.values[slot.countBelow(key)]) }
    return try unsafe modify(key, in: &slot.children[slot.childIndex(for: key)], body)
  }

  /// Removes an entry that exists.
  @inlinable
  static func remove(_ key: Key, in slot: inout MapNode) -> Value {
    own(&slot)
    guard slot.level > 0 else {
      let index = slot.countBelow(key)
      unsafe (slot.keys + index).deinitialize(count: 1)
      let value = unsafe (slot.values + index).move()
      slot.move(slot.count - index - 1, from: index + 1, to: slot, at: index)
      slot.count -= 1
      slot.total = slot.count
      return value
    }
    let index = slot.childIndex(for: key)
    let value = unsafe remove(key, in: &slot.children[index])
    slot.total -= 1
    if unsafe slot.children[index].count < minimum(level: slot.level - 1) {
      slot.mend(index)
    } else if unsafe slot.keys[index] == key {
      unsafe slot.keys[index] = slot.children[index].first
    }
    return value
  }

  // MARK: Two neighbours

  /// Refills a child that holds too little from its neighbour, or merges the two.
  @inlinable
  @inline(never)
  func mend(_ index: Int) {
    let left = index > 0 ? index - 1 : 0
    let right = left + 1
    let isOne = unsafe MapNode.balance(&children[left], &children[right])
    unsafe keys[left] = children[left].first
    guard isOne else {
      unsafe keys[right] = children[right].first
      return
    }
    unsafe (keys + right).deinitialize(count: 1)
    unsafe (children + right).deinitialize(count: 1)
    move(count - right - 1, from: right + 1, to: self, at: right)
    count -= 1
  }

  /// Makes sure that two neighbours of one level hold enough each. If that needs a merge, the first
  /// gets all and the second is empty. Returns whether it merged.
  @inlinable
  static func balance(_ left: inout MapNode, _ right: inout MapNode) -> Bool {
    let level = left.level
    guard Swift.min(left.count, right.count) < minimum(level: level) else { return false }
    own(&left)
    own(&right)
    let sum = left.count + right.count
    // Not merged into a full node: the next insertion would split it.
    let isOne = sum <= maximum(level: level) / 4 * 3
    let wanted = isOne ? sum : sum / 2
    if left.count < wanted {
      let number = wanted - left.count
      reserve(wanted, in: &left)
      right.move(number, from: 0, to: left, at: left.count)
      right.move(right.count - number, from: number, to: right, at: 0)
    } else {
      let number = left.count - wanted
      reserve(sum - wanted, in: &right)
      right.move(right.count, from: 0, to: right, at: number)
      left.move(number, from: wanted, to: right, at: 0)
    }
    left.count = wanted
    right.count = sum - wanted
    left.recount()
    right.recount()
    return isOne
  }
}
