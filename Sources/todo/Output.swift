import Foundation
import Synchronization

/// The terminal: the list on standard output, all else on standard error.
final class Output: Sendable {
  private let last = Mutex("")

  func print(_ lines: [String]) {
    let text = lines.map { $0 + "\n" }.joined()
    try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
  }

  /// Says how fresh the list is, unless it was said last.
  func status(_ words: String) {
    let isNew = last.withLock { last in
      defer { last = words }
      return last != words
    }
    if isNew { complain(words) }
  }

  func complain(_ words: String) {
    try? FileHandle.standardError.write(contentsOf: Data("todo: \(Rows.plain(words))\n".utf8))
  }

  /// The lines of standard input, read by a thread of their own.
  func lines() -> AsyncStream<String> {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return lines
  }
}
