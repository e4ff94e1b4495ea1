#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// File system calls that SQLite does not make for us. Never opens a file that SQLite has open:
/// closing it would drop SQLite's locks, which belong to the process (POSIX).
enum FileSystem {
  /// What is at a path.
  enum Kind: Equatable {
    case nothing
    case folder
    case file(size: Int64)
  }

  static func kind(of path: String) throws(SQLiteFileError) -> Kind {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      if errno == ENOENT { return .nothing }
      throw error(errno, path)
    }
    return status.st_mode & S_IFMT == S_IFDIR ? .folder : .file(size: Int64(status.st_size))
  }

  /// Whether the name exists, even as a dangling link.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0
  }

  /// Makes an empty file that only its owner may read and write, whatever the umask.
  static func create(_ path: String) throws(SQLiteFileError) {
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw error(errno, path) }
    // A strict umask may have removed the owner's own rights.
    fchmod(descriptor, 0o600)
    close(descriptor)
  }

  /// Restricts a file to its owner. Others may be able to read one that was copied here or made by
  /// hand.
  static func restrict(_ path: String) throws(SQLiteFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw error(errno, path) }
    if status.st_mode & 0o7777 != 0o600, unsafe chmod(path, 0o600) != 0 { throw error(errno, path) }
  }

  /// Returns the first `count` bytes of a file, or fewer if it is shorter.
  static func head(of path: String, count: Int) throws(SQLiteFileError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, path) }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: count)
    let length = unsafe bytes.withUnsafeMutableBytes {
      unsafe read(descriptor, $0.baseAddress, count)
    }
    guard length >= 0 else { throw error(errno, path) }
    return Array(bytes.prefix(length))
  }

  /// Renames a file. Nothing may have the new name.
  static func rename(_ old: String, _ new: String) throws(SQLiteFileError) {
    #if canImport(Darwin)
      let code = unsafe Darwin.rename(old, new)
    #elseif canImport(Glibc)
      let code = unsafe Glibc.rename(old, new)
    #else
      let code = unsafe Musl.rename(old, new)
    #endif
    guard code == 0 else { throw error(errno, old) }
  }

  /// Syncs a folder, so that its entries survive a power cut.
  static func syncFolder(_ path: String) throws(SQLiteFileError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, path) }
    defer { close(descriptor) }
    // Some file systems cannot sync a folder, and say so.
    if fsync(descriptor) != 0, errno != EINVAL, errno != ENOTSUP { throw error(errno, path) }
  }

  /// The folder that contains a path.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The path without links: equal for all paths to one file, even if the file does not exist yet.
  static func realPath(of path: String) -> String {
    if let real = resolved(path) { return real }
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return resolved(folder(of: path)).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? path
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(real) }
    return unsafe String(cString: real)
  }

  static func error(_ number: Int32, _ path: String) -> SQLiteFileError {
    let reason = unsafe String(cString: strerror(number))
    return switch number {
    case EACCES, EPERM, EROFS: .notPermitted(path: path, reason: reason)
    case ENOSPC, EDQUOT: .full(path: path)
    case ENOENT, ENOTDIR: .noFolder(path: folder(of: path))
    case EISDIR: .isFolder(path: path)
    default: .failed(path: path, reason: reason)
    }
  }
}

/// A lock file beside the database. Among all processes only one `SQLiteFile` can hold it. The
/// kernel releases it when the process dies. The file stays, empty, because deleting it would be a
/// race. One byte in it marks a database in which SQLite has met damage.
final class FileLock {
  private let descriptor: Int32

  /// - Parameter path: of the database.
  init(for path: String) throws(SQLiteFileError) {
    let place = FileSystem.realPath(of: path) + "-lock"
    let descriptor = unsafe open(place, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileSystem.error(errno, place) }
    var code = flock(descriptor, LOCK_EX | LOCK_NB)
    while code != 0, errno == EINTR { code = flock(descriptor, LOCK_EX | LOCK_NB) }
    guard code == 0 else {
      let reason = errno
      close(descriptor)
      throw reason == EWOULDBLOCK ? .inUse(path: path) : FileSystem.error(reason, place)
    }
    self.descriptor = descriptor
  }

  deinit {
    // A child process that is just being started may share the descriptor until it calls `exec`.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Whether damage was met since the whole database was last checked.
  var isMarked: Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_size > 0
  }

  /// Sets or clears the mark. If that fails, the next opening checks only as much as it would have
  /// anyway.
  func mark(_ damage: Bool) { _ = ftruncate(descriptor, damage ? 1 : 0) }
}
