import Foundation
import Synchronization

@testable import RecordingCheck
@testable import simulate

/// What a command printed, and how it ended.
struct Ran {
  var code: ExitCode
  var out: [String]
  var error: [String]

  /// Runs a command as a shell would.
  init(_ words: String...) {
    self.init(words)
  }

  init(_ words: [String]) {
    let paper = Paper()
    code = Simulate.run(words, console: paper.console)
    (out, error) = paper.lines.withLock { ($0.out, $0.error) }
  }

  /// Runs `check --verbose` with another way of understanding answers.
  init(checking files: [String], _ interpretation: Interpretation, orders: Int = 1) throws {
    let paper = Paper()
    code = try Simulate.check(
      files, asJSON: false, interpretation, orders: orders, .verbose, paper.console)
    (out, error) = paper.lines.withLock { ($0.out, $0.error) }
  }

  var text: String { out.joined(separator: "\n") }
}

/// A console that remembers what was printed.
private final class Paper: Sendable {
  struct Lines {
    var out: [String] = []
    var error: [String] = []
  }

  let lines = Mutex(Lines())

  var console: Console {
    Console(
      out: { line in self.lines.withLock { $0.out.append(line) } },
      error: { line in self.lines.withLock { $0.error.append(line) } },
      progress: { _ in })
  }
}

/// A file for one test, which is removed with this object.
final class Scratch {
  let path: String

  init(_ lines: [String]) throws {
    let url = FileManager.default.temporaryDirectory
      .appendingPathComponent("simulate-\(UUID().uuidString).jsonl")
    try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
    path = url.path
  }

  deinit { unsafe unlink(path) }
}

/// A shipped file's lines.
func shippedLines(_ name: String) throws -> [String] {
  try String(contentsOfFile: Shipped.recording(name), encoding: .utf8)
    .split(separator: "\n").map(String.init)
}

/// A line of a recording as a tree that a test can change.
struct Tree {
  var root: [String: Any]

  init(_ line: String) throws {
    root = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
  }

  subscript(_ path: String...) -> Any? {
    get {
      path.reduce(root as Any?) { ($0 as? [String: Any])?[$1] }
    }
    set {
      root = Tree.setting(path[...], to: newValue, in: root)
    }
  }

  var line: String {
    get throws {
      let data = try JSONSerialization.data(withJSONObject: root, options: [.sortedKeys])
      return String(decoding: data, as: UTF8.self)
    }
  }

  private static func setting(
    _ path: ArraySlice<String>, to value: Any?, in tree: [String: Any]
  ) -> [String: Any] {
    guard let first = path.first else { return tree }
    var tree = tree
    let rest = path.dropFirst()
    tree[first] =
      rest.isEmpty ? value : setting(rest, to: value, in: tree[first] as? [String: Any] ?? [:])
    return tree
  }
}
