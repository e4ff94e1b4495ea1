// Unloaded rows: they stay on disk until they are needed. A model that leaves rows there says,
// before each step that involves them, which must be loaded.

/// The rows of one table between two keys, both included. Empty if the first key is above the last.
public struct RowRange: Hashable, Sendable {
  /// The table that the rows are in.
  public var table: StoredTable
  /// The lowest key of the range, which need not exist.
  public var first: [UInt8]
  /// The highest key of the range, which need not exist.
  public var last: [UInt8]

  /// Creates the range between two keys, both included.
  @inlinable
  public init(_ table: StoredTable, from first: [UInt8], through last: [UInt8]) {
    self.table = table
    self.first = first
    self.last = last
  }

  /// A range of one row.
  @inlinable
  package init(_ key: StoredKey) { self.init(key.table, from: key.bytes, through: key.bytes) }

  /// Whether the key is in the table and between the two ends, both included.
  @inlinable
  package func contains(_ key: StoredKey) -> Bool {
    key.table == table && !key.bytes.lexicographicallyPrecedes(first)
      && !last.lexicographicallyPrecedes(key.bytes)
  }
}

/// The order in which rows are read.
public enum RowOrder: Hashable, Sendable {
  /// From the first key of the range upwards.
  case ascending
  /// From the last key of the range downwards.
  case descending
}

/// A query for rows of a saved form.
public struct RowQuery: Hashable, Sendable {
  /// The keys to look at.
  public var range: RowRange
  /// The order of the rows, which also says where the limit counts from.
  public var order: RowOrder
  /// The most rows to return, counted from the end where the order begins. At least 1.
  public var limit: Int

  /// The largest limit, and the default.
  @inlinable
  package static var limitMaximum: Int { 10_000 }

  /// Creates a query. The limit is clamped to 1…10,000; the default is 10,000.
  @inlinable
  public init(
    _ range: RowRange, _ order: RowOrder = .ascending, limit: Int = RowQuery.limitMaximum
  ) {
    self.range = range
    self.order = order
    self.limit = max(1, min(limit, RowQuery.limitMaximum))
  }
}

/// The rows that a query found, as they were last saved.
public struct RowAnswer: Sendable {
  /// The query that this answers.
  @usableFromInline package var query: RowQuery
  /// In the query's order, each key once.
  @usableFromInline package var rows: [(key: StoredKey, value: [UInt8])]

  /// Creates an answer from rows in the query's order, each key once.
  @inlinable
  public init(_ query: RowQuery, _ rows: [(key: StoredKey, value: [UInt8])]) {
    self.query = query
    self.rows = rows
  }

  /// The part of the query's range that these rows cover completely. If the limit was reached, more
  /// rows may follow the last one.
  @inlinable
  package var covered: RowRange {
    var covered = query.range
    guard rows.count >= query.limit, let last = rows.last else { return covered }
    switch query.order {
    case .ascending: covered.last = last.key.bytes
    case .descending: covered.first = last.key.bytes
    }
    return covered
  }
}

extension VersionedMap<StoredKey, [UInt8]> {
  /// Returns the rows that match a query.
  @inlinable
  package func answer(to query: RowQuery) -> [(key: StoredKey, value: [UInt8])] {
    let range = query.range
    var found: [(key: StoredKey, value: [UInt8])] = []
    switch query.order {
    case .ascending:
      for row in ascending(from: StoredKey(range.table, range.first)) {
        guard range.contains(row.key), found.count < query.limit else { break }
        found.append(row)
      }
    case .descending:
      for row in descending(from: StoredKey(range.table, range.last)) {
        guard range.contains(row.key), found.count < query.limit else { break }
        found.append(row)
      }
    }
    return found
  }

  /// Removes all rows in a range.
  @inlinable
  package mutating func clear(_ range: RowRange) {
    let (first, last) = (StoredKey(range.table, range.first), StoredKey(range.table, range.last))
    if first <= last { removeAll(in: first...last) }
  }
}
