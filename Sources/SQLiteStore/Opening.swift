internal import CSQLite

/// How a file is opened. Apps choose the limit alone; the rest is for tests.
package struct SQLiteSettings: Sendable {
  /// Files up to so many bytes are checked whole.
  package var checkLimit: Int64 = SQLiteFile.checkLimit
  /// SQLite's way to the disk; `nil`: its usual one.
  package var vfs: String?
  /// No more pages than these: a disk that is soon full.
  package var pageMaximum: Int64?
  /// The log is put into the file when it has so many pages.
  package var logPages: Int64 = 1000
  var schema = Schema.current

  package init() {}
}

/// The way from a path to a connection: what is there is looked at before SQLite is let near it, and
/// nothing of it is changed until it is known to be ours and well.
struct Opening {
  let path: String
  let settings: SQLiteSettings

  private enum Refusal: Error {
    /// It is ours, and of no use.
    case useless(MovedAside.Reason)
    case failed(SQLiteFileError)
  }

  /// What was opened.
  struct Opened {
    let connection: Connection
    /// Held for as long as the connection is.
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
        // The connection that found it out is closed: the file is as it was found.
        let movedAside = MovedAside(path: try moveAside(), reason: reason)
        try look()
        return Opened(connection: try connectAnew(lock), lock: lock, movedAside: movedAside)
      }
    }
  }

  /// The new file that takes the place of one that was moved aside.
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

  /// Makes the file if there is none, and refuses one that is not ours.
  private func look() throws(SQLiteFileError) {
    switch try FileSystem.kind(of: path) {
    case .folder: throw .isFolder(path: path)
    case .nothing: try FileSystem.create(path)
    case .file(let size):
      // SQLite's own file header: 16 bytes that never change, and at 68 whose it is.
      let head = size == 0 ? [] : try FileSystem.head(of: path, count: 100)
      // Nothing, or nothing but zeros, is what a power cut may leave of ours.
      if !head.allSatisfy({ $0 == 0 }) {
        let magic = Array("SQLite format 3\0".utf8)
        guard head.count == 100, head.starts(with: magic) else { throw .notADatabase(path: path) }
        let owner = head[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard owner == Schema.applicationID else { throw .foreign(path: path) }
      }
      try FileSystem.restrict(path)
      // SQLite makes these as the file is; but they may have been copied here with it.
      for companion in try companionsWithContent() { try FileSystem.restrict(path + companion) }
    }
  }

  // MARK: With SQLite

  private func connect(_ lock: FileLock) throws(Refusal) -> Connection {
    let (connection, version) = try attempt { () throws(SQLiteFailure) in
      let connection = try Connection(path: path, vfs: settings.vfs)
      // If it is refused it is left as it is, log and all.
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

  /// What holds from the first page that is read.
  private func promise(_ connection: Connection) throws(SQLiteFailure) {
    connection.turn(SQLITE_DBCONFIG_DEFENSIVE, on: true)
    connection.turn(SQLITE_DBCONFIG_TRUSTED_SCHEMA, on: false)
    // Other programs are kept out; and set before the log is first used, it does without -shm.
    try connection.run("PRAGMA locking_mode = EXCLUSIVE")
    // A commit is on the disk when it returns. On Apple's, where a sync alone is not enough: a full one.
    try connection.run("PRAGMA synchronous = FULL")
    try connection.run("PRAGMA fullfsync = ON")
    try connection.run("PRAGMA checkpoint_fullfsync = ON")
    try connection.run("PRAGMA cell_size_check = ON")
    try connection.run("PRAGMA temp_store = MEMORY")
  }

  /// What makes a file of no use to us; `nil`: nothing.
  private func fault(
    in connection: Connection, version: Int64, checkAll: Bool
  ) throws(SQLiteFailure) -> MovedAside.Reason? {
    guard version <= settings.schema.version else { return .newer(version: version) }
    guard version >= 0 else { return .damaged("its version is below 0") }
    let pages = try connection.number("PRAGMA page_count")
    let size = pages * (try connection.number("PRAGMA page_size"))
    guard checkAll || size <= settings.checkLimit else { return nil }
    // Never SQLite's own words here: they may hold something of what they complain of.
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

  // MARK: Aside

  /// What SQLite may keep beside a file, and needs to read it.
  private static let companions = ["-wal", "-journal"]

  private func companionsWithContent() throws(SQLiteFileError) -> [String] {
    var found: [String] = []
    for companion in Opening.companions {
      guard case .file(let size) = try FileSystem.kind(of: path + companion) else { continue }
      if size > 0 { found.append(companion) }
    }
    return found
  }

  /// Gives the file and what belongs to it another name, one that nothing has; returns that of the file.
  private func moveAside() throws(SQLiteFileError) -> String {
    var number = 1
    while names(aside(number)).contains(where: FileSystem.exists) { number += 1 }
    // The file comes first. If the process dies now, `moveOrphansAside` brings the rest after it; a
    // file without its log might look well, and be old.
    try FileSystem.rename(path, aside(number))
    for companion in try companionsWithContent() {
      try FileSystem.rename(path + companion, aside(number) + companion)
    }
    try FileSystem.syncFolder(FileSystem.folder(of: path))
    return aside(number)
  }

  /// A log without its file, which SQLite would delete: it goes to the last file that was moved aside
  /// without one, or aside on its own.
  private func moveOrphansAside() throws(SQLiteFileError) {
    let kind = try FileSystem.kind(of: path)
    guard kind == .nothing || kind == .file(size: 0) else { return }
    for companion in try companionsWithContent() {
      // An empty file with a journal is one that was about to be made, and SQLite's to clear away.
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
