/// The header of a node.
@usableFromInline
struct MapNodeHead: BitwiseCopyable {
  /// The height above the leaves; 0: a leaf.
  @usableFromInline var level: UInt16
  /// The number of keys.
  @usableFromInline var count: UInt16
  /// The number of keys that there is memory for.
  @usableFromInline var limit: UInt16
  /// The number of entries in the node and below it.
  @usableFromInline var total: Int

  @inlinable
  init(level: Int, limit: Int) {
    self.level = UInt16(level)
    self.limit = UInt16(limit)
    count = 0
    total = 0
  }
}

/// A node of a ``VersionedMap``: a header, keys, and their values or children, in one allocation.
///
/// All entries are in the leaves (level 0), which hold keys and values. A node above them holds its
/// children, and the first key of each. So every node begins with its own first key, and ``keys``
/// are ascending and unique.
///
/// A node belongs to one map alone if it and all nodes above it are uniquely referenced. Such a
/// node is changed in place. Every other node is never changed again.
@usableFromInline
@safe
final class MapNode<Key: Comparable, Value>: ManagedBuffer<MapNodeHead, Key> {
  /// The most entries in a leaf. Measured with 100,000 numbers: with 128, reading is a sixth faster
  /// and scanning twice as fast, but a write after a fork, which copies a leaf, is nearly twice as
  /// slow. With 32, scanning is half as fast, and little else gains.
  @inlinable
  static var leafMaximum: Int { 64 }

  /// The most children of a node. A write after a fork retains all of them, at each height. With 32
  /// it takes half as long again, and nothing gains.
  @inlinable
  static var childrenMaximum: Int { 16 }

  /// How many entries a new leaf has memory for, since most maps are small.
  @inlinable
  static var leafLimitAtFirst: Int { 4 }

  @inlinable
  static func maximum(level: Int) -> Int { level == 0 ? leafMaximum : childrenMaximum }

  /// The least that every node but the root holds. With a quarter, a node that grows at one end can
  /// leave nodes behind that are three quarters full. And a node that was just split or merged is
  /// far from its next split or merge.
  @inlinable
  static func minimum(level: Int) -> Int { maximum(level: level) / 4 }

  @inlinable
  static func make(level: Int, limit: Int) -> MapNode {
    // Values or children come after the keys, aligned. Their memory is counted in keys.
    let (stride, alignment) =
      level == 0
      ? (MemoryLayout<Value>.stride, MemoryLayout<Value>.alignment)
      : (MemoryLayout<MapNode>.stride, MemoryLayout<MapNode>.alignment)
    let bytes = limit * stride + alignment - 1
    let keyStride = MemoryLayout<Key>.stride
    let node = MapNode.create(minimumCapacity: limit + (bytes + keyStride - 1) / keyStride) { _ in
      MapNodeHead(level: level, limit: limit)
    }
    return unsafe unsafeDowncast(node, to: MapNode.self)
  }

  deinit {
    unsafe keys.deinitialize(count: count)
    if level == 0 {
      unsafe values.deinitialize(count: count)
    } else {
      unsafe children.deinitialize(count: count)
    }
  }

  // MARK: Memory

  @inlinable
  var head: UnsafeMutablePointer<MapNodeHead> {
    unsafe withUnsafeMutablePointerToHeader { unsafe $0 }
  }

  @inlinable
  var keys: UnsafeMutablePointer<Key> {
    unsafe withUnsafeMutablePointerToElements { unsafe $0 }
  }

  /// The values, one for each key. Only in a leaf.
  @inlinable
  var values: UnsafeMutablePointer<Value> {
    unsafe UnsafeMutableRawPointer(keys + limit).alignedUp(for: Value.self)
      .assumingMemoryBound(to: Value.self)
  }

  /// The children, one for each key. Not in a leaf.
  @inlinable
  var children: UnsafeMutablePointer<MapNode> {
    unsafe UnsafeMutableRawPointer(keys + limit).alignedUp(for: MapNode.self)
      .assumingMemoryBound(to: MapNode.self)
  }

  @inlinable
  var level: Int { unsafe Int(truncatingIfNeeded: head.pointee.level) }

  @inlinable
  var limit: Int { unsafe Int(truncatingIfNeeded: head.pointee.limit) }

  @inlinable
  var count: Int {
    get { unsafe Int(truncatingIfNeeded: head.pointee.count) }
    set { unsafe head.pointee.count = UInt16(truncatingIfNeeded: newValue) }
  }

  @inlinable
  var total: Int {
    get { unsafe head.pointee.total }
    set { unsafe head.pointee.total = newValue }
  }

  @inlinable
  var first: Key { unsafe keys[0] }

  /// The child at `index`, not retained. It lives as long as this node is not changed.
  @inlinable
  @inline(__always)
  func link(_ index: Int) -> Unmanaged<MapNode> {
    unsafe UnsafeRawPointer(children + index).load(as: Unmanaged<MapNode>.self)
  }

  // MARK: Search

  /// Returns how many keys, from `start` on, are below `key`.
  @inlinable
  func countBelow(_ key: Key, from start: Int = 0) -> Int {
    let keys = unsafe keys + start
    return MapNode.count(upTo: count &- start) { unsafe keys[$0] < key }
  }

  /// Returns how many keys, from `start` on, are not above `key`.
  @inlinable
  func countThrough(_ key: Key, from start: Int = 0) -> Int {
    let keys = unsafe keys + start
    return MapNode.count(upTo: count &- start) { unsafe !(key < keys[$0]) }
  }

  /// Returns how many numbers from 0 on satisfy `isIn`. All that do come before all that do not.
  ///
  /// A binary search whose length shrinks alike whichever half it takes. For plain keys (numbers)
  /// it adds the half by a shift. The compiler makes a branch of anything else, and the processor
  /// mispredicts about half of those branches; with the shift a search takes half as long. For keys
  /// that are read from elsewhere (long texts) the branch is better: the processor reads ahead when
  /// it predicts rightly.
  @inlinable
  @inline(__always)
  static func count(upTo count: Int, isIn: (Int) -> Bool) -> Int {
    guard count > 0 else { return 0 }
    var base = 0
    var length = count
    while length > 1 {
      let half = length &>> 1
      if _isPOD(Key.self) {
        base &+= half &<< (isIn(base &+ half &- 1) ? 1 : 0) &- half
      } else if isIn(base &+ half &- 1) {
        base &+= half
      }
      length &-= half
    }
    return base &+ (isIn(base) ? 1 : 0)
  }

  /// The child that holds `key` if any does: the last that does not begin above it, or the first.
  @inlinable
  func childIndex(for key: Key) -> Int { countThrough(key, from: 1) }

  /// The index of `key` in this leaf.
  @inlinable
  func index(of key: Key) -> Int? {
    let index = countBelow(key)
    guard index < count, unsafe keys[index] == key else { return nil }
    return index
  }

  /// The leaf that holds `key` if any does.
  @inlinable
  func leaf(for key: Key) -> Unmanaged<MapNode> {
    var node = unsafe Unmanaged.passUnretained(self)
    while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
      unsafe node = unsafe node._withUnsafeGuaranteedRef {
        unsafe $0.link($0.childIndex(for: key))
      }
    }
    return unsafe node
  }

  /// The leaf after the one that holds `key` or would hold it.
  @inlinable
  func leaf(after key: Key) -> Unmanaged<MapNode>? {
    var node = unsafe Unmanaged.passUnretained(self)
    var next: Unmanaged<MapNode>?
    while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
      unsafe (node, next) = unsafe node._withUnsafeGuaranteedRef {
        let index = $0.childIndex(for: key)
        return unsafe ($0.link(index), index + 1 < $0.count ? $0.link(index + 1) : next)
      }
    }
    return unsafe next.map { unsafe $0._withUnsafeGuaranteedRef { unsafe $0.firstLeaf } }
  }

  /// The leaf before the one that holds `key` or would hold it.
  @inlinable
  func leaf(before key: Key) -> Unmanaged<MapNode>? {
    var node = unsafe Unmanaged.passUnretained(self)
    var previous: Unmanaged<MapNode>?
    while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
      unsafe (node, previous) = unsafe node._withUnsafeGuaranteedRef {
        let index = $0.childIndex(for: key)
        return unsafe ($0.link(index), index > 0 ? $0.link(index - 1) : previous)
      }
    }
    return unsafe previous.map { unsafe $0._withUnsafeGuaranteedRef { unsafe $0.lastLeaf } }
  }

  @inlinable
  var firstLeaf: Unmanaged<MapNode> {
    var node = unsafe Unmanaged.passUnretained(self)
    while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
      unsafe node = unsafe node._withUnsafeGuaranteedRef { unsafe $0.link(0) }
    }
    return unsafe node
  }

  @inlinable
  var lastLeaf: Unmanaged<MapNode> {
    var node = unsafe Unmanaged.passUnretained(self)
    while unsafe node._withUnsafeGuaranteedRef({ $0.level }) > 0 {
      unsafe node = unsafe node._withUnsafeGuaranteedRef { unsafe $0.link($0.count - 1) }
    }
    return unsafe node
  }
}
