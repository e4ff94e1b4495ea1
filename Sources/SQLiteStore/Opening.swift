internal import CSQLite

/// The settings for opening a file. Apps choose only the limit; the rest is for tests.
package struct SQLiteSettings: Sendable {
  /// The largest file, in bytes, that is checked whole.
  package var checkLimit: Int64 = SQLiteFile.checkLimit
  /// The name of the SQLite VFS; `nil`: the default.
  package var vfs: String?
  /// The most pages that the file may have: simulates a disk that is soon full.
  package var pageMaximum: Int64?
  /// How many pages the log may have before it is checkpointed into the file.
  package var logPages: Int64 = 1000
  var schema = Schema.current

  package init() {}
}

/// The steps from a path to a connection. The file is inspected before SQLite opens it. Nothing in
/// it is changed until it is known to be ours and undamaged.
struct Opening {
  let path: String
  let settings: SQLiteSettings

  private enum Refusal: Error {
    /// The file is ours, but useless.
    case useless(MovedAside.Reason)
    case failed(SQLiteFileError)
  }

  /// The result of opening a file.
  struct Opened {
    let connection: Connection
    /// Held as long as the connection.
    let lock: FileLock
    let movedAside: MovedAside?
  }

  func open() throws(SQLiteFileError) -> Opened {
    if try FileSystem.kind(of: path) == .folder { throw .isFolder(path: path) }
    let lock = try FileLock(for: path)
    try moveOrphansAside()
    try look()
    do throws(Refusal) {
      return Opened(connection: try connect(lock), lock: lock, movedAside: nil)
    } catch {
      switch error {
      case .failed(let error): throw error
      case .useless(let reason):
        // The connection that found the fault is closed, and the file is as it was found.
        let movedAside = MovedAside(path: try moveAside(), reason: reason)
        try look()
        return Opened(connection: try connectAnew(lock), lock: lock, movedAside: movedAside)
      }
    }
  }

  /// Connects to the new file that replaces one that was moved aside.
  private func connectAnew(_ lock: FileLock) throws(SQLiteFileError) -> Connection {
    do throws(Refusal) {
      return try connect(lock)
    } catch {
      switch error {
      case .failed(let error): throw error
      case .useless: throw .failed(path: path, reason: "a new file is damaged")
      }
    }
  }

  // MARK: Before SQLite

  /// Makes the file if there is none, and rejects one that is not ours.
  private func look() throws(SQLiteFileError) {
    switch try FileSystem.kind(of: path) {
    case .folder: throw .isFolder(path: path)
    case .nothing: try FileSystem.create(path)
    case .file(let size):
      // SQLite's file header: 16 constant bytes, and at offset 68 the application ID.
      let head = size == 0 ? [] : try FileSystem.head(of: path, count: 100)
      // After a power cut, a file of ours may be empty or all zeros.
      if !head.allSatisfy({ $0 == 0 }) {
        let magic = Array("SQLite format 3\0".utf8)
        guard head.count == 100, head.starts(with: magic) else { throw .notADatabase(path: path) }
        let owner = head[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard owner == Schema.applicationID else { throw .foreign(path: path) }
      }
      try FileSystem.restrict(path)
      // SQLite makes its companion files with the file's own mode, but they may have been copied
      // here with the file.
      for companion in try companionsWithContent() { try FileSystem.restrict(path + companion) }
    }
  }

  // MARK: With SQLite

  private func connect(_ lock: FileLock) throws(Refusal) -> Connection {
    let (connection, version) = try attempt { () throws(SQLiteFailure) in
      let connection = try Connection(path: path, vfs: settings.vfs)
      // A file that is refused must not change, and neither must its log.
      connection.turn(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on: true)
      try promise(connection)
      return (connection, try connection.number("PRAGMA user_version"))
    }
    let fault: MovedAside.Reason? = try attempt { () throws(SQLiteFailure) in
      try self.fault(in: connection, version: version, checkAll: lock.isMarked)
    }
    if let fault { throw .useless(fault) }
    try attempt { () throws(SQLiteFailure) in
      try settings.schema.bringForward(connection, from: version)
      try keepLog(connection)
    }
    connection.turn(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on: false)
    lock.mark(false)
    return connection
  }

  private func attempt<Result>(
    _ body: () throws(SQLiteFailure) -> Result
  ) throws(Refusal) -> Result {
    do throws(SQLiteFailure) {
      return try body()
    } catch {
      guard error.isDamage else { throw .failed(SQLiteFileError(error, path: path)) }
      throw .useless(.damaged(error.words))
    }
  }

  /// Sets the options that must hold before the first page is read.
  private func promise(_ connection: Connection) throws(SQLiteFailure) {
    connection.turn(SQLITE_DBCONFIG_DEFENSIVE, on: true)
    connection.turn(SQLITE_DBCONFIG_TRUSTED_SCHEMA, on: false)
    // Keeps other programs out. Because it is set before the log is first used, there is no -shm
    // file.
    try connection.run("PRAGMA locking_mode = EXCLUSIVE")
    // A commit is on disk when it returns. On Apple's systems this takes more than a sync: a full
    // one.
    try connection.run("PRAGMA synchronous = FULL")
    try connection.run("PRAGMA fullfsync = ON")
    try connection.run("PRAGMA checkpoint_fullfsync = ON")
    try connection.run("PRAGMA cell_size_check = ON")
    try connection.run("PRAGMA temp_store = MEMORY")
  }

  /// Returns why the file is useless; `nil`: it is fine.
  private func fault(
    in connection: Connection, version: Int64, checkAll: Bool
  ) throws(SQLiteFailure) -> MovedAside.Reason? {
    guard version <= settings.schema.version else { return .newer(version: version) }
    guard version >= 0 else { return .damaged("its version is below 0") }
    let pages = try connection.number("PRAGMA page_count")
    let size = pages * (try connection.number("PRAGMA page_size"))
    guard checkAll || size <= settings.checkLimit else { return nil }
    // Does not report SQLite's own message, which may quote contents.
    let isWell = try connection.text("PRAGMA quick_check(1)") == "ok"
    return isWell ? nil : .damaged("its pages contradict each other")
  }

  private func keepLog(_ connection: Connection) throws(SQLiteFailure) {
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw .code(SQLITE_CANTOPEN)
    }
    try connection.run("PRAGMA wal_autocheckpoint = \(settings.logPages)")
    try connection.run("PRAGMA journal_size_limit = \(settings.logPages * 4096)")
    if let maximum = settings.pageMaximum {
      try connection.run("PRAGMA max_page_count = \(maximum)")
    }
  }

  // MARK: Moving aside

  /// The files that SQLite may keep beside a database and needs to read it.
  private static let companions = ["-wal", "-journal"]

  private func companionsWithContent() throws(SQLiteFileError) -> [String] {
    var found: [String] = []
    for companion in Opening.companions {
      guard case .file(let size) = try FileSystem.kind(of: path + companion) else { continue }
      if size > 0 { found.append(companion) }
    }
    return found
  }

  /// Renames the file and its companions to unused names. Returns the file's new name.
  private func moveAside() throws(SQLiteFileError) -> String {
    var number = 1
    while names(aside(number)).contains(where: FileSystem.exists) { number += 1 }
    // The file goes first. If the process dies here, `moveOrphansAside` moves the rest later. A
    // file without its log might look fine and be out of date.
    try FileSystem.rename(path, aside(number))
    for companion in try companionsWithContent() {
      try FileSystem.rename(path + companion, aside(number) + companion)
    }
    try FileSystem.syncFolder(FileSystem.folder(of: path))
    return aside(number)
  }

  /// Moves aside a log without its file, which SQLite would delete. It goes to the last file that
  /// was moved aside without a log, or gets a name of its own.
  private func moveOrphansAside() throws(SQLiteFileError) {
    let kind = try FileSystem.kind(of: path)
    guard kind == .nothing || kind == .file(size: 0) else { return }
    for companion in try companionsWithContent() {
      // An empty file with a journal was about to be made. SQLite cleans it up.
      if companion == "-journal", kind != .nothing { continue }
      var number = 1
      while FileSystem.exists(aside(number + 1)) { number += 1 }
      while FileSystem.exists(aside(number) + companion) { number += 1 }
      try FileSystem.rename(path + companion, aside(number) + companion)
      try FileSystem.syncFolder(FileSystem.folder(of: path))
    }
  }

  private func aside(_ number: Int) -> String { "\(path).aside-\(number)" }

  private func names(_ path: String) -> [String] {
    [path] + Opening.companions.map { path + $0 }
  }
}
