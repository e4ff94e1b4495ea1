// Rows that stay on the disk until somebody needs them: unloaded. A model that leaves some of its rows
// there says, before anything is done that they have a part in, which must be loaded.

/// Rows of one table between two keys, both included. A first key above the last is a range of none.
public struct RowRange: Hashable, Sendable {
  public var table: StoredTable
  public var first: [UInt8]
  public var last: [UInt8]

  @inlinable
  public init(_ table: StoredTable, from first: [UInt8], through last: [UInt8]) {
    self.table = table
    self.first = first
    self.last = last
  }

  /// One row.
  @inlinable
  public init(_ key: StoredKey) { self.init(key.table, from: key.bytes, through: key.bytes) }

  @inlinable
  public func contains(_ key: StoredKey) -> Bool {
    key.table == table && !key.bytes.lexicographicallyPrecedes(first)
      && !last.lexicographicallyPrecedes(key.bytes)
  }
}

/// Which way rows are read.
public enum RowOrder: Hashable, Sendable {
  case ascending
  case descending
}

/// A question for rows of a saved form.
public struct RowQuery: Hashable, Sendable {
  public var range: RowRange
  public var order: RowOrder
  /// So many at most, from the end of the range where the order begins. At least 1.
  public var limit: Int

  /// So many rows are asked for at once where no smaller number is wanted.
  @inlinable
  public static var limitMaximum: Int { 10_000 }

  @inlinable
  public init(
    _ range: RowRange, _ order: RowOrder = .ascending, limit: Int = RowQuery.limitMaximum
  ) {
    self.range = range
    self.order = order
    self.limit = max(1, min(limit, RowQuery.limitMaximum))
  }
}

/// The rows that a question found, as they were saved last.
public struct RowAnswer: Sendable {
  public var query: RowQuery
  /// In the order of the question, each key once.
  public var rows: [(key: StoredKey, value: [UInt8])]

  @inlinable
  public init(_ query: RowQuery, _ rows: [(key: StoredKey, value: [UInt8])]) {
    self.query = query
    self.rows = rows
  }

  /// What part of the question's range these are all rows of: where there are as many as were asked
  /// for there may be more behind the last of them.
  @inlinable
  public var covered: RowRange {
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
  /// The rows that a question finds among these.
  @inlinable
  public func answer(to query: RowQuery) -> [(key: StoredKey, value: [UInt8])] {
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

  /// None of these rows is left.
  @inlinable
  public mutating func clear(_ range: RowRange) {
    let (first, last) = (StoredKey(range.table, range.first), StoredKey(range.table, range.last))
    if first <= last { removeAll(in: first...last) }
  }
}
