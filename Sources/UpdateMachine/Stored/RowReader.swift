/// The rows of a saved form, from which a value is made.
public struct RowReader: Sendable {
  /// Ascending by key, each once.
  @inlinable
  package var rows: [(key: StoredKey, value: [UInt8])] { _rows }
  @usableFromInline var _rows: [(key: StoredKey, value: [UInt8])]
  /// The tables whose rows were not read: they are unloaded.
  @usableFromInline package let unloaded: [StoredTable]

  /// - Parameters:
  ///   - rows: ascending by key, each once. If they are not, the form is damaged.
  ///   - unloaded: the tables whose rows stay on disk.
  @inlinable
  public init(
    _ rows: [(key: StoredKey, value: [UInt8])], unloaded: [StoredTable] = []
  ) throws(StoredFormError) {
    self.unloaded = unloaded
    for index in rows.indices.dropFirst() where rows[index - 1].key >= rows[index].key {
      throw StoredFormError(expected: "rows in their order, each once")
    }
    _rows = rows
  }

  /// The same rows, with those of one table replaced, for a migration. Throws if the new rows do
  /// not ascend by key.
  @inlinable
  public func replacing(
    _ table: StoredTable, with rows: [(key: [UInt8], value: [UInt8])]
  ) throws(StoredFormError) -> RowReader {
    var all = _rows
    let new = rows.map { (key: StoredKey(table, $0.key), value: $0.value) }
    all.replaceSubrange(firstIndex(from: table)..<firstIndex(after: table), with: new)
    return try RowReader(all, unloaded: unloaded)
  }

  /// The rows of one table, ascending.
  @inlinable
  public subscript(table: StoredTable) -> ArraySlice<(key: StoredKey, value: [UInt8])> {
    _rows[firstIndex(from: table)..<firstIndex(after: table)]
  }

  @inlinable
  func firstIndex(from table: StoredTable) -> Int { partition { $0.number < table.number } }

  @inlinable
  func firstIndex(after table: StoredTable) -> Int { partition { $0.number <= table.number } }

  @inlinable
  func partition(_ isBefore: (StoredTable) -> Bool) -> Int {
    var (low, high) = (0, _rows.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(_rows[middle].key.table) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the value that has a table to itself; `nil` if it was never written.
  @inlinable
  public func value<Value: Storable>(
    of table: StoredTable, as type: Value.Type = Value.self
  ) throws(StoredFormError) -> Value? {
    guard let row = self[table].first else { return nil }
    guard row.key.bytes.isEmpty, self[table].count == 1 else {
      throw StoredFormError(expected: "one row")
    }
    return try Value(storedBytes: row.value)
  }

  /// Returns the map whose entries are a table's rows. O(n).
  @inlinable
  public func map<Key: StorableKey, Value: Storable>(
    of table: StoredTable, key: Key.Type = Key.self, value: Value.Type = Value.self
  ) throws(StoredFormError) -> VersionedMap<Key, Value> {
    var entries: [VersionedMap<Key, Value>.Element] = []
    let rows = self[table]
    entries.reserveCapacity(rows.count)
    for row in rows {
      let key = try Key(keyBytes: row.key.bytes)
      if let last = entries.last, last.key >= key { throw StoredFormError(expected: "an order") }
      entries.append((key: key, value: try Value(storedBytes: row.value)))
    }
    return VersionedMap(sorted: entries)
  }
}
