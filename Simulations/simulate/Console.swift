import Foundation
import Synchronization

/// Where a command's words go. A value that tests can replace.
struct Console: Sendable {
  /// Standard output: results.
  var out: @Sendable (String) -> Void
  /// Standard error: what went wrong.
  var error: @Sendable (String) -> Void
  /// How far a command is: a line that replaces the last one; `nil` clears it.
  var progress: @Sendable (String?) -> Void

  /// The process's own. Progress goes to standard error.
  static var standard: Console {
    let error: @Sendable (String) -> Void = { text in
      FileHandle.standardError.write(Data(text.utf8))
    }
    let pace = PlainProgress()
    let isTerminal = isatty(STDERR_FILENO) == 1
    return Console(
      out: { line in FileHandle.standardOutput.write(Data((line + "\n").utf8)) },
      error: { line in error(line + "\n") },
      progress: { line in
        if isTerminal {
          error("\r\u{1B}[K\(line ?? "")")
        } else if let line, pace.isDue(at: .now) {
          error(line + "\n")
        }
      })
  }
}

/// Progress where no line can be replaced, as in a file or a pipe: one line every five seconds.
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

  /// The same, with every line of its results indented.
  var indented: Console {
    var console = self
    let out = out
    console.out = { text in out("  " + text.replacing("\n", with: "\n  ")) }
    return console
  }
}

extension Console {
  /// Does what cannot say how far it is, and shows that it goes on: not in its first second, and
  /// twice a second then.
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
    queue.sync {}  // The last line was shown.
    progress(nil)
    return result
  }
}

/// How much a command prints when all is well. Failures are always printed whole.
enum Detail: Sendable {
  /// Only what `simulate` alone shows.
  case brief
  case usual
  /// `--verbose`.
  case verbose
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

/// Shows how far a command is: not in its first second, and twice a second at most.
final class Progress {
  private let console: Console
  private let start = ContinuousClock.now
  private var next: Duration = .seconds(1)

  init(_ console: Console) { self.console = console }

  var elapsed: Duration { ContinuousClock.now - start }
  /// To the millisecond.
  var seconds: Double { (elapsed.milliseconds).rounded() / 1000 }

  func show(_ text: @autoclosure () -> String) {
    let elapsed = elapsed
    guard elapsed >= next else { return }
    next = elapsed + .milliseconds(500)
    console.progress(text() + ", \(elapsed.components.seconds) s")
  }
}
