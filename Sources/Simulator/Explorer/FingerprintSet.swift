/// A set of fingerprints in 256 tables: 7 bytes per slot, because the table says the eighth byte.
///
/// A fingerprint's highest byte is the number of its table. In the table it is found by open
/// addressing with linear probing: its home is the high word of the product of the other seven
/// bytes with the capacity (Lemire, "Fast random integer generation in an interval", 2019). So the
/// capacity may be any number. Homes have the order of the fingerprints, so growing reads and
/// writes memory almost sequentially.
///
/// The tables grow one after the other, each by an eighth, whenever thirteen sixteenths of all
/// slots are filled (Litwin, "Linear hashing", 1980; Larson's partial expansions). So the set never
/// takes much more than 7 × 16 / 13 = 8.6 bytes for each. Nothing of a fingerprint is lost.
@usableFromInline
@safe
struct FingerprintSet: ~Copyable {
  @usableFromInline let tables: UnsafeMutablePointer<Table>
  /// The memory of all tables.
  @usableFromInline private(set) var bytes: UInt64 = 0
  @usableFromInline private(set) var count = 0
  /// The most fingerprints before a table must grow.
  @usableFromInline var limit = 0
  /// The slots of all tables.
  @usableFromInline var capacity = 0
  /// The table that grows next, and the capacity that it will have, as those before it have.
  @usableFromInline var next = 0
  @usableFromInline var nextCapacity = 0

  /// One table. A free slot is 0, so whether 0 itself is in the table is stored apart.
  @usableFromInline
  @safe
  struct Table {
    @usableFromInline var slots: UnsafeMutableRawPointer
    @usableFromInline var capacity: Int
    /// How many more fit before this table must grow out of its turn.
    @usableFromInline var room: Int
    @usableFromInline var holdsZero = false

    @inlinable
    init(capacity: Int) {
      self.capacity = capacity
      room = capacity - (capacity + 15) / 16
      let size = FingerprintSet.size(of: capacity)
      unsafe slots = .allocate(byteCount: size, alignment: 8)
      unsafe slots.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    }

    @inlinable
    mutating func grow(to larger: Int) {
      let old = self
      self = Table(capacity: larger)
      holdsZero = old.holdsZero
      for slot in 0..<old.capacity {
        let stored = (unsafe FingerprintSet.read(old.slots, slot)) & FingerprintSet.mask
        guard stored != 0 else { continue }
        unsafe FingerprintSet.write(slots, FingerprintSet.find(stored, in: self).slot, stored)
        room &-= 1
      }
      unsafe old.slots.deallocate()
    }
  }

  @inlinable static var tableCount: Int { 256 }
  /// The seven bytes that are stored.
  @inlinable static var mask: UInt64 { (1 << 56) - 1 }
  @inlinable static var smallest: Int { 16 }

  /// The bytes of a table. Slots are read as eight bytes, so there is one byte more at its end.
  @inlinable
  static func size(of capacity: Int) -> Int { capacity * 7 + 1 }

  /// Thirteen sixteenths. At that load a successful probe visits 3 slots and an unsuccessful one 15
  /// (Knuth, TAOCP 3, 6.4): a cache line or two.
  @inlinable
  static func usual(_ capacity: Int) -> Int { capacity / 16 * 13 }

  /// The load when there is no memory left to grow: slower, but still working.
  @inlinable
  static func crowded(_ capacity: Int) -> Int { capacity / 8 * 7 }

  @inlinable
  init() {
    unsafe tables = .allocate(capacity: Self.tableCount)
    for number in 0..<Self.tableCount {
      unsafe (tables + number).initialize(to: Table(capacity: Self.smallest))
      bytes += UInt64(Self.size(of: Self.smallest) + MemoryLayout<Table>.stride)
    }
    capacity = Self.tableCount * Self.smallest
    limit = Self.usual(capacity)
    nextCapacity = Self.larger(Self.smallest)
  }

  @inlinable
  static func larger(_ capacity: Int) -> Int { capacity + (capacity + 7) / 8 }

  @inlinable
  deinit {
    for number in 0..<Self.tableCount { unsafe tables[number].slots.deallocate() }
    unsafe tables.deallocate()
  }

  @inlinable
  @inline(__always)
  static func table(of fingerprint: UInt64) -> Int { Int(truncatingIfNeeded: fingerprint >> 56) }

  @inlinable
  @inline(__always)
  static func home(of fingerprint: UInt64, _ capacity: Int) -> Int {
    Int(truncatingIfNeeded: (fingerprint << 8).multipliedFullWidth(by: UInt64(capacity)).high)
  }

  /// The eight bytes at a slot; the first seven are the slot's.
  @inlinable
  @inline(__always)
  static func read(_ slots: UnsafeMutableRawPointer, _ slot: Int) -> UInt64 {
    UInt64(littleEndian: unsafe slots.loadUnaligned(fromByteOffset: slot &* 7, as: UInt64.self))
  }

  /// Fills a free slot.
  @inlinable
  @inline(__always)
  static func write(_ slots: UnsafeMutableRawPointer, _ slot: Int, _ stored: UInt64) {
    let both = (unsafe read(slots, slot)) | stored
    unsafe slots.storeBytes(of: both.littleEndian, toByteOffset: slot &* 7, as: UInt64.self)
  }

  /// Some bits at the home of a fingerprint. Reading many homes at once loads their cache lines in
  /// parallel; inserting one after the other would wait for each.
  @inlinable
  @inline(__always)
  func touch(_ fingerprint: UInt64) -> UInt64 {
    let table = unsafe tables[Self.table(of: fingerprint)]
    return unsafe Self.read(table.slots, Self.home(of: fingerprint, table.capacity))
  }

  /// The slot of a fingerprint in its table, and whether it is there already or would go there.
  @inlinable
  @inline(__always)
  static func find(_ stored: UInt64, in table: Table) -> (slot: Int, isThere: Bool) {
    var slot = home(of: stored, table.capacity)
    while true {
      let found = (unsafe read(table.slots, slot)) & mask
      if found == stored { return (slot, true) }
      if found == 0 { return (slot, false) }
      slot &+= 1
      if slot == table.capacity { slot = 0 }
    }
  }

  /// Whether the set contains a fingerprint.
  @inlinable
  func contains(_ fingerprint: UInt64) -> Bool {
    let table = unsafe tables[Self.table(of: fingerprint)]
    let stored = fingerprint & Self.mask
    return stored == 0 ? table.holdsZero : Self.find(stored, in: table).isThere
  }

  /// Inserts; returns whether it was new. Needs room: see ``makeRoom(for:within:)``.
  @inlinable
  @inline(__always)
  mutating func insert(_ fingerprint: UInt64) -> Bool {
    let number = Self.table(of: fingerprint)
    let stored = fingerprint & Self.mask
    if stored == 0 {
      let isNew = unsafe !tables[number].holdsZero
      unsafe tables[number].holdsZero = true
      count &+= isNew ? 1 : 0
      return isNew
    }
    let (slot, isThere) = unsafe Self.find(stored, in: tables[number])
    if isThere { return false }
    unsafe Self.write(tables[number].slots, slot, stored)
    unsafe tables[number].room &-= 1
    count &+= 1
    return true
  }

  /// Makes room for a fingerprint; returns false if the set would then take more than `bytes`.
  @inlinable
  @inline(__always)
  mutating func makeRoom(for fingerprint: UInt64, within bytes: UInt64) -> Bool {
    let number = Self.table(of: fingerprint)
    return count < limit && (unsafe tables[number].room) > 0
      || makeRoom(in: number, within: bytes)
  }

  @inlinable
  @inline(never)
  mutating func makeRoom(in number: Int, within bytes: UInt64) -> Bool {
    while count >= limit {
      let hasGrown = (unsafe tables[next].capacity) >= nextCapacity
      if hasGrown || grow(next, to: nextCapacity, within: bytes) {
        next += 1
        if next == Self.tableCount {
          next = 0
          nextCapacity = Self.larger(nextCapacity)
        }
        limit = Self.usual(capacity)
      } else {
        guard count < Self.crowded(capacity) else { return false }
        limit = Self.crowded(capacity)
      }
    }
    if (unsafe tables[number].room) > 0 { return true }
    return grow(number, to: Self.larger(unsafe tables[number].capacity), within: bytes)
  }

  /// Returns false if there is no memory. The old table is held while the new one is filled.
  @inlinable
  mutating func grow(_ number: Int, to larger: Int, within bytes: UInt64) -> Bool {
    let old = unsafe tables[number].capacity
    guard self.bytes + UInt64(Self.size(of: larger)) <= bytes else { return false }
    unsafe tables[number].grow(to: larger)
    self.bytes += UInt64(Self.size(of: larger) - Self.size(of: old))
    capacity += larger - old
    return true
  }
}
