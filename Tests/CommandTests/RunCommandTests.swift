import Foundation
import Simulator
import Synchronization
import Testing

@testable import simulate

/// Tests `simulate run` and `simulate trace` as they are typed.
struct RunCommandTests {
  // MARK: What was typed makes no sense

  @Test(arguments: [
    ("walk", "simulate: unknown command \"walk\""),
    ("--seeds 5", "simulate: unknown command \"--seeds\""),
    ("run --speed 3", "simulate run: unknown option --speed"),
    ("run --list-fault", "simulate run: unknown option --list-fault"),
    ("run 7", "simulate run: unexpected \"7\""),
    ("run -x", "simulate run: unexpected \"-x\""),
    ("run --seeds", "simulate run: --seeds needs a value"),
    ("run --json --jobs", "simulate run: --jobs needs a value"),
    ("run --json=yes", "simulate run: --json takes no value"),
    ("run --seeds 5 --seeds 6", "simulate run: --seeds is given twice"),
    ("run --seeds five", "--seeds needs a whole number from 1 to 1000000000000, found \"five\""),
    ("run --seeds 0", "--seeds needs a whole number from 1 to 1000000000000, found \"0\""),
    ("run --seeds=", "--seeds needs a whole number from 1 to 1000000000000, found \"\""),
    (
      "run --seeds --json", "--seeds needs a whole number from 1 to 1000000000000, found \"--json\""
    ),
    ("run --seed -1", "--seed needs a whole number from 0 to 18446744073709551615, found \"-1\""),
    ("run --first 1e3", "--first needs a whole number from 0 to 18446744073709551615"),
    ("run --clients 0", "--clients needs a whole number from 1 to 1000, found \"0\""),
    ("run --clients 1001", "--clients needs a whole number from 1 to 1000, found \"1001\""),
    ("run --steps 0", "--steps needs a whole number from 1 to 1000000, found \"0\""),
    ("run --jobs 0", "--jobs needs a whole number from 1 to 1024, found \"0\""),
    ("run --faults crash,earthquake", "unknown fault \"earthquake\". There are: none, all, or"),
    ("run --faults crash,,storm", "unknown fault \"\". There are: none, all, or"),
    ("run --plant tree", "unknown plant \"tree\". There are: lost-event, stale-snapshot"),
    (
      "run --protocol tin-cans",
      """
      unknown protocol "tin-cans". There are: event-queue, client-view, record-sync, table-sync, \
      event-stream, change-log, etcd, all
      """
    ),
    (
      "run --protocol client-view --world messages",
      "--world needs --protocol event-queue"
    ),
    ("run --protocol client-view --world all", "--world needs --protocol event-queue"),
    (
      "run --world ledger",
      "unknown world \"ledger\". There are: directory, messages, posts, zulip, all"
    ),
    ("run --world posts --plant page-misses-one", "this plant needs --world messages"),
    ("run --world posts --protocol client-view", "--world needs --protocol event-queue"),
    (
      "run --protocol event-queue --plant wrong-delta",
      "this plant needs --protocol client-view"
    ),
    (
      "run --protocol client-view --plant lost-event",
      "this plant needs --protocol event-queue"
    ),
    (
      "run --protocol client-view --plant page-misses-one",
      "this plant needs --world messages"
    ),
    ("run --seed 3 --seeds 5", "--seed names one seed. Leave out --seeds and --first"),
    ("run --seed 3 --first 5", "--seed names one seed. Leave out --seeds and --first"),
    ("trace --hash", "simulate trace: which seed? Try --seed 1"),
    ("trace --clients 2", "simulate trace: which seed? Try --seed 1"),
    ("trace --seed", "simulate trace: --seed needs a value"),
    ("trace --seed x", "simulate trace: --seed needs a whole number"),
    ("trace --seed 1 --seeds 4", "simulate trace: unknown option --seeds"),
    ("trace --seed 1 --faults fire", "simulate trace: unknown fault \"fire\""),
  ])
  func `bad usage gives exit code 2 and says what to type`(typed: String, said: String) {
    let ran = CommandRun(typed)
    #expect(ran.code == .usage)
    #expect(ran.code.rawValue == 2)
    #expect(ran.output == [])
    #expect(ran.errors.count == 2)
    #expect(ran.errors.first?.contains(said) == true, "\(ran.errors)")
    let command = ["run", "trace"].first { typed.hasPrefix($0) }.map { " \($0)" } ?? ""
    #expect(ran.errors.last == "Type: swift run -c release simulate\(command) --help")
  }

  @Test func `an unknown name is refused with the list of known ones`() {
    let faults = CommandRun("run --faults x").errors.joined()
    #expect(Fault.allCases.allSatisfy { faults.contains($0.name) })
    let plants = CommandRun("run --plant x").errors.joined()
    #expect(Plant.all.allSatisfy { plants.contains($0.name) })
  }

  // MARK: Help

  @Test(arguments: ["--help", "-h", "help"])
  func `help names every command`(typed: String) {
    let help = CommandRun(typed)
    #expect(help.code == .success)
    #expect(help.errors == [])
    let text = help.output.joined(separator: "\n")
    for command in Simulate.commands {
      #expect(text.contains("  \(command.name) "))
      #expect(text.contains(command.summary))
    }
  }

  @Test func `every command prints its help wherever the option stands`() {
    for command in Simulate.commands {
      for typed in ["--help", "-h", "--bogus --help", "x -h"] {
        let help = CommandRun("\(command.name) \(typed)")
        #expect(help.code == .success)
        #expect(help.errors == [])
        #expect(help.output == [command.help])
        #expect(command.help.hasPrefix("Usage: simulate \(command.name)"))
      }
    }
  }

  private static let values = [
    "--seeds", "--first", "--seed", "--clients", "--steps", "--faults", "--plant", "--jobs",
    "--engine", "--seconds", "--shrink", "--save", "--picture", "--world", "--protocol",
    "--longest-run",
  ]

  @Test func `a run that takes too long is a failure`() {
    var configuration = SimulationConfiguration(seed: 7)
    configuration.steps = 30_000
    let runner = Runner(
      configuration: configuration, first: 7, seeds: 1, jobs: 1, longest: .zero,
      look: .milliseconds(5), world: .directory)
    let outcome = runner.run(.silent)
    #expect(outcome.unending == 7)
    #expect(outcome.statistics.failures == 1)
    #expect(outcome.statistics.shortestFailure?.finding?.expected == "a run ends")
  }

  @Test func `the help of run names exactly its options`() {
    let flags = [
      "--curve", "--json", "--list-faults", "--list-plants", "--until-failure", "--no-swarm",
      "--no-liveness", "--situations", "--verbose",
    ]
    let known = Set(RunCommandTests.values + flags)
    #expect(Set(RunOptions.names) == Set(RunCommandTests.values))
    #expect(options(in: Simulate.runCommand.help) == known)
    for option in RunCommandTests.values {
      #expect(CommandRun("run \(option)").errors.first == "simulate run: \(option) needs a value")
    }
    for flag in flags {
      #expect(CommandRun("run \(flag)=1").errors.first == "simulate run: \(flag) takes no value")
    }
  }

  @Test func `the help of trace names exactly its options`() {
    let values = [
      "--seed", "--clients", "--steps", "--faults", "--plant", "--engine", "--world",
      "--protocol", "--format", "--output",
    ]
    #expect(
      options(in: Simulate.traceCommand.help)
        == Set(values + ["--hash", "--no-swarm", "--no-liveness"]))
    for option in RunCommandTests.values where !values.contains(option) {
      #expect(
        CommandRun("trace \(option) 1").errors.first == "simulate trace: unknown option \(option)")
    }
    for option in values {
      #expect(
        CommandRun("trace \(option)").errors.first == "simulate trace: \(option) needs a value")
    }
  }

  /// The words of a text that begin with two hyphens.
  private func options(in help: String) -> Set<String> {
    let words = help.split { !($0.isLetter || $0 == "-") }
    return Set(words.filter { $0.hasPrefix("--") && $0.count > 2 }.map(String.init))
  }

  @Test func `--list-faults and --list-plants print one name a line`() {
    #expect(CommandRun("run --list-faults").output == Fault.allCases.map(\.name))
    #expect(CommandRun("run --list-plants").output == Plant.known.map(\.name))
  }

  // MARK: Running

  /// Each protocol has its own way of settling what several users do at once.
  @Test(arguments: [
    ("client-view", ["refused"]), ("record-sync", ["conflicts", "overruled"]),
    ("table-sync", ["refused"]), ("event-stream", ["conflicts", "overruled"]),
    ("change-log", ["refused"]),
  ])
  func `changes meet those of others in every protocol`(name: String, ways: [String]) throws {
    let run = CommandRun("run --seeds 40 --protocol \(name) --json")
    #expect(run.code == .success)
    let changes = try #require(run.json()["changes"] as? [String: Int])
    #expect(changes["made"] ?? 0 > 200)
    for way in ways { #expect(changes[way] ?? 0 > 0, "\(way)") }
  }

  @Test func `run prints a table, and its last line is one JSON object`() throws {
    let run = CommandRun("run --seeds 80 --json")
    #expect(run.code == .success)
    #expect(run.errors == [])
    let object = try run.json()
    let fields = [
      "seeds", "steps", "clients", "checks", "faults", "failures", "oracle", "seconds",
      "stepsPerSecond", "traceHash", "audits", "changes", "build", "options", "ranges", "requests",
      "simulatedMilliseconds", "longestConvergence", "breaches", "statuses", "rows", "stories",
    ]
    #expect(Set(object.keys) == Set(fields))
    #expect(object["seeds"] as? Int == 80)
    #expect(object["clients"] as? Int == 4)
    #expect(object["failures"] as? Int == 0)
    #expect(object["oracle"] is NSNull)
    #expect(try #require(object["steps"] as? Int) > 80 * 200)
    #expect(try #require(object["checks"] as? Int) > 80 * 200)
    #expect(try #require(object["seconds"] as? Double) > 0)
    #expect(try #require(object["stepsPerSecond"] as? Double) > 0)
    let faults = try #require(object["faults"] as? [String: Int])
    #expect(Set(faults.keys) == Set(Fault.allCases.map(\.name)))
    #expect(faults.values.contains { $0 > 0 })
    let audits = try #require(object["audits"] as? [String: Int])
    #expect(Set(audits.keys) == ["suspects", "fetches", "repairs"])
    let (suspects, fetches) = (audits["suspects"] ?? 0, audits["fetches"] ?? 0)
    #expect(suspects > 0 && fetches <= suspects && audits["repairs"] ?? 0 <= fetches)
    #expect(run.output.joined().contains("audits of pages       \(suspects) suspects, "))
    let changes = try #require(object["changes"] as? [String: Int])
    #expect(Set(changes.keys) == ["made", "refused", "conflicts", "overruled"])
    #expect(
      run.output.joined().contains("users' changes        \(changes["made"] ?? 0) made, "))
    let hash = try #require(object["traceHash"] as? String)
    #expect(hash.count == 16 && hash.allSatisfy(\.isHexDigit))
    #expect(run.output.joined().contains("trace hash            \(hash)"))
  }

  @Test func `run counts situations if it is asked to, and prints the rare ones first`() throws {
    let run = CommandRun("run --seeds 20 --situations --json")
    let plain = CommandRun("run --seeds 20 --json")
    #expect(run.code == .success)
    #expect(try run.json()["traceHash"] as? String == plain.json()["traceHash"] as? String)
    let rows = try #require(try run.json()["situations"] as? [[String: Any]])
    #expect(Set(rows.compactMap { $0["name"] as? String }) == Set(Situation.allCases.map(\.name)))
    let seeds = rows.compactMap { $0["seeds"] as? Int }
    #expect(seeds == seeds.sorted() && seeds.last ?? 0 > 5)
    for row in rows {
      let count = row["seeds"] as? Int ?? 0
      #expect(row["isRare"] as? Bool == (count == 0))
      #expect(row["times"] as? Int ?? -1 >= count)
      #expect((row["worlds"] as? [String])?.isEmpty == (count == 0))
    }
    let table = run.output.joined(separator: "\n")
    #expect(
      table.contains("Situations: \(rows.count), of which \(seeds.count { $0 == 0 }) are rare"))
    #expect(table.contains("    A refusal arrives while the retry of its push is out."))
  }

  @Test func `run prints no JSON without --json`() {
    let run = CommandRun("run --seeds 1")
    #expect(run.code == .success)
    #expect(!run.output.joined().contains("{"))
  }

  @Test(arguments: ["--seeds=40 --first=7", "--seeds 40 --first 7 --clients 2 --plant lost-event"])
  func `the number of jobs does not change the results`(typed: String) throws {
    let one = try CommandRun("run \(typed) --jobs 1 --json").json()
    for jobs in [2, 3] {
      let more = try CommandRun("run \(typed) --jobs \(jobs) --json").json()
      for field in ["seeds", "steps", "checks", "failures", "traceHash"] {
        #expect("\(one[field] ?? "")" == "\(more[field] ?? "-")", "\(field)")
      }
    }
  }

  @Test func `other seeds, clients, steps and faults give other runs`() throws {
    let runs = ["", " --first 2", " --clients 3", " --steps 200", " --faults crash,storm"]
    var hashes: Set<String> = []
    for run in runs {
      let object = try CommandRun("run --seeds 3 --json" + run).json()
      hashes.insert(try #require(object["traceHash"] as? String))
    }
    #expect(hashes.count == runs.count)
  }

  @Test func `two halves of the seeds add up to the whole`() throws {
    func steps(_ typed: String) throws -> Int {
      try #require(try CommandRun("run --json \(typed)").json()["steps"] as? Int)
    }
    let halves = try steps("--seeds 20") + steps("--seeds 20 --first 21")
    #expect(try steps("--seeds 40") == halves)
  }

  @Test func `no fault strikes with --faults none`() throws {
    let faults =
      try CommandRun("run --seeds 5 --faults none --json").json()["faults"] as? [String: Int]
    #expect(try #require(faults).values.allSatisfy { $0 == 0 })
  }

  @Test(arguments: Plant.all)
  func `a plant gives exit code 1 and a short story with a command that repeats it`(
    plant: Plant
  ) throws {
    let run = CommandRun(
      "run --seeds 60 --clients 3 --world directory --plant \(plant.name) --json")
    #expect(run.code == .failure)
    #expect(run.code.rawValue == 1)
    let story = try #require(run.output.first { $0.hasPrefix("\nSeed ") })
    let lines = story.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 24)
    let oracle: Oracle = plant == .neverAnswersAgain ? .liveness : .replica
    #expect(story.contains("Oracle \(oracle.rawValue), client "))
    #expect(story.contains("  expected  ") && story.contains("  found     "))
    #expect(try run.json()["oracle"] as? String == oracle.rawValue)
    #expect(try #require(run.json()["failures"] as? Int) > 0)
    #expect(
      run.output.joined().contains("plant                 \(plant.name), contract broken"))

    // Both commands repeat the failure. The small run says the same; the whole run says what its
    // seed did.
    let commands = lines.filter { $0.hasPrefix("  swift run -c release simulate ") }
    #expect(commands.count == 2)
    let told = lines.drop { !$0.hasPrefix("Oracle ") }
    let finding = told.prefix(told.dropFirst(3).first?.hasPrefix("  difference  ") == true ? 4 : 3)
      .joined(separator: "\n")
    let small = CommandRun(String(try #require(commands.first).dropFirst(31)))
    #expect(small.code == .failure && small.output.contains(finding))
    let whole = CommandRun(String(try #require(commands.last).dropFirst(31)))
    #expect(whole.code == .failure && whole.output.contains { $0.hasPrefix("Oracle ") })
  }

  // MARK: Tracing

  @Test func `trace ends with the same hash as --hash and run`() throws {
    let trace = CommandRun("trace --seed 3")
    #expect(trace.code == .success)
    #expect(trace.output.count > 100)
    let hash = CommandRun("trace --seed 3 --hash")
    #expect(hash.code == .success)
    #expect(hash.output.count == 1)
    #expect(trace.output.last == "hash \(hash.output[0])")
    var configuration = SimulationConfiguration(seed: 3)
    configuration.world = LibraryWorld.drawn(by: 3)
    let result = LibraryWorld.run(configuration)
    #expect(hash.output == ["\(result.hash)"])
  }

  @Test func `a trace has one line for each event, the same every time`() {
    let trace = CommandRun("trace --seed 4 --clients 2 --steps 60 --faults crash,gentle-restart")
    #expect(trace.code == .success)
    #expect(trace.output.allSatisfy { !$0.contains("\n") })
    #expect(trace.output.contains { $0.contains("begins incarnation 1") })
    let again = CommandRun("trace --seed=4 --clients=2 --steps=60 --faults=crash,gentle-restart")
    #expect(again.output == trace.output)
  }

  @Test func `a trace of a failing seed gives exit code 1, also with --hash`() throws {
    let run = CommandRun("run --seeds 30 --plant stale-snapshot")
    let story = try #require(run.output.first { $0.hasPrefix("\nSeed ") })
    let seed = try #require(story.split(separator: " ").dropFirst().first)
    #expect(CommandRun("trace --seed \(seed) --plant stale-snapshot").code == .failure)
    #expect(CommandRun("trace --seed \(seed) --plant stale-snapshot --hash").code == .failure)
    #expect(CommandRun("trace --seed \(seed)").code == .success)
  }

  @Test func `the command that repeats a run names all options that are not default`() throws {
    func words(_ typed: String) throws -> String {
      let arguments = try Arguments(
        typed.split(separator: " ").map(String.init), options: RunOptions.names)
      return try RunOptions(arguments).words(forSeed: 9)
    }
    #expect(try words("") == "--seed 9")
    #expect(try words("--seeds 3 --jobs 2 --clients 4 --steps 300 --faults all") == "--seed 9")
    #expect(
      try words("--clients 2 --steps 7 --faults storm,crash --plant lost-event")
        == "--seed 9 --clients 2 --steps 7 --faults crash,storm --plant lost-event")
    #expect(try words("--world posts") == "--seed 9 --world posts")
    #expect(try words("--faults none") == "--seed 9 --faults none")
  }
}
