import Foundation
import Synchronization
import Testing

@testable import simulate

/// A command that was run, and what it printed.
struct CommandRun {
  var code: ExitCode
  var output: [String]
  var errors: [String]

  init(_ typed: String) {
    self.init { console in
      Simulate.run(typed.split(separator: " ").map(String.init), console: console)
    }
  }

  init(_ run: (Console) throws -> ExitCode) rethrows {
    final class Lines: Sendable {
      let output = Mutex<[String]>([])
      let errors = Mutex<[String]>([])
    }
    let lines = Lines()
    let console = Console(
      out: { line in lines.output.withLock { $0.append(line) } },
      error: { line in lines.errors.withLock { $0.append(line) } },
      progress: { _ in })
    code = try run(console)
    output = lines.output.withLock { $0 }
    errors = lines.errors.withLock { $0 }
  }

  /// The JSON object on the last line.
  func json() throws -> [String: Any] {
    let last = try #require(output.last)
    #expect(!last.contains("\n"))
    return try #require(
      try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
  }
}
