/// The fingerprints seen so far: open addressing with linear probing, 8 bytes a slot.
///
/// A fingerprint's home is the high word of its product with the capacity (Lemire, "Fast random
/// integer generation in an interval", 2019). So the capacity may be any number, and the table grows
/// by half rather than by double; and homes have the order of the fingerprints, so that growing
/// reads and writes memory nearly from front to back.
@usableFromInline
@safe
struct FingerprintSet: ~Copyable {
  @usableFromInline var slots: UnsafeMutablePointer<UInt64>
  @usableFromInline var capacity: Int
  /// Fingerprints in the table, so without 0.
  @usableFromInline var filled = 0
  /// Up to how many may be in the table.
  @usableFromInline var limit: Int
  /// 0 marks a free slot, so that fingerprint has a place of its own.
  @usableFromInline var holdsZero = false

  /// Three quarters: at that load a probe looks at 2.5 slots if it finds, at 8.5 if it does not
  /// (Knuth, TAOCP 3, 6.4), which is a cache line or two.
  @inlinable
  static func usual(_ capacity: Int) -> Int { capacity / 4 * 3 }

  /// Where there is no memory left to grow: slower, but on.
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

  /// Some bits of the home of a fingerprint. To read many homes at once brings them into the cache
  /// together; to insert one after the other would wait for each.
  @inlinable
  @inline(__always)
  func touch(_ fingerprint: UInt64) -> UInt64 { unsafe slots[home(of: fingerprint)] }

  /// Whether it was new. There must be room: see ``makeRoom(for:within:)``.
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

  /// Sees to it that `more` fingerprints can be inserted; false if that takes more than `bytes`,
  /// the old table being held while the new one is filled.
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

  /// As new, with the memory it has.
  @inlinable
  mutating func removeAll() {
    unsafe slots.update(repeating: 0, count: capacity)
    filled = 0
    holdsZero = false
  }
}
