internal import CSQLite

/// One connection to one file, with the statements that it has prepared. Used by one thread at a time;
/// closed when nobody holds it any more.
@safe
final class Connection {
  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]

  /// - Parameters:
  ///   - path: of a file that exists.
  ///   - vfs: the name of SQLite's way to the disk; `nil`: its usual one.
  init(path: String, vfs: String?) throws(SQLiteFailure) {
    var handle: OpaquePointer?
    // No path is taken for a URI, or for a name that means something to SQLite.
    let plain = path.hasPrefix("/") ? path : "./\(path)"
    let code = unsafe sqlite3_open_v2(
      plain, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs)
    guard code == SQLITE_OK, let handle = unsafe handle else {
      unsafe sqlite3_close_v2(handle)
      throw .code(code)
    }
    unsafe sqlite3_extended_result_codes(handle, 1)
    unsafe self.handle = unsafe handle
  }

  deinit {
    statements = [:]
    unsafe sqlite3_close_v2(handle)
  }

  func turn(_ option: Int32, on: Bool) {
    // An option that this SQLite does not know is none that correctness rests on.
    unsafe csqlite_db_config(handle, option, on ? 1 : 0)
  }

  /// The statement with this text: prepared once, and kept.
  func statement(_ sql: String) throws(SQLiteFailure) -> Statement {
    if let statement = statements[sql] { return statement }
    let statement = try unsafe Statement(sql, on: handle)
    statements[sql] = statement
    return statement
  }

  /// Runs a statement that is needed once.
  func run(_ sql: String) throws(SQLiteFailure) {
    try unsafe Statement(sql, on: handle).run()
  }

  /// The number that a statement gives.
  func number(_ sql: String) throws(SQLiteFailure) -> Int64 {
    let statement = try unsafe Statement(sql, on: handle)
    return try statement.step() ? statement.number(0) : 0
  }

  /// The text that a statement gives.
  func text(_ sql: String) throws(SQLiteFailure) -> String {
    let statement = try unsafe Statement(sql, on: handle)
    return try statement.step() ? statement.text(0) : ""
  }

  /// The number of the line that was last added to a table.
  var lastID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  /// All of it is in the file when this returns, or nothing.
  func transaction<Result>(
    _ body: () throws(SQLiteFailure) -> Result
  ) throws(SQLiteFailure) -> Result {
    // One that could not be rolled back is now, or this one says why not.
    try rollBack()
    try statement("BEGIN IMMEDIATE").run()
    do throws(SQLiteFailure) {
      let result = try body()
      try statement("COMMIT").run()
      return result
    } catch {
      let failure = error
      do throws(SQLiteFailure) { try rollBack() } catch { throw failure }
      throw failure
    }
  }

  /// Some failures have rolled back already.
  private func rollBack() throws(SQLiteFailure) {
    if unsafe sqlite3_get_autocommit(handle) == 0 { try statement("ROLLBACK").run() }
  }
}
