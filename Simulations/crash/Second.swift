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

  /// What a second process got, from one thread to another.
  final class Outcome: Sendable {
    private let code = Mutex<Int32?>(nil)

    func set(_ code: Int32) { self.code.withLock { $0 = code } }

    var isRefused: Bool { code.withLock { $0 == Second.refused } }

    /// What is wrong; `nil`: it was refused, or there was none.
    var wrong: String? {
      switch code.withLock({ $0 }) {
      case nil, Second.refused: nil
      case 0: "one that opened it"
      case let code?: "one that ended with \(code)"
      }
    }
  }

  /// Starts a second process, and waits for it. Returns its exit code; −1: there was none.
  static func tryToOpen(_ path: String) -> Int32 {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--second", path]
    do {
      try process.run()
    } catch {
      return -1
    }
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : -1
  }
}
