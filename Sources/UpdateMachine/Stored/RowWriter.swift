/// A writer that collects the rows that differ between two states of a replica.
public struct RowWriter: Sendable {
  /// In the order in which they were written, each key once.
  @inlinable
  package var rows: [StoredRow] { _rows }
  @usableFromInline var _rows: [StoredRow] = []
  /// Ranges whose rows are deleted, except ``rows``.
  @inlinable
  package var cleared: [RowRange] { _cleared }
  @usableFromInline var _cleared: [RowRange] = []

  @inlinable
  package init() {}

  /// Deletes the rows that older steps wrote in this range. Rows of this step stay.
  @inlinable
  package mutating func clear(_ range: RowRange) { _cleared.append(range) }

  /// Writes a row.
  @inlinable
  public mutating func put(_ table: StoredTable, _ key: [UInt8], _ value: [UInt8]) {
    _rows.append(StoredRow(StoredKey(table, key), value))
  }

  /// Deletes a row.
  @inlinable
  public mutating func remove(_ table: StoredTable, _ key: [UInt8]) {
    _rows.append(StoredRow(StoredKey(table, key), nil))
  }

  /// Writes a value that has a table to itself, if it differs from `old`.
  @inlinable
  public mutating func put<Value: Storable & Equatable>(
    _ table: StoredTable, _ value: Value, since old: Value?
  ) {
    if value != old { put(table, [], value.storedBytes) }
  }

  /// Writes the changed entries of a map, one row each. O(changes) if one map was made from the
  /// other.
  @inlinable
  public mutating func put<Key: StorableKey, Value: Storable & Equatable>(
    _ table: StoredTable, _ map: VersionedMap<Key, Value>, since old: VersionedMap<Key, Value>?
  ) {
    put(
      table, map, since: old, where: { $0 != $1 }, key: { $0.keyBytes }, value: { $0.storedBytes })
  }

  /// As above, for a map whose keys and values are not storable by themselves.
  @inlinable
  package mutating func put<Key: Comparable, Value>(
    _ table: StoredTable, _ map: VersionedMap<Key, Value>, since old: VersionedMap<Key, Value>?,
    where differ: (Value, Value) -> Bool, key keyBytes: (Key) -> [UInt8],
    value valueBytes: (Value) -> [UInt8]
  ) {
    guard let old else {
      for (key, value) in map { put(table, keyBytes(key), valueBytes(value)) }
      return
    }
    old.compare(with: map, where: differ) { key, _, new in
      if let new {
        put(table, keyBytes(key), valueBytes(new))
      } else {
        remove(table, keyBytes(key))
      }
      return true
    }
  }
}
