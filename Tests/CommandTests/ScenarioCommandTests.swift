import Foundation
import Synchronization
import Testing

@testable import simulate

@Suite struct ScenarioCommandTests {
  /// A folder of its own for each test.
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  func write(_ text: String, to name: String) throws -> String {
    let file = folder.appendingPathComponent(name)
    try Data(text.utf8).write(to: file)
    return file.path
  }

  /// Runs `simulate scenario`. Returns its exit code and everything that it printed.
  func scenario(_ words: String...) -> (code: ExitCode, text: String) {
    let printed = Printed()
    let console = Console(
      out: { printed.add($0) }, error: { printed.add($0) }, progress: { _ in })
    return (Simulate.run(["scenario"] + words, console: console), printed.text)
  }

  final class Printed: Sendable {
    private let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
  }

  @Test func `a scenario with the written output passes`() throws {
    let file = try write(
      "started in background\n  0: stale · resting, as of none\n", to: "a.scenario")
    let (code, text) = scenario(file)
    #expect(code == .success)
    #expect(text == "scenario: 1 of 1 are as written")
  }

  @Test func `the first line that differs is shown`() throws {
    let file = try write("started in background\n  0: idle\n", to: "a.scenario")
    let (code, text) = scenario(file)
    #expect(code == .failure)
    #expect(
      text == """
        \(file):2:
          expected  "  0: idle"
          found     "  0: stale · resting, as of none"
        scenario: 0 of 1 are as written
        """)
  }

  @Test func `--rewrite makes a whole folder pass`() throws {
    let file = try write("started in background\n", to: "a.scenario")
    _ = try write("started\nrun 1min\n", to: "b.scenario")
    _ = try write("not a scenario", to: "c.txt")
    #expect(scenario(folder.path).code == .failure)
    #expect(scenario("--rewrite", folder.path).text.hasSuffix("scenario: 2 of 2 rewritten"))
    #expect(scenario(folder.path).code == .success)
    #expect(
      try String(contentsOfFile: file, encoding: .utf8)
        == "started in background\n  0: stale · resting, as of none\n")
  }

  @Test func `an invalid line gives exit code 2`() throws {
    let file = try write("started\n\ndance\n", to: "a.scenario")
    let (code, text) = scenario(file)
    #expect(code == .usage)
    #expect(
      text
        == "simulate: \(file):3: expected a directive, or an input such as networkChanged, "
        + "found \"dance\"")
  }

  @Test func `a scenario of whole clients is played, and what is not to be seen gives exit code 2`()
    throws
  {
    let file = try write("world client-view clients=1\nnext\n", to: "a.scenario")
    #expect(scenario("--rewrite", file).code == .success)
    #expect(scenario(file).code == .success)
    let played = try String(contentsOfFile: file, encoding: .utf8)
    #expect(played.contains("\nnext\n  5: client 1 loaded nothing → registering: "))
    let wrong = try write(played + "see the server has Milk\n", to: "b.scenario")
    let (code, text) = scenario("--rewrite", wrong)
    #expect(code == .usage)
    #expect(text == "simulate: \(wrong):6: expected the server has Milk, found nothing")
  }

  @Test func `a missing file or folder is reported`() throws {
    let (code, text) = scenario(folder.path + "/none.scenario")
    #expect(code == .usage)
    #expect(text.hasSuffix("none.scenario: does not exist"))
    #expect(scenario(folder.path).text.hasSuffix("has no .scenario file in it"))
  }
}
