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
  /// Why a value could not be written; `nil`: all were. The rows are of no use then.
  @usableFromInline package private(set) var failure: StoredFormError?

  /// The bytes of one value after the other. A row gets a copy of them, which is one allocation, as
  /// long as the value. Bytes that grow with each value would take several, and more room.
  @usableFromInline var scratch = ByteWriter()

  @inlinable
  package init() {}

  /// Notes the first failure.
  @usableFromInline
  package mutating func note(_ failure: StoredFormError?) {
    self.failure = self.failure ?? failure
  }

  /// Returns what `body` writes. Notes why it could not.
  @inlinable
  mutating func bytes(_ body: (inout ByteWriter) -> Void) -> [UInt8] {
    scratch.clear()
    body(&scratch)
    if let failure = scratch.failure { note(failure) }
    // A copy of the bytes themselves: an array of a whole slice would share its buffer.
    return unsafe scratch._bytes.withUnsafeBufferPointer { unsafe [UInt8]($0) }
  }

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

  /// Writes a value that has a table to itself, if its saved form differs from that of `old`.
  @inlinable
  public mutating func put<Value: Storable & Equatable>(
    _ table: StoredTable, _ value: Value, since old: Value?
  ) {
    let bytes = bytes { value.put(into: &$0) }
    if bytes != old?.storedBytes { put(table, [], bytes) }
  }

  /// Writes the entries of a map whose saved form has changed, one row each. O(changes) if one map
  /// was made from the other. No `==` of the app's decides what is saved.
  @inlinable
  public mutating func put<Key: StorableKey, Value: Storable & Equatable>(
    _ table: StoredTable, _ map: VersionedMap<Key, Value>, since old: VersionedMap<Key, Value>?
  ) {
    put(
      table, map, since: old, where: { $0.storedBytes != $1.storedBytes }, key: { $0.keyBytes },
      value: { $0.put(into: &$1) })
  }

  /// As above, for a map whose keys and values are not storable by themselves.
  @inlinable
  package mutating func put<Key: Comparable, Value>(
    _ table: StoredTable, _ map: VersionedMap<Key, Value>, since old: VersionedMap<Key, Value>?,
    where differ: (Value, Value) -> Bool, key keyBytes: (Key) -> [UInt8],
    value putValue: (borrowing Value, inout ByteWriter) -> Void
  ) {
    guard let old else {
      map.look(from: nil) { key, value in
        put(table, keyBytes(key), bytes { putValue(value, &$0) })
        return false
      }
      return
    }
    old.compare(with: map, where: differ) { key, _, new in
      if let new {
        put(table, keyBytes(key), bytes { putValue(new, &$0) })
      } else {
        remove(table, keyBytes(key))
      }
      return true
    }
  }
}
