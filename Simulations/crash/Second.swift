import Foundation
import SQLiteStore
import Synchronization

/// A second process that tries to open a file which a frozen one has open, as an app's extension
/// does while the app is suspended.
enum Second {
  /// The exit code of a process that was refused because the file is in use.
  private static let refused: Int32 = 3

  /// The second process. Returns its exit code.
  static func run(file path: String) async -> Int32 {
    do throws(SQLiteFileError) {
      _ = try await SQLiteFile.open(at: path)
      return 0
    } catch {
      return error == .inUse(path: path) ? refused : 1
    }
  }

  /// Starts a second process, and waits for it. Returns whether it got the file, or failed in
  /// another way than by being refused it.
  static func canOpen(_ path: String) -> Bool {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--second", path]
    do {
      try process.run()
    } catch {
      return true
    }
    process.waitUntilExit()
    return process.terminationReason != .exit || process.terminationStatus != refused
  }
}

/// A flag that one thread sets and another reads.
final class Flag: Sendable {
  private let value = Mutex(false)

  var isSet: Bool { value.withLock { $0 } }

  func set() { value.withLock { $0 = true } }
}
