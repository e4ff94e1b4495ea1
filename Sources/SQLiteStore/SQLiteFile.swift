// SQLiteStore: durable replicas in SQLite. It may use UpdateMachine and the system's SQLite.

internal import UpdateMachine

/// A file of replicas: some accounts, some kinds of state, each under a name of its own.
///
/// One file is one SQLite database, and one connection to it, which blocks a queue of its own and no
/// thread of Swift's. Whoever has it open is alone with it: a second `SQLiteFile`, in this process or
/// another, is refused with ``SQLiteFileError/inUse(path:)``, by a lock on a file beside it
/// (`….db-lock`), which a crash releases; and SQLite's exclusive lock keeps other programs out. Open it
/// once, and hand out ``store(named:)``.
///
/// **What is durable.** A step is one transaction in SQLite's write-ahead log, with
/// `synchronous=FULL`: it is on the disk when the call returns. The default of many, `NORMAL`, may
/// lose the last commits in a power cut; but what a client has acknowledged its server forgets, and
/// *stored* is a promise to a user. On Apple's systems, whose `fsync` leaves data in the drive's
/// cache, `fullfsync` is on too. When the log has 1,000 pages (4 MB) it is put into the file, by the
/// step that finds it so; a larger one, as after a first save, is cut back to that.
///
/// **What is checked.** A file up to ``checkLimit``, or one in which SQLite met damage before, is
/// checked whole when it is opened (`quick_check`: 22 ms for 100,000 rows of 300 bytes in the system's
/// cache), and each row whenever it is read, by a sum over its bytes. A file that is damaged, or of a
/// later version than this library knows, is moved aside with its log (`….db.aside-1`), never deleted
/// or written to, and a new one is begun: ``movedAside`` says so, and replicas start stale. A log that
/// a power cut has torn is no damage: SQLite reads it up to the last whole commit.
///
/// **Who may read it.** File, log and lock are made with mode 0600. On iOS keep it in the app's own
/// container: a lock on a file in a group's shared container ends an app that is suspended
/// (0xdead10cc). Or ``close()`` it before.
public actor SQLiteFile {
  /// Files up to so many bytes are checked whole when they are opened, unless said otherwise: 64 MiB.
  /// What is larger would keep its user waiting; its rows are checked when they are read, all the same.
  public static var checkLimit: Int64 { 64 << 20 }

  /// Where it is.
  public nonisolated let path: String

  /// What was moved aside when it was opened; `nil`: nothing.
  public private(set) var movedAside: MovedAside?

  /// For the runtime: a queue of this file's own, for SQLite's calls block.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private nonisolated let executor = SerialQueueExecutor(label: "SQLiteStore")
  private nonisolated let settings: SQLiteSettings
  private var opened: Opening.Opened?

  private init(at path: String, settings: SQLiteSettings) {
    self.path = path
    self.settings = settings
  }

  /// Opens a file, or makes it if there is none; its folder must be there.
  ///
  /// - Parameters:
  ///   - path: of the file. Beside it there are also `-wal` and `-lock`.
  ///   - checkLimit: files up to so many bytes are checked whole.
  public static func open(
    at path: String, checkLimit: Int64 = SQLiteFile.checkLimit
  ) async throws(SQLiteFileError) -> SQLiteFile {
    var settings = SQLiteSettings()
    settings.checkLimit = checkLimit
    return try await open(at: path, settings: settings)
  }

  package static func open(
    at path: String, settings: SQLiteSettings
  ) async throws(SQLiteFileError) -> SQLiteFile {
    let file = SQLiteFile(at: path, settings: settings)
    try await file.open()
    return file
  }

  private func open() throws(SQLiteFileError) {
    let opened = try Opening(path: path, settings: settings).open()
    movedAside = opened.movedAside
    self.opened = opened
  }

  /// The replica of this name. One machine at a time may use it.
  public nonisolated func store(named name: String) -> SQLiteStore {
    SQLiteStore(file: self, name: name)
  }

  /// Puts the log into the file and lets go of both. What is asked of it later fails. Without it, the
  /// same is done when nobody holds the file any more, on whichever thread that is.
  public func close() { opened = nil }

  /// Runs something on the connection, and says what went wrong with the path.
  func perform<Result>(
    _ body: (Connection) throws(SQLiteFailure) -> Result
  ) throws(StoreError) -> Result {
    guard let opened else { throw .failed("\(path) was closed.") }
    do throws(SQLiteFailure) {
      return try body(opened.connection)
    } catch {
      // However large the file is, it is checked whole when it is opened next.
      if case .code = error, error.isDamage { opened.lock.mark(true) }
      throw StoreError(error, path: path)
    }
  }
}

/// A file that was of no use, and where it is now. It is the app's, to be looked at or deleted.
public struct MovedAside: Hashable, Sendable {
  /// Of the file; its log, if it had one, is beside it.
  public var path: String
  public var reason: Reason

  /// Why a file was moved aside.
  public enum Reason: Hashable, Sendable {
    /// It is not what was written. The text says what was found, and nothing of the user's.
    case damaged(String)
    /// A later version of the library made it, with this version of the tables.
    case newer(version: Int64)
  }

  public init(path: String, reason: Reason) {
    self.path = path
    self.reason = reason
  }
}

extension MovedAside: CustomStringConvertible {
  public var description: String {
    switch reason {
    case .damaged(let what): "A damaged file was moved to \(path) (\(what))."
    case .newer(let version):
      "A file of a later version (\(version)) of this library was moved to \(path)."
    }
  }
}
