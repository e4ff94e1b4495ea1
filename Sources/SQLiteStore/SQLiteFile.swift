// SQLiteStore: durable replicas in SQLite. It may use UpdateMachine and the system's SQLite.

internal import UpdateMachine

/// A file that holds replicas, of several accounts or kinds of state, each with its own name.
///
/// One file is one SQLite database with one connection. Its calls block a queue of their own, and
/// none of Swift's threads. A file can be open only once. A second `SQLiteFile`, in this process or
/// another, is refused with ``SQLiteFileError/inUse(path:)``. This is enforced by a lock on a file
/// beside it (`….db-lock`), which a crash releases. SQLite's exclusive lock keeps other programs
/// out. Open the file once, and share ``store(named:)``.
///
/// **What is durable.** A step is one transaction in SQLite's write-ahead log, with
/// `synchronous=FULL`: it is on disk when the call returns. The common default, `NORMAL`, may lose
/// the last commits in a power cut. But a server forgets what its client has acknowledged, and
/// *stored* is a promise to a user. On Apple's systems `fsync` leaves data in the drive's cache, so
/// `fullfsync` is on too. At 1,000 pages (4 MB) the log is checkpointed into the file, by the step
/// that reaches that size. A larger log is truncated to that size.
///
/// A first save that is longer than that goes straight into the file, so that each page is written
/// once. Until it is whole, a rollback journal beside the file (`….db-journal`) has the few pages
/// that it replaces. After a crash, opening the file puts them back.
///
/// **What is checked.** The whole file is checked when it is opened, if it is no larger than
/// ``checkLimit`` or SQLite met damage in it before (`quick_check`: 22 ms for 100,000 rows of 300
/// bytes in the system's cache). Each row is checked by a checksum whenever it is read. A file that
/// is damaged, or made by a later version of this library, is moved aside with its log
/// (`….db.aside-1`), never deleted or written to. A new file is begun, ``movedAside`` reports it,
/// and replicas start stale. A log torn by a power cut is no damage: SQLite reads it up to the last
/// whole commit.
///
/// **Who may read it.** File, log and lock are made with mode 0600. On iOS keep the file in the
/// app's own container. A suspended app that holds a lock on a file in a group's shared container
/// is killed (0xdead10cc). If the file must be there, ``close()`` it before.
public actor SQLiteFile {
  /// The default for the largest file that is checked whole when it is opened: 64 MiB. Checking a
  /// larger one would keep the user waiting. Its rows are still checked when they are read.
  public static var checkLimit: Int64 { 64 << 20 }

  /// The path of the file.
  public nonisolated let path: String

  /// The file that was moved aside at opening; `nil`: none.
  public private(set) var movedAside: MovedAside?

  /// Runs this actor on a queue of its own, because SQLite's calls block.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private nonisolated let executor = SerialQueueExecutor(label: "SQLiteStore")
  private nonisolated let settings: SQLiteSettings
  /// How many bytes the log may have before it is checkpointed into the file.
  nonisolated var logSize: Int { Int(settings.logPages) * 4096 }
  private var opened: Opening.Opened?

  private init(at path: String, settings: SQLiteSettings) {
    self.path = path
    self.settings = settings
  }

  /// Opens a file, or makes it if there is none. Its folder must exist.
  ///
  /// - Parameters:
  ///   - path: of the file. Files ending in `-wal` and `-lock` are kept beside it, and for the time
  ///     of a long first save one ending in `-journal`.
  ///   - checkLimit: the largest file, in bytes, that is checked whole.
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

  /// The replica with this name. Only one machine at a time may use it.
  public nonisolated func store(named name: String) -> SQLiteStore {
    SQLiteStore(file: self, name: name)
  }

  /// Checkpoints the log into the file and closes both. Later calls fail. Without this call, the
  /// same happens when the `SQLiteFile` is deallocated, on any thread.
  public func close() { opened = nil }

  /// Runs `body` on the connection. Errors name the path.
  func perform<Result>(
    _ body: (Connection) throws(SQLiteFailure) -> Result
  ) throws(StoreError) -> Result {
    guard let opened else { throw .failed("\(path) was closed.") }
    do throws(SQLiteFailure) {
      return try body(opened.connection)
    } catch {
      // The next opening checks the whole file, whatever its size.
      if case .code = error, error.isDamage { opened.lock.mark(true) }
      throw StoreError(error, path: path)
    }
  }
}

/// A useless file that was moved, and where it is now. The app may inspect or delete it.
public struct MovedAside: Hashable, Sendable {
  /// The new path of the file. If it had a log, the log is beside it.
  public var path: String
  /// Why the file was useless.
  public var reason: Reason

  /// The reason why a file was moved aside.
  public enum Reason: Hashable, Sendable {
    /// The contents are not what was written. The text says what was found, and contains no user
    /// data.
    case damaged(String)
    /// A later version of the library made it, with this schema version.
    case newer(version: Int64)
  }

  /// Describes a file that was moved, and moves nothing.
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
