internal import CSQLite

/// One connection to one file, with its prepared statements. Used by one thread at a time. Closes
/// when it is deallocated.
@safe
final class Connection {
  private let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  /// Whether the log was left for one transaction, and is not yet used again.
  private var isWithoutLog = false

  /// - Parameters:
  ///   - path: of a file that exists.
  ///   - vfs: the name of the SQLite VFS (its interface to the file system); `nil`: the default.
  init(path: String, vfs: String?) throws(SQLiteFailure) {
    var handle: OpaquePointer?
    // Keeps SQLite from reading the path as a URI or a special name.
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
    // Errors are ignored: correctness does not depend on an option that this SQLite does not know.
    unsafe csqlite_db_config(handle, option, on ? 1 : 0)
  }

  /// Returns the statement with this text: prepared once, and kept.
  func statement(_ sql: String) throws(SQLiteFailure) -> Statement {
    if let statement = statements[sql] { return statement }
    let statement = try unsafe Statement(sql, on: handle)
    statements[sql] = statement
    return statement
  }

  /// Runs a statement that is needed only once.
  func run(_ sql: String) throws(SQLiteFailure) {
    try unsafe Statement(sql, on: handle).run()
  }

  /// Returns the number that a statement yields.
  func number(_ sql: String) throws(SQLiteFailure) -> Int64 {
    let statement = try unsafe Statement(sql, on: handle)
    return try statement.step() ? statement.number(0) : 0
  }

  /// Returns the text that a statement yields.
  func text(_ sql: String) throws(SQLiteFailure) -> String {
    let statement = try unsafe Statement(sql, on: handle)
    guard try statement.step() else { return "" }
    let text = statement.text(0)
    // What it changes is written at its end, which may fail.
    while try statement.step() {}
    return text
  }

  /// The ID of the row that was inserted last.
  var lastID: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

  /// Runs `body` as a transaction: when this returns, all of it is in the file; if it throws, none
  /// is.
  ///
  /// - Parameter withoutLog: whether the pages are written straight into the file, and those that
  ///   they replace into a rollback journal. Worth it for more new pages than the log may have: by
  ///   way of the log each would be written twice and read once. It takes a few more syncs.
  func transaction<Result>(
    withoutLog: Bool = false, _ body: () throws(SQLiteFailure) -> Result
  ) throws(SQLiteFailure) -> Result {
    // If an earlier transaction could not be rolled back, this does it now, or throws.
    try rollBack()
    if withoutLog != isWithoutLog { useLog(!withoutLog) }
    defer { if isWithoutLog { useLog(true) } }
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

  /// Begins or ends the use of the log.
  private func useLog(_ use: Bool) {
    isWithoutLog = true
    do throws(SQLiteFailure) {
      // If the log could not be used again before, SQLite takes it for used, until it is told not
      // to.
      _ = try text("PRAGMA journal_mode = DELETE")
      if use { isWithoutLog = try text("PRAGMA journal_mode = WAL") != "wal" }
    } catch {
      // Nothing is lost: a transaction is whole and durable with the log and without, and the next
      // one tries again. If the file itself fails, that one throws.
    }
  }

  /// Rolls back, unless the failure has done so already.
  private func rollBack() throws(SQLiteFailure) {
    if unsafe sqlite3_get_autocommit(handle) == 0 { try statement("ROLLBACK").run() }
  }
}
