/// A table of a saved form: one kind of row. The library's own are below ``firstOfModel``.
public struct StoredTable: BitwiseCopyable, Hashable, Sendable {
  /// The place of the table in the order of keys. Below 16 are the library's tables.
  public var number: UInt8

  /// Creates a table from its number; an app's model uses 16 and above.
  @inlinable
  public init(_ number: UInt8) { self.number = number }

  /// The first table of an app's model, which may use this one and all above.
  @inlinable
  public static var firstOfModel: StoredTable { StoredTable(16) }

  /// The table that is `count` above this one.
  @inlinable
  package func advanced(by count: UInt8) -> StoredTable { StoredTable(number + count) }
}

/// Identifies one row of a saved form.
public struct StoredKey: Hashable, Comparable, Sendable {
  /// The table that the row is in.
  public var table: StoredTable
  /// The key within the table; empty if the table has one row only.
  public var bytes: [UInt8]

  /// Creates the key of a row in a table.
  @inlinable
  public init(_ table: StoredTable, _ bytes: [UInt8]) {
    self.table = table
    self.bytes = bytes
  }

  /// Ordered by table, then byte by byte.
  @inlinable
  public static func < (one: StoredKey, other: StoredKey) -> Bool {
    guard one.table == other.table else { return one.table.number < other.table.number }
    return one.bytes.lexicographicallyPrecedes(other.bytes)
  }
}

/// A change of one row: its value from now on.
public struct StoredRow: Hashable, Sendable {
  /// The row that changes.
  public var key: StoredKey
  /// `nil`: the row is deleted.
  public var value: [UInt8]?

  /// Creates a change that writes a value; with `nil`, one that deletes the row.
  @inlinable
  public init(_ key: StoredKey, _ value: [UInt8]?) {
    self.key = key
    self.value = value
  }
}

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

extension StoredTable: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension StoredKey: CustomStringConvertible {
  /// Only the table: keys may be the user's.
  public var description: String { "table \(table)" }
}
