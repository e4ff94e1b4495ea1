/// A set of fingerprints: open addressing with linear probing, 8 bytes per slot.
///
/// A fingerprint's home is the high word of its product with the capacity (Lemire, "Fast random
/// integer generation in an interval", 2019). So the capacity may be any number, and the table
/// grows by half instead of doubling. Homes have the order of the fingerprints, so growing reads
/// and writes memory almost sequentially.
@usableFromInline
@safe
struct FingerprintSet: ~Copyable {
  @usableFromInline var slots: UnsafeMutablePointer<UInt64>
  @usableFromInline var capacity: Int
  /// The number of fingerprints in the table, not counting 0.
  @usableFromInline var filled = 0
  /// The most fingerprints before the table must grow.
  @usableFromInline var limit: Int
  /// 0 marks a free slot, so whether 0 itself is in the set is stored here.
  @usableFromInline var holdsZero = false

  /// Three quarters. At that load a successful probe visits 2.5 slots and an unsuccessful one 8.5
  /// (Knuth, TAOCP 3, 6.4): a cache line or two.
  @inlinable
  static func usual(_ capacity: Int) -> Int { capacity / 4 * 3 }

  /// The load when there is no memory left to grow: slower, but still working.
  @inlinable
  static func crowded(_ capacity: Int) -> Int { capacity / 8 * 7 }

  @inlinable
  init(capacity: Int) {
    precondition(capacity >= 8, "a table needs a few slots")
    self.capacity = capacity
    limit = FingerprintSet.usual(capacity)
    unsafe slots = .allocate(capacity: capacity)
    unsafe slots.initialize(repeating: 0, count: capacity)
  }

  @inlinable
  deinit { unsafe slots.deallocate() }

  @inlinable
  var count: Int { filled + (holdsZero ? 1 : 0) }

  @inlinable
  var bytes: UInt64 { UInt64(capacity) * 8 }

  @inlinable
  @inline(__always)
  func home(of fingerprint: UInt64) -> Int {
    Int(truncatingIfNeeded: fingerprint.multipliedFullWidth(by: UInt64(capacity)).high)
  }

  /// Some bits at the home of a fingerprint. Reading many homes at once loads their cache lines in
  /// parallel; inserting one after the other would wait for each.
  @inlinable
  @inline(__always)
  func touch(_ fingerprint: UInt64) -> UInt64 { unsafe slots[home(of: fingerprint)] }

  /// Whether the set contains a fingerprint.
  @inlinable
  @inline(__always)
  func contains(_ fingerprint: UInt64) -> Bool {
    if fingerprint == 0 { return holdsZero }
    var slot = home(of: fingerprint)
    while true {
      let found = unsafe slots[slot]
      if found == fingerprint { return true }
      if found == 0 { return false }
      slot &+= 1
      if slot == capacity { slot = 0 }
    }
  }

  /// Inserts; returns whether it was new. Needs room: see ``makeRoom(for:within:)``.
  @inlinable
  @inline(__always)
  mutating func insert(_ fingerprint: UInt64) -> Bool {
    if fingerprint == 0 {
      defer { holdsZero = true }
      return !holdsZero
    }
    var slot = home(of: fingerprint)
    while true {
      let found = unsafe slots[slot]
      if found == fingerprint { return false }
      if found == 0 { break }
      slot &+= 1
      if slot == capacity { slot = 0 }
    }
    unsafe slots[slot] = fingerprint
    filled &+= 1
    return true
  }

  /// Makes room for `more` fingerprints; returns false if that takes more than `bytes`. The old
  /// table is held while the new one is filled.
  @inlinable
  mutating func makeRoom(for more: Int, within bytes: UInt64) -> Bool {
    let wanted = filled + more
    if wanted <= limit { return true }
    var larger = capacity
    while FingerprintSet.usual(larger) < wanted { larger += larger / 2 }
    if UInt64(larger) * 8 + self.bytes <= bytes {
      grow(to: larger)
      return true
    }
    limit = FingerprintSet.crowded(capacity)
    return wanted <= limit
  }

  @inlinable
  @inline(never)
  mutating func grow(to larger: Int) {
    let old = unsafe slots
    let oldCapacity = capacity
    unsafe slots = .allocate(capacity: larger)
    unsafe slots.initialize(repeating: 0, count: larger)
    capacity = larger
    limit = FingerprintSet.usual(larger)
    filled = 0
    for slot in 0..<oldCapacity {
      let fingerprint = unsafe old[slot]
      if fingerprint != 0 { _ = insert(fingerprint) }
    }
    unsafe old.deallocate()
  }

  /// Empties the set and keeps its memory.
  @inlinable
  mutating func removeAll() {
    unsafe slots.update(repeating: 0, count: capacity)
    filled = 0
    holdsZero = false
  }
}
