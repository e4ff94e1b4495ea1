internal import CSQLite
internal import UpdateMachine

/// The reason why a file could not be opened. Nothing has changed, except that there may be an
/// empty `-lock` file. An app may go on without a store; its replicas then begin anew at each
/// start.
public enum SQLiteFileError: Error, Hashable, Sendable {
  /// Another process, or this one, has it open. Use the open one, or try again when it is closed.
  case inUse(path: String)
  /// It is another program's database. Choose another path.
  case foreign(path: String)
  /// It is not a database. Choose another path, or move it away.
  case notADatabase(path: String)
  /// The path is a folder. Give the name of a file.
  case isFolder(path: String)
  /// The folder of the path does not exist. Make it.
  case noFolder(path: String)
  /// The file or its folder cannot be read and written.
  case notPermitted(path: String, reason: String)
  /// The disk is full.
  case full(path: String)
  /// The disk failed.
  case failed(path: String, reason: String)
}

extension SQLiteFileError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .inUse(let path):
      "\(path) is in use: another process, or another SQLiteFile of this one, has it open. "
        + "Share the one that is open, or close it first."
    case .foreign(let path):
      "\(path) is a database of another program. It was left as it is; choose another path."
    case .notADatabase(let path):
      "\(path) is not a database. It was left as it is; choose another path, or move it away."
    case .isFolder(let path): "\(path) is a folder. Say the name of a file in it."
    case .noFolder(let path): "There is no folder \(path). Make it first."
    case .notPermitted(let path, let reason):
      "\(path) may not be read and written (\(reason)). "
        + "Change its permissions and those of its folder, or choose another path."
    case .full(let path): "There is no space on the disk for \(path). Free some, and open it again."
    case .failed(let path, let reason):
      "\(path) cannot be opened (\(reason)). Look whether the disk is well, and open it again."
    }
  }
}

extension SQLiteFileError {
  /// Converts a failure of SQLite while a file is opened. Damage is not among them: the file is
  /// then moved aside.
  init(_ failure: SQLiteFailure, path: String) {
    switch failure.primary {
    case SQLITE_BUSY, SQLITE_LOCKED: self = .inUse(path: path)
    case SQLITE_FULL: self = .full(path: path)
    case SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_AUTH:
      self = .notPermitted(path: path, reason: failure.words)
    default: self = .failed(path: path, reason: failure.words)
    }
  }
}

extension StoreError {
  /// Converts a failure of SQLite for the user of a replica.
  init(_ failure: SQLiteFailure, path: String) {
    switch failure {
    case .damagedRow, .nothingSaved: self = .unreadable("\(path): \(failure.words)")
    case .taken: self = .taken("\(path): \(failure.words)")
    case .code where failure.isDamage:
      self = .unreadable(
        "\(path) is damaged (\(failure.words)). It is moved aside when it is opened again.")
    case .code:
      switch failure.primary {
      case SQLITE_FULL:
        self = .failed(
          "\(path) cannot grow (\(failure.words)). Free some space; nothing that is saved was lost."
        )
      case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN:
        self = .failed(
          "\(path) may no longer be written (\(failure.words)). Look at its folder's permissions.")
      case SQLITE_TOOBIG: self = .failed("\(path): a row is too big (\(failure.words)).")
      default:
        self = .failed("\(path): the disk failed (\(failure.words)). Look whether it is well.")
      }
    }
  }
}

extension SQLiteFailure {
  /// SQLite's text for its code, which never contains row data.
  var words: String {
    switch self {
    case .code(let code):
      "SQLite: \(unsafe String(cString: sqlite3_errstr(code))), \(code)"
    case .damagedRow(let table): "a row of table \(table) is not what was written"
    case .nothingSaved: "nothing is saved that this could be a step from"
    case .taken: "another step was written meanwhile"
    }
  }
}
