import Foundation

/// Where a command's words go. A value that tests can replace.
struct Console: Sendable {
  /// Standard output: results.
  var out: @Sendable (String) -> Void
  /// Standard error: what went wrong.
  var error: @Sendable (String) -> Void
  /// A line that replaces the last one, on a terminal only; `nil` clears it.
  var progress: @Sendable (String?) -> Void

  /// The process's own.
  static var standard: Console {
    let isTerminal = isatty(STDERR_FILENO) == 1
    return Console(
      out: { line in FileHandle.standardOutput.write(Data((line + "\n").utf8)) },
      error: { line in FileHandle.standardError.write(Data((line + "\n").utf8)) },
      progress: { line in
        guard isTerminal else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line ?? "")".utf8))
      })
  }
}

extension Console {
  /// Says nothing.
  static let silent = Console(out: { _ in }, error: { _ in }, progress: { _ in })
}

/// What a command tells the shell.
enum ExitCode: Int32, Sendable {
  case success = 0
  /// It ran, and found something wrong.
  case failure = 1
  /// It could not run: what was typed, or what a file says, makes no sense.
  case usage = 2
  /// Interrupted (128 + SIGINT).
  case interrupted = 130
}

/// What was typed makes no sense. Says what to type instead.
struct UsageError: Error {
  var message: String
}

/// A file could not be used: which, where in it, and what was expected.
struct FileError: Error {
  var message: String
}
