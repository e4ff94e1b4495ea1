import Foundation
import Synchronization
import Testing

@testable import Simulator
@testable import simulate

/// Tests what a user sees who types `simulate` for the first time, and then `simulate trace`.
struct FirstScreenTests {
  /// Runs `simulate` with few seeds and a short session.
  private func all(
    _ typed: String = "--seeds 2", sessions: [String] = [Shipped.recording("session.jsonl")],
    isVerbose: Bool = false
  ) throws -> CommandRun {
    let words = typed.split(separator: " ").map(String.init)
    let options = try RunOptions(Arguments(words, options: RunOptions.names))
    return try CommandRun { console in
      try Simulate.runAll(
        worlds: options, sessions: sessions, orders: 1, isVerbose: isVerbose, console)
    }
  }

  private func lines(_ run: CommandRun) -> [Substring] {
    run.output.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  // MARK: simulate alone

  @Test func `simulate alone fits one screen, and its last line says that all is well`() throws {
    let run = try all(sessions: Simulate.shippedSessions)
    let lines = lines(run)
    #expect(run.code == .success)
    #expect(run.errors == [])
    #expect(lines.count <= 24)
    #expect(lines.allSatisfy { $0.count <= 100 }, "\(lines)")
    #expect(lines.last == "All is well.")
    #expect(!lines.contains { $0.contains("/") || $0.contains("departure,") })
  }

  @Test func `each part prints one or two lines, and the end says what to try next`() throws {
    let lines = lines(try all())
    let files = ["session.jsonl ", "machine.jsonl: 842 of 842 conversations agree"]
    for start in ["2 of 2 worlds passed, 4 clients each, ", "Reached: "] + files {
      #expect(lines.count { $0.hasPrefix("  " + start) } == 1, "\(start)")
    }
    for next in ["trace", "scenario", "explore", "--help"] {
      #expect(lines.count { $0.hasPrefix("  simulate \(next) ") } == 1, "\(next)")
    }
  }

  @Test func `a failing world is printed in full, and the last line says so`() throws {
    let run = try all("--seeds 20 --plant stale-snapshot")
    let lines = lines(run)
    #expect(run.code == .failure)
    #expect(lines.contains { $0.hasPrefix("  Oracle A replica, client ") })
    for start in ["expected", "found", "swift run -c release simulate replay "] {
      #expect(lines.contains { $0.hasPrefix("    \(start)") }, "\(start)")
    }
    #expect(lines.contains { $0.contains("conversations agree") })
    #expect(lines.last == "Something is wrong. Look for the failures above.")
    #expect(!lines.contains("All is well."))
  }

  @Test func `a difference in a recording is printed in full without --verbose`() throws {
    var session = try shippedLines("session.jsonl")
    var tree = try Tree(session[3])
    tree["response", "status"] = 401
    session[3] = try tree.line
    let scratch = try Scratch(session)
    let run = try all(sessions: [scratch.path])
    let lines = lines(run)
    #expect(run.code == .failure)
    let place = try #require(lines.firstIndex { $0.hasPrefix("  \(scratch.path):4: the answer") })
    #expect(
      lines[(place + 1)...(place + 2)] == [
        "    expected  a status that agrees with its envelope",
        "    found     401 success, taken as unauthorized",
      ])
    #expect(lines.last == "Something is wrong. Look for the failures above.")
  }

  @Test func `departures and counts are printed with --verbose only`() throws {
    let file = Shipped.recording("tornado-restart.jsonl")
    let short = lines(try all(sessions: [file]))
    let long = lines(try all(sessions: [file], isVerbose: true))
    for text in ["\(file):27: departure, an old event ID", "  queues  ", "  how often  "] {
      #expect(!short.contains { $0.contains(text) }, "\(text)")
      #expect(long.contains { $0.contains(text) }, "\(text)")
    }
    #expect(long.last == "All is well.")
  }

  // MARK: The parts by themselves

  @Test func `check prints one line for each file, by its name`() throws {
    let names = ["session.jsonl", "tornado-restart.jsonl"]
    let run = Ran(["check"] + names.map(Shipped.recording))
    #expect(run.code == .success)
    #expect(run.out.map { String($0.prefix { $0 != " " }) } == ["file"] + names + ["all", "Also"])
    #expect(!run.text.contains("/"))
    #expect(run.out[1].split(separator: " ").dropFirst() == ["86", "82", "82", "0", "0"])
  }

  @Test func `run prints how often each fault struck with --verbose only`() {
    #expect(!CommandRun("run --seeds 2").output.joined().contains("how often"))
    #expect(CommandRun("run --seeds 2 --verbose").output.joined().contains("\n  how often  "))
  }

  @Test func `each help text names --verbose where it exists`() {
    #expect(Simulate.help.contains("--verbose"))
    for command in Simulate.commands {
      let hasIt = ["run", "check"].contains(command.name)
      #expect(command.help.contains("--verbose") == hasIt, "\(command.name)")
    }
  }

  // MARK: trace

  @Test func `trace alone shows one client without faults on one screen`() {
    let run = CommandRun("trace")
    #expect(run.code == .success)
    #expect((16...18).contains(run.output.count))
    #expect(run.output.allSatisfy { $0.count <= 100 && !$0.contains("\n") })
    let actors = Set(run.output.dropFirst().dropLast().map { $0.dropFirst(12).prefix(8) })
    #expect(actors == ["client 0", "server  ", "world   "])
    #expect(Array(run.output.dropFirst()) == CommandRun("trace \(Simulate.beginnersWords)").output)
  }

  @Test(arguments: ["trace", "trace --seed 3 --world posts", "trace --seed 2 --world directory"])
  func `each commit in a trace says what it changes`(typed: String) {
    let commits = CommandRun(typed).output.filter { $0.contains("  server    commit ") }
    #expect(commits.count >= 3)
    for commit in commits {
      #expect(commit.contains(/commit [0-9]+: \w.{8}/), "\(commit)")
    }
  }

  // MARK: Progress

  @Test func `progress in a file is one line in five seconds`() {
    let pace = PlainProgress()
    let start = ContinuousClock.now
    let due = [0, 1, 4, 5, 6, 9, 10].map { pace.isDue(at: start + .seconds($0)) }
    #expect(due == [true, false, false, true, false, false, true])
  }

  @Test func `a command that takes more than a second shows progress`() {
    let told = Told()
    let typed = ["run", "--seeds", "1000000", "--seconds", "2"]
    #expect(Simulate.run(typed, console: told.console) == .success)
    #expect(told.lines.contains { $0?.hasPrefix("run: ") == true && $0!.contains(" worlds, ") })
  }

  @Test func `a task without a measure of progress shows after a second that it goes on`() {
    let told = Told()
    let answer = told.console.showing("busy") {
      while told.lines.isEmpty { usleep(1000) }
      return 42
    }
    #expect(answer == 42)
    #expect(told.lines.dropLast().allSatisfy { $0?.wholeMatch(of: /busy, [1-9] s/) != nil })
    #expect(told.lines.last == .some(nil))
  }

  @Test func `a task that takes less than a second shows no progress`() {
    let told = Told()
    #expect(told.console.showing("busy") { 42 } == 42)
    #expect(told.lines == [nil])
  }

  /// What was reported of progress, in order.
  final class Told: Sendable {
    private let all = Mutex<[String?]>([])
    var lines: [String?] { all.withLock { $0 } }
    var console: Console {
      Console(
        out: { _ in }, error: { _ in }, progress: { line in self.all.withLock { $0.append(line) } })
    }
  }
}
