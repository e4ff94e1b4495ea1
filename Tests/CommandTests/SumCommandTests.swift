import Foundation
import Simulator
import Testing
import UpdateMachine

@testable import simulate

/// Tests `simulate sum`, and what `run --json` tells for it.
@Suite final class SumCommandTests {
  private let folder = FileManager.default.temporaryDirectory
    .appending(path: "sum-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Runs seeds, and writes down all that is printed.
  private func report(_ name: String, _ typed: String) throws -> String {
    try write(name, CommandRun("run --json --shrink 0 \(typed)").output.joined(separator: "\n"))
  }

  private func write(_ name: String, _ text: String) throws -> String {
    let file = folder.appending(path: name)
    try Data((text + "\n").utf8).write(to: file)
    return file.path
  }

  /// What must be equal however the seeds were split: all but the real time.
  private func figures(_ run: CommandRun) throws -> Figures {
    let last = try #require(run.output.last)
    var figures = try JSONDecoder().decode(Figures.self, from: Data(last.utf8))
    figures.seconds = 0
    return figures
  }

  // MARK: Adding up

  @Test(arguments: ["", "--world directory --plant lost-event"])
  func `the parts of a range add up to the whole, in any order`(options: String) throws {
    let parts = [
      try report("a.json", "--first 5 --seeds 12 \(options)"),
      try report("b.json", "--first 17 --seeds 3 \(options)"),
      try report("c.json", "--first 20 --seeds 15 \(options)"),
    ]
    let whole = try report("whole.txt", "--first 5 --seeds 30 \(options)")
    let expected = try figures(CommandRun("sum --json \(whole)"))
    #expect(expected.ranges == [Figures.Range(first: 5, last: 34)])
    #expect(expected.seeds == 30 && expected.steps > 1000 && expected.requests > 100)
    #expect(expected.failures > 10 || options.isEmpty)
    let code: ExitCode = expected.failures == 0 ? .success : .failure
    for files in [parts, parts.reversed()] {
      let run = CommandRun("sum --json \(files.joined(separator: " "))")
      #expect(run.code == code)
      #expect(try figures(run) == expected)
    }
    // A folder stands for its .json files. A sum can be added up again.
    let sum = CommandRun("sum --json \(folder.path)")
    #expect(try figures(sum) == expected)
    let partial = CommandRun("sum --json \(parts[0]) \(parts[2])")
    #expect(
      try figures(partial).ranges == [
        Figures.Range(first: 5, last: 16), Figures.Range(first: 20, last: 34),
      ])
    let again = try write("partial.txt", try #require(partial.output.last))
    #expect(try figures(CommandRun("sum --json \(again) \(parts[1])")) == expected)
  }

  @Test func `one bug is one line, and its command repeats it`() throws {
    let file = try report("a.json", "--seeds 20 --plant effects-without-id")
    let run = CommandRun("sum \(file)")
    #expect(run.code == .failure && run.errors == [])
    let lines = run.output.filter { $0.contains("  swift run -c release simulate ") }
    let story = try #require(lines.first)
    #expect(lines.count == 1)
    let rule = "H no lost input: entry … shows once (ledger "
    #expect(story.contains(rule), "\(story)")
    let failures = try figures(CommandRun("sum --json \(file)")).failures
    #expect(failures > 10 && story.hasPrefix("      \(failures)  "))
    #expect(run.output.contains("      \(failures)  H no lost input"))
    let command = try #require(story.split(separator: " simulate ").last)
    let repeated = CommandRun(String(command) + " --shrink 0")
    #expect(repeated.code == .failure)
    #expect(repeated.output.joined().contains("Oracle H no lost input"))
  }

  @Test func `stories are counted by oracle and rule, with the smallest seed of each world`() {
    func finding(_ oracle: Oracle, _ expected: String) -> Finding {
      Finding(
        oracle, client: 0, at: Moment(milliseconds: 1), expected: expected, found: "\(expected)!")
    }
    var stories = FailureStories()
    stories.add(finding(.replica, "entry 4 shows"), seed: 9, world: .posts)
    stories.add(finding(.replica, "entry 17 shows"), seed: 3, world: .directory)
    stories.add(finding(.budget, "entry 1 shows"), seed: 1, world: .posts)
    stories.add(finding(.replica, "entry 5 shows"), seed: 7, world: .posts)
    let sorted = stories.sorted
    #expect(sorted.map(\.count) == [3, 1])
    #expect(sorted.map(\.oracle) == ["A replica", "D budget"])
    #expect(sorted.map(\.seed) == [3, 1])
    #expect(sorted.first?.rule == "entry … shows")
    #expect(sorted.first?.found == "entry 17 shows!")
    #expect(
      sorted.first?.worlds == [
        FailureStory.Share(world: "directory", count: 1, seed: 3),
        FailureStory.Share(world: "posts", count: 2, seed: 7),
      ])
  }

  @Test(arguments: [
    ("at q2:32 1:368919 · 948496 77183", "at …"),
    ("a finger that the server gave", "a finger that the server gave"),
    ("#7, 6 add 1 to counter 1, is confirmed, or set aside", "… is confirmed, or set aside"),
    ("the server makes 1 add 1 to a 2 times at most", "the server makes … times at most"),
    ("live with p={a:\"others 12\"} q={b:\"x y\"} within 3.4 s", "live with … s"),
    ("a refusal (gap, or lost)", "a refusal (gap, or lost)"), ("7", "…"), ("", ""),
  ])
  func `a rule is what was expected without its values`(expected: String, rule: String) {
    #expect(FailureStory.rule(expected) == rule)
  }

  @Test func `a run that stopped early is told`() throws {
    let file = try report(
      "a.json", "--seeds 5000 --world directory --plant lost-event --until-failure --jobs 1")
    let run = CommandRun("sum \(file)")
    #expect(run.output.contains { $0.hasPrefix("NOT WHOLE: 49") })
  }

  // MARK: What does not belong together

  @Test func `seeds that would count twice are refused`() throws {
    let one = try report("one.json", "--seeds 4")
    let other = try report("other.json", "--first 4 --seeds 2")
    let run = CommandRun("sum \(other) \(one)")
    #expect(run.code == .usage && run.output == [])
    #expect(
      run.errors == [
        "simulate: \(one) and \(other) both have the seeds 4 to 4, which would count twice. "
          + "Leave one of the files out"
      ])
    #expect(CommandRun("sum \(one) \(one)").code == .usage)
  }

  @Test func `reports of other options or another build are refused`() throws {
    let one = try report("one.json", "--seeds 2")
    let steps = try report("steps.json", "--first 3 --seeds 2 --steps 200")
    let run = CommandRun("sum \(one) \(steps)")
    #expect(run.code == .usage)
    #expect(
      run.errors.first?.contains(
        "\(steps) has other options than \(one) (--steps 200, no options)") == true)
    var text = try String(
      contentsOfFile: try report("b.json", "--first 3 --seeds 2"), encoding: .utf8)
    #expect(text.contains("\"build\":\"\(Build.hash)\""))
    text = text.replacing("\"build\":\"\(Build.hash)\"", with: "\"build\":\"0123\"")
    let build = try write("build.json", text)
    #expect(
      CommandRun("sum \(one) \(build)").errors.first?.contains(
        "\(build) is of another build than \(one)") == true)
    // Two builds without a hash may differ.
    let files = try ["--seeds 2", "--first 3 --seeds 2"].map { options in
      let text = try String(contentsOfFile: report("c.json", options), encoding: .utf8)
      return try write(
        "unknown\(options.count).json", text.replacing(Build.hash, with: Build.unknown))
    }
    #expect(
      CommandRun("sum \(files[0]) \(files[1])").errors.first?.contains(
        "\(files[0]) does not say which build made it") == true)
  }

  @Test func `a file that is no report is refused, with its line and what to do`() throws {
    let good = try #require(CommandRun("run --seeds 1 --json").output.last)
    let files: [(text: String, said: String)] = [
      ("", ": is empty. Write one anew: simulate run … --json > NEW.json"),
      ("one\ntwo\n\n", ":2: no report of simulate run --json: the last line must be a JSON object"),
      ("{\"states\":5}", ":1: no report of simulate run --json: it has no \"build\""),
      (
        good.replacing("\"seeds\":1,", with: "\"seeds\":\"1\","),
        ":1: no report of simulate run --json: expected another kind of value at \"seeds\""
      ),
      (good.replacing("\"seeds\":1,", with: "\"seeds\":7,"), ":1: its numbers are not those"),
      (good.replacing("\"failures\":0", with: "\"failures\":1"), ":1: its numbers are not those"),
      (good.replacing("\"last\":1", with: "\"last\":0"), ":1: its numbers are not those"),
      (
        good.replacing("\"seconds\":", with: "\"seconds\":9e99,\"x\":"),
        ":1: its numbers are not those"
      ),
    ]
    for (text, said) in files {
      let file = try write("bad.json", text)
      let run = CommandRun("sum \(file)")
      #expect(run.code == .usage && run.output == [])
      #expect(run.errors.first?.contains("\(file)\(said)") == true, "\(run.errors)")
    }
    #expect(CommandRun("sum \(try write("good.json", good))").code == .success)
    let missing = CommandRun("sum \(folder.path)/none.json")
    #expect(missing.code == .usage)
    #expect(missing.errors.first?.contains("none.json: cannot be read") == true)
  }

  @Test func `bad usage is refused`() throws {
    #expect(CommandRun("sum").errors.first?.hasPrefix("simulate sum: which reports?") == true)
    #expect(CommandRun("sum --jobs 2 a").errors.first == "simulate sum: unknown option --jobs")
    let empty = folder.appending(path: "empty")
    try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
    let run = CommandRun("sum \(empty.path)")
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains("this folder has no report") == true)
  }

  // MARK: Builds

  @Test func `two programs that differ in a byte have different hashes`() {
    let program = Data((0..<1003).map { UInt8(truncatingIfNeeded: $0) })
    for place in [0, 7, 8, 500, 999, 1000, 1002] {
      var other = program
      other[place] ^= 1
      #expect(Build.hash(of: other) != Build.hash(of: program))
    }
    #expect(Build.hash(of: program) == Build.hash(of: Data(program)))
    #expect(Build.hash.count == 16)
  }
}
