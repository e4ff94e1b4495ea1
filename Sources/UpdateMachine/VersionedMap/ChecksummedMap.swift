/// A ``VersionedMap`` with a checksum that is kept up to date.
///
/// The checksum depends on the contents alone. Maps with equal contents have equal checksums, in
/// every process and on every platform, in whatever order they were changed, in forks or at once.
/// Maps with different contents have the same checksum by chance in 1 of 2⁶⁴ cases. It does not
/// withstand an adversary.
///
/// It is a type of its own because it is not free: every change digests its key and value, and a
/// range removal digests all that it removes. Maps without a checksum pay nothing, and this one
/// cannot be changed past its checksum. To read, fork or compare, take ``map``.
///
/// Text is digested as its UTF-8 bytes. Swift treats two spellings of a text as equal if Unicode
/// does (an accent within its letter, or after it), but they are digested differently. If keys or
/// values come in several spellings, normalise them first.
///
/// Source: a set's digest as the sum of its elements' digests is Bellare and Micciancio's
/// incremental hashing ("A new paradigm for collision-free hashing", 1997), here modulo 2⁶⁴.
public struct ChecksummedMap<Key: Comparable & Digestible, Value: Digestible> {
  @usableFromInline var entries: VersionedMap<Key, Value>
  @usableFromInline var sum: UInt64

  /// An empty map.
  @inlinable
  public init() {
    entries = VersionedMap()
    sum = 0
  }

  /// A map with these entries, all of which are digested. O(n).
  @inlinable
  package init(_ map: VersionedMap<Key, Value>) {
    entries = map
    sum = map.checksum
  }

  /// The entries. A copy of them is O(1).
  @inlinable
  public var map: VersionedMap<Key, Value> { entries }

  /// 0 for the empty map. O(1).
  @inlinable
  package var checksum: UInt64 { sum }

  /// The number of entries. O(1).
  @inlinable
  package var count: Int { entries.count }

  /// The value of a key; `nil` if there is none. Setting `nil` removes the entry. O(log n).
  @inlinable
  public subscript(key: Key) -> Value? {
    get { entries[key] }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
  }

  /// Sets a value; returns the old one. O(log n).
  @inlinable
  @discardableResult
  package mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    // The existing key stays, and may be spelled differently.
    let old = entries.entry(for: key)
    if let old { sum &-= entries.digest(old.key, old.value) }
    sum &+= entries.digest(old?.key ?? key, value)
    entries.updateValue(value, forKey: key)
    return old?.value
  }

  /// Removes an entry; returns its value, or `nil` if there was none. O(log n).
  @inlinable
  @discardableResult
  package mutating func removeValue(forKey key: Key) -> Value? {
    guard let old = entries.entry(for: key) else { return nil }
    sum &-= entries.digest(old.key, old.value)
    return entries.removeValue(forKey: key)
  }

  /// Removes every entry; the checksum is 0 again. Copies keep theirs.
  @inlinable
  package mutating func removeAll() { self = ChecksummedMap() }

  /// Removes the entries in the range; returns how many there were. O(log n + removed).
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: Range<Key>) -> Int {
    for (key, value) in entries.ascending(from: range.lowerBound) {
      guard key < range.upperBound else { break }
      sum &-= entries.digest(key, value)
    }
    return entries.removeAll(in: range)
  }

  /// Removes the entries in the range; returns how many there were. O(log n + removed).
  @inlinable
  @discardableResult
  package mutating func removeAll(in range: ClosedRange<Key>) -> Int {
    for (key, value) in entries.ascending(from: range.lowerBound) {
      guard key <= range.upperBound else { break }
      sum &-= entries.digest(key, value)
    }
    return entries.removeAll(in: range)
  }

  /// Gives every key in the difference its new value. Old values are not checked. O(changes × log
  /// n).
  @inlinable
  package mutating func apply(_ difference: VersionedMap<Key, Value>.Difference) {
    for change in difference.changes { self[change.key] = change.new }
  }
}

extension ChecksummedMap: Equatable where Value: Equatable {}

extension ChecksummedMap: Sendable where Key: Sendable, Value: Sendable {}

extension VersionedMap where Key: Digestible, Value: Digestible {
  /// The checksum that a ``ChecksummedMap`` of these entries has. O(n).
  @inlinable
  package var checksum: UInt64 {
    var sum: UInt64 = 0
    for (key, value) in self { sum &+= digest(key, value) }
    return sum
  }

  @inlinable
  func digest(_ key: Key, _ value: Value) -> UInt64 {
    var digest = StateDigest()
    key.fold(into: &digest)
    value.fold(into: &digest)
    return digest.value
  }
}
