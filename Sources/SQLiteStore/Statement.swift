internal import CSQLite
internal import UpdateMachine

/// A failure of SQLite, or of the file's contents.
enum SQLiteFailure: Error, Hashable {
  /// SQLite's extended code.
  case code(Int32)
  /// A row is not what was written.
  case damagedRow(StoredTable)
  /// A step came, but there is no saved form that it could extend.
  case nothingSaved
  /// A step came that extends another saved form than the one that is there.
  case taken

  /// SQLite's primary code, without the extension.
  var primary: Int32? {
    guard case .code(let code) = self else { return nil }
    return code & 0xFF
  }

  /// Whether the file's contents are not what was written.
  var isDamage: Bool {
    switch self {
    case .code: primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB
    case .damagedRow: true
    case .nothingSaved, .taken: false
    }
  }

  static func check(_ code: Int32) throws(SQLiteFailure) {
    guard code == SQLITE_OK else { throw .code(code) }
  }
}

/// A prepared statement. Parameters are counted from 1, columns from 0. Used on the thread of its
/// connection.
@safe
final class Statement {
  private let pointer: OpaquePointer

  init(_ sql: String, on connection: OpaquePointer) throws(SQLiteFailure) {
    var pointer: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    try SQLiteFailure.check(
      unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &pointer, nil))
    guard let pointer = unsafe pointer else { throw .code(SQLITE_MISUSE) }
    unsafe self.pointer = unsafe pointer
  }

  deinit { unsafe sqlite3_finalize(pointer) }

  // MARK: Parameters

  func bind(_ place: Int32, _ number: Int64) throws(SQLiteFailure) {
    try SQLiteFailure.check(unsafe sqlite3_bind_int64(pointer, place, number))
  }

  func bind(_ place: Int32, _ text: String) throws(SQLiteFailure) {
    try SQLiteFailure.check(unsafe csqlite_bind_text(pointer, place, text))
  }

  func bind(_ place: Int32, _ bytes: [UInt8]) throws(SQLiteFailure) {
    try SQLiteFailure.check(
      unsafe bytes.withUnsafeBytes {
        unsafe csqlite_bind_bytes(pointer, place, $0.baseAddress, UInt64($0.count))
      })
  }

  // MARK: Running

  /// Moves to the next row; `false`: there is none.
  func step() throws(SQLiteFailure) -> Bool {
    let code = unsafe sqlite3_step(pointer)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw .code(code)
    }
  }

  /// Runs the statement, ignores its rows, and resets it.
  func run() throws(SQLiteFailure) {
    defer { reset() }
    while try step() {}
  }

  /// Resets the statement. Errors were already thrown by `step()`.
  func reset() { unsafe sqlite3_reset(pointer) }

  /// Runs a statement that writes rows: its parameters are their replica and, for each of them,
  /// table, key, value and sum. The bytes are not copied.
  func put(
    _ rows: ArraySlice<WaitingRow>, of bytes: [UInt8], into replica: Int64
  ) throws(SQLiteFailure) {
    let code = unsafe bytes.withUnsafeBytes { bytes in
      // Bound anew before each step, so that no step reads bytes that have gone.
      var code = unsafe sqlite3_bind_int64(pointer, 1, replica)
      var place: Int32 = 2
      for row in rows {
        guard code == SQLITE_OK else { return code }
        code = unsafe bind(row, of: bytes, from: place)
        place += 4
      }
      guard code == SQLITE_OK else { return code }
      code = unsafe sqlite3_step(pointer)
      unsafe sqlite3_reset(pointer)
      return code
    }
    guard code == SQLITE_DONE else { throw .code(code) }
  }

  @unsafe
  private func bind(
    _ row: WaitingRow, of bytes: UnsafeRawBufferPointer, from place: Int32
  ) -> Int32 {
    let start = unsafe bytes.baseAddress.map { unsafe $0 + row.start }
    var code = unsafe sqlite3_bind_int64(pointer, place, Int64(row.table.number))
    guard code == SQLITE_OK else { return code }
    code = unsafe csqlite_bind_bytes_in_place(pointer, place + 1, start, UInt64(row.keyCount))
    guard code == SQLITE_OK else { return code }
    code = unsafe csqlite_bind_bytes_in_place(
      pointer, place + 2, start.map { unsafe $0 + row.keyCount }, UInt64(row.valueCount))
    guard code == SQLITE_OK else { return code }
    return unsafe sqlite3_bind_int64(pointer, place + 3, row.sum)
  }

  // MARK: The current row

  func number(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(pointer, column) }

  func text(_ column: Int32) -> String {
    guard let text = unsafe sqlite3_column_text(pointer, column) else { return "" }
    return unsafe String(cString: text)
  }

  /// Reads a row of the table `row`, in the columns tab, key, value, sum; throws if it is damaged.
  func row() throws(SQLiteFailure) -> (key: StoredKey, value: [UInt8]) {
    let table = StoredTable(UInt8(truncatingIfNeeded: number(0)))
    let (key, value) = unsafe (bytes(1), bytes(2))
    guard unsafe RowSum.sum(of: table, key, value) == number(3) else { throw .damagedRow(table) }
    return unsafe (StoredKey(table, [UInt8](key)), [UInt8](value))
  }

  /// Valid until the next step.
  @unsafe
  private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = unsafe sqlite3_column_blob(pointer, column)
    return unsafe UnsafeRawBufferPointer(
      start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }
}
