import Foundation
import Synchronization

/// A command's output. Tests can replace it.
struct Console: Sendable {
  /// Standard output: results.
  var out: @Sendable (String) -> Void
  /// Standard error: what went wrong.
  var error: @Sendable (String) -> Void
  /// Progress: a line that replaces the last one; `nil` clears it.
  var progress: @Sendable (String?) -> Void

  /// Whether it stands for the process's own console, in a test.
  var isReplaced = true

  /// The console of the process. Progress goes to standard error.
  static var standard: Console {
    let error: @Sendable (String) -> Void = { text in
      FileHandle.standardError.write(Data(text.utf8))
    }
    let pace = PlainProgress()
    let isTerminal = isatty(STDERR_FILENO) == 1
    var console = Console(
      out: { line in FileHandle.standardOutput.write(Data((line + "\n").utf8)) },
      error: { line in error(line + "\n") },
      progress: { line in
        if isTerminal {
          error("\r\u{1B}[K\(line ?? "")")
        } else if let line, pace.isDue(at: .now) {
          error(line + "\n")
        }
      })
    console.isReplaced = false
    return console
  }
}

/// Progress for an output whose lines cannot be replaced, such as a file or a pipe: one line every
/// five seconds.
final class PlainProgress: Sendable {
  private let last = Mutex<ContinuousClock.Instant?>(nil)

  func isDue(at now: ContinuousClock.Instant) -> Bool {
    last.withLock { last in
      if let last, now - last < .seconds(5) { return false }
      last = now
      return true
    }
  }
}

extension Console {
  /// Says nothing.
  static let silent = Console(out: { _ in }, error: { _ in }, progress: { _ in })

  /// The same console with every line of results indented.
  var indented: Console {
    var console = self
    let out = out
    console.out = { text in out("  " + text.replacing("\n", with: "\n  ")) }
    return console
  }
}

extension Console {
  /// Runs `body`, which cannot report its progress, and shows that it is still running: twice a
  /// second, after the first second.
  func showing<Result>(_ text: String, while body: () -> Result) -> Result {
    let start = ContinuousClock.now
    let queue = DispatchQueue(label: "progress")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + 1, repeating: 0.5)
    timer.setEventHandler {
      progress("\(text), \((ContinuousClock.now - start).components.seconds) s")
    }
    timer.resume()
    let result = body()
    timer.cancel()
    queue.sync {}  // Waits until the last line is shown.
    progress(nil)
    return result
  }
}

/// How much a command prints when all is well. Failures are always printed in full.
enum Detail: Sendable {
  /// As much as `simulate` without a command shows.
  case brief
  case usual
  /// `--verbose`.
  case verbose
}

/// A command's exit code.
enum ExitCode: Int32, Sendable {
  case success = 0
  /// The command ran and found something wrong.
  case failure = 1
  /// The command could not run: its arguments or a file make no sense.
  case usage = 2
  /// Interrupted (128 + SIGINT).
  case interrupted = 130
}

/// An error in the arguments. Its message says what to type instead.
struct UsageError: Error {
  var message: String
}

/// A file that could not be used. Its message says which, where in it, and what was expected.
struct FileError: Error {
  var message: String
}

/// Shows a command's progress, after its first second and at most twice a second.
final class Progress {
  private let console: Console
  private let start = ContinuousClock.now
  private var next: Duration = .seconds(1)

  init(_ console: Console) { self.console = console }

  var elapsed: Duration { ContinuousClock.now - start }
  /// The elapsed seconds, to the millisecond.
  var seconds: Double { (elapsed.milliseconds).rounded() / 1000 }

  func show(_ text: @autoclosure () -> String) {
    let elapsed = elapsed
    guard elapsed >= next else { return }
    next = elapsed + .milliseconds(500)
    console.progress(text() + ", \(elapsed.components.seconds) s")
  }
}
