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

extension StoredTable: CustomStringConvertible {
  public var description: String { "\(number)" }
}

extension StoredKey: CustomStringConvertible {
  /// Only the table: keys may be the user's.
  public var description: String { "table \(table)" }
}
