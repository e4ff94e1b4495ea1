/// A ``VersionedMap`` with a checksum that is kept while it changes.
///
/// The checksum says what is in the map, and nothing else: whatever was set and removed, in whatever
/// order, in forks or at once, maps of equal contents have equal checksums, in every process and on
/// every platform. Two maps of different contents have the same one by chance in 1 of 2⁶⁴ cases; it
/// is not made to withstand an adversary.
///
/// It is a type of its own because it is not free: every change digests its key and value, and a
/// range removal all that it removes. A map whose checksum nobody asks for pays nothing; and nobody
/// can change this one past its checksum. Whoever reads, forks or compares takes ``map``.
///
/// Text is digested as its bytes in UTF-8. Swift takes two spellings of a text for equal if Unicode
/// does (an accent within its letter, or after it); yet they are digested differently. If keys or
/// values come in several spellings, normalise them first.
///
/// Source: the sum of the elements' digests as the digest of a set is Bellare and Micciancio's
/// incremental hashing ("A new paradigm for collision-free hashing", 1997), here modulo 2⁶⁴.
public struct ChecksummedMap<Key: Comparable & Digestible, Value: Digestible> {
  @usableFromInline var entries: VersionedMap<Key, Value>
  @usableFromInline var sum: UInt64

  /// Empty.
  @inlinable
  public init() {
    entries = VersionedMap()
    sum = 0
  }

  /// With the entries of a map, all of which are digested. O(n).
  @inlinable
  public init(_ map: VersionedMap<Key, Value>) {
    entries = map
    sum = map.checksum
  }

  /// The entries. A copy of them is O(1).
  @inlinable
  public var map: VersionedMap<Key, Value> { entries }

  /// 0 for the empty map. O(1).
  @inlinable
  public var checksum: UInt64 { sum }

  @inlinable
  public var count: Int { entries.count }

  /// The value of a key; `nil`: there is none, or when set, there shall be none. O(log n).
  @inlinable
  public subscript(key: Key) -> Value? {
    get { entries[key] }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
  }

  /// Sets a value; returns the one that was there. O(log n).
  @inlinable
  @discardableResult
  public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    // The key that is there stays, and may be spelled differently.
    let old = entries.entry(for: key)
    if let old { sum &-= entries.digest(old.key, old.value) }
    sum &+= entries.digest(old?.key ?? key, value)
    entries.updateValue(value, forKey: key)
    return old?.value
  }

  /// Removes an entry; returns its value, or `nil` if there was none. O(log n).
  @inlinable
  @discardableResult
  public mutating func removeValue(forKey key: Key) -> Value? {
    guard let old = entries.entry(for: key) else { return nil }
    sum &-= entries.digest(old.key, old.value)
    return entries.removeValue(forKey: key)
  }

  @inlinable
  public mutating func removeAll() { self = ChecksummedMap() }

  /// Removes the entries whose keys are in the range; returns how many they were. O(log n + removed).
  @inlinable
  @discardableResult
  public mutating func removeAll(in range: Range<Key>) -> Int {
    for (key, value) in entries.ascending(from: range.lowerBound) {
      guard key < range.upperBound else { break }
      sum &-= entries.digest(key, value)
    }
    return entries.removeAll(in: range)
  }

  /// Removes the entries whose keys are in the range; returns how many they were. O(log n + removed).
  @inlinable
  @discardableResult
  public mutating func removeAll(in range: ClosedRange<Key>) -> Int {
    for (key, value) in entries.ascending(from: range.lowerBound) {
      guard key <= range.upperBound else { break }
      sum &-= entries.digest(key, value)
    }
    return entries.removeAll(in: range)
  }

  /// Gives every key the value that the difference says is new. What it says is old is not looked at.
  /// O(changes × log n).
  @inlinable
  public mutating func apply(_ difference: VersionedMap<Key, Value>.Difference) {
    for change in difference.changes { self[change.key] = change.new }
  }
}

extension ChecksummedMap: Equatable where Value: Equatable {
  @inlinable
  public static func == (one: ChecksummedMap, other: ChecksummedMap) -> Bool {
    one.entries == other.entries
  }
}

extension ChecksummedMap: Sendable where Key: Sendable, Value: Sendable {}

extension VersionedMap where Key: Digestible, Value: Digestible {
  /// The checksum that a ``ChecksummedMap`` of these entries has. O(n).
  @inlinable
  public var checksum: UInt64 {
    var sum: UInt64 = 0
    for (key, value) in self { sum &+= digest(key, value) }
    return sum
  }

  @inlinable
  func digest(_ key: Key, _ value: Value) -> UInt64 {
    var digest = Digest()
    key.fold(into: &digest)
    value.fold(into: &digest)
    return digest.value
  }
}
