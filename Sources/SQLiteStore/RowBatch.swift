internal import UpdateMachine

/// Writes rows of a replica, many with one statement.
///
/// A statement looks for the place of its first row from the root of the tree. For the next one it
/// first looks beside the last one. So rows that ascend by key take half the time that they take
/// one by one, and others take no longer.
///
/// Call ``flush()`` at the end, and before another statement changes rows.
struct RowBatch {
  /// How many rows a statement writes. The largest has 513 parameters, of the 999 that old versions
  /// of SQLite allow; with more of them hardly any time is gained.
  private static let sizes = [128, 16, 1]
  private static let texts = sizes.map { sql($0) }
  /// How many bytes may wait, besides those of the last row.
  private static let bytesMaximum = 256 << 10

  private let connection: Connection
  private let replica: Int64
  /// Those of ``sizes``, as far as they were needed. To find one by its text takes as long as to
  /// write a row.
  private var statements: [Statement?]
  private var bytes: [UInt8] = []
  private var waiting: [WaitingRow] = []

  init(into replica: Int64, _ connection: Connection) {
    self.replica = replica
    self.connection = connection
    statements = RowBatch.sizes.map { _ in nil }
  }

  mutating func put(_ key: StoredKey, _ value: [UInt8]) throws(SQLiteFailure) {
    waiting.append(
      WaitingRow(
        table: key.table, start: bytes.count, keyCount: key.bytes.count, valueCount: value.count,
        sum: RowSum.sum(of: key, value)))
    bytes += key.bytes
    bytes += value
    if waiting.count == RowBatch.sizes[0] || bytes.count > RowBatch.bytesMaximum { try flush() }
  }

  /// Writes the rows that wait.
  mutating func flush() throws(SQLiteFailure) {
    var rows = waiting[...]
    for (index, size) in RowBatch.sizes.enumerated() where rows.count >= size {
      let statement = try statement(index)
      while rows.count >= size {
        try statement.put(rows.prefix(size), of: bytes, into: replica)
        rows = rows.dropFirst(size)
      }
    }
    waiting.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  private mutating func statement(_ index: Int) throws(SQLiteFailure) -> Statement {
    if let statement = statements[index] { return statement }
    let statement = try connection.statement(RowBatch.texts[index])
    statements[index] = statement
    return statement
  }

  private static func sql(_ rows: Int) -> String {
    let others = (1..<rows).map { row in
      let first = 2 + 4 * row
      return ", (?1, ?\(first), ?\(first + 1), ?\(first + 2), ?\(first + 3))"
    }
    return "REPLACE INTO row(replica, tab, key, value, sum) VALUES(?1, ?2, ?3, ?4, ?5)"
      + others.joined()
  }
}

/// A row that is to be written. Its bytes are among those of others: the key, then the value.
struct WaitingRow {
  var table: StoredTable
  var start: Int
  var keyCount: Int
  var valueCount: Int
  var sum: Int64
}
