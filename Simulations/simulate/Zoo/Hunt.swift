import Foundation
import Simulator

/// A way of hunting mutants.
enum Technique: String, CaseIterable, Sendable {
  /// The default run, and then the explorer for what the run does not find.
  case `default`
  /// All faults are on in every seed.
  case noSwarm = "no-swarm"
  /// No client has to become up to date after the faults.
  case noLiveness = "no-liveness"
  /// Every state of a small world is visited, in place of runs.
  case explorer

  /// The arguments of the copy's command, except those that depend on the mutant.
  func words(budget: Hunt.Budget, shrinking: Int) -> [String] {
    if self == .explorer { return ["explore", "--json"] }
    let hunt = [
      "run", "--until-failure", "--json", "--jobs", "1", "--seeds", "\(budget.seeds)",
      "--seconds", "\(budget.seconds)", "--shrink", "\(shrinking)", "--longest-run", "20",
    ]
    switch self {
    case .default, .explorer: return hunt
    case .noSwarm: return hunt + ["--no-swarm"]
    case .noLiveness: return hunt + ["--no-liveness"]
    }
  }
}

/// The result of hunting one mutant.
struct Catch: Sendable {
  var mutant: Mutant
  /// What found it: an oracle's full name, "trap" or "explorer"; `nil`: nothing did.
  var oracle: String?
  var seed: UInt64?
  /// The number of runs until it was found.
  var runs: Int64?
  /// The time until it was found. It includes the start of the process for a trap, and if nothing
  /// found it.
  var milliseconds: Double?
  /// The number of choices left after the failing run was made small.
  var choicesLeft: Int64?
  var shrinkingMilliseconds: Double?
  /// Whether its process exceeded its time, and had to be killed.
  var isHung = false
  /// The number of runs in which nothing objected, if nothing found it.
  var survivedRuns: Int64?
  /// Whether its time was up before its seeds were.
  var isCutShort = false
  /// A seed that failed with the mutant, and fails without it as well: it found another bug.
  var unrelatedSeed: UInt64?
  /// What found a survivor that is no simulation: "conform", "scenario", "check".
  var conversations: [String] = []
  /// Whether the world in which it survived enters the changed code; `nil`: not known.
  var isReached: Bool?

  var isFound: Bool { oracle != nil }

  /// The oracle's letter, as in a mutant's file.
  var letter: String? {
    oracle.map { ["trap", "explorer"].contains($0) ? $0 : String($0.prefix(1)) }
  }

  /// Whether the oracle is an expected one. The explorer counts as expected, because it names no
  /// oracle.
  var isExpected: Bool { letter == "explorer" || letter.map(mutant.oracles.contains) ?? false }

  init(_ mutant: Mutant) { self.mutant = mutant }
}

extension Mutant {
  /// The world in which the changed code has something to do, unless the file names another.
  var world: LibraryWorld {
    if let named { return named }
    let changed = [
      "UpdateMachine/Mutations/", "Client/SyncClient+Changes", "SyncProtocols/ClientView/",
    ]
    if hunks.contains(where: { hunk in changed.contains { hunk.file.contains($0) } }) {
      return .ledger
    }
    if hunks.contains(where: { $0.file.contains("SyncProtocols/RecordSync/") }) { return .records }
    if hunks.contains(where: { $0.file.contains("SyncProtocols/TableSync/") }) { return .tables }
    if hunks.contains(where: { $0.file.contains("SyncProtocols/EventStream/") }) { return .streams }
    if hunks.contains(where: { $0.file.contains("SyncProtocols/ChangeLog/") }) { return .tasks }
    if hunks.contains(where: { $0.file.contains("ZulipSync/") }) { return .zulip }
    if hunks.contains(where: { $0.file.contains("EtcdSync/") }) { return .etcd }
    let rooms =
      ["Pages", "Knowledge", "VersionedMap"].map { "UpdateMachine/\($0)/" } + ["MessageSync/"]
    let isOfMessages = hunks.contains { hunk in rooms.contains { hunk.file.contains($0) } }
    return isOfMessages ? .messages : .directory
  }
}

extension Mutant {
  /// The world in which it is hunted: with real drivers every world would do.
  var huntedIn: LibraryWorld { engine == .actor ? named ?? .directory : world }
}

/// Hunts mutants, each in a process of its own: a mutant may trap or hang.
struct Hunt: Sendable {
  var executable: String
  var technique: Technique
  var budget: Budget
  /// The time for making a failing run small, in milliseconds.
  var shrinking: Int
  var jobs: Int

  /// How long each mutant is hunted. The seeds decide, so that the result is the same on any
  /// machine; the seconds end what hangs.
  struct Budget: Sendable {
    var seeds = 20_000
    var seconds = 600
  }

  /// The seconds by which a process may exceed its time: for a run that began late and does not
  /// end.
  private static let grace = 25
  /// The memory limit of a mutant's process, in kilobytes, where the system supports it.
  static let memory = 4_000_000

  /// Hunts all mutants, or fewer if interrupted. Returns the results in the order of the list.
  func hunt(_ mutants: [Mutant], _ console: Console) -> [Catch] {
    let tally = Tally(2)
    let results = inParallel(mutants.count, jobs: jobs) { index -> Catch? in
      let result = hunt(mutants[index])
      // The hunt may have been stopped early.
      if Interrupt.wasAsked, result.runs == nil { return nil }
      let now = tally.add(1, result.isFound ? 1 : 0)
      console.progress(
        "\(technique.rawValue): \(now[0]) of \(mutants.count) hunted, \(now[1]) found")
      return result
    }
    console.progress(nil)
    return results.compactMap { $0 }
  }

  /// Hunts one mutant. By default the explorer is tried after the run, or before it if the mutant's
  /// file says that only the explorer finds it.
  func hunt(_ mutant: Mutant) -> Catch {
    if technique == .default, mutant.oracles == ["explorer"] {
      let explored = hunt(mutant, .explorer)
      return explored.isFound || Interrupt.wasAsked ? explored : hunt(mutant, technique)
    }
    let found = hunt(mutant, technique)
    guard technique == .default, !found.isFound, mutant.engine == .value, !Interrupt.wasAsked else {
      return found
    }
    var explored = hunt(mutant, .explorer)
    guard explored.isFound else { return found }
    explored.milliseconds = (explored.milliseconds ?? 0) + (found.milliseconds ?? 0)
    return explored
  }

  private func hunt(_ mutant: Mutant, _ technique: Technique) -> Catch {
    if technique == .explorer, mutant.engine == .actor { return Catch(mutant) }
    let start = ContinuousClock.now
    let first = technique == .explorer ? [] : ["--first", "\(mutant.first)"]
    let end = run(
      Schemata.number(of: mutant.name),
      technique.words(budget: budget, shrinking: shrinking) + place(of: mutant, technique) + first)
    let milliseconds = (ContinuousClock.now - start).milliseconds
    var result = Hunt.reading(end, of: mutant, technique, milliseconds: milliseconds)
    if let seed = result.seed, fails(seed, place(of: mutant, technique), technique) {
      result = Catch(mutant)
      result.unrelatedSeed = seed
    }
    guard !result.isFound else { return result }
    result.milliseconds = milliseconds
    if let runs = result.survivedRuns { result.isCutShort = runs < Int64(budget.seeds) }
    if technique == .explorer { result.isCutShort = end.isOverdue }
    return result
  }

  /// Whether a seed fails without any mutant.
  private func fails(_ seed: UInt64, _ place: [String], _ technique: Technique) -> Bool {
    let one = Budget(seeds: 1, seconds: budget.seconds)
    let end = run(0, technique.words(budget: one, shrinking: 0) + place + ["--first", "\(seed)"])
    return end.isOverdue || end.code == nil || RunAnswer(end.output)?.failure != nil
  }

  /// The words that name a mutant's engine and world.
  func place(of mutant: Mutant, _ technique: Technique) -> [String] {
    if technique == .explorer { return [] }
    let world = mutant.huntedIn
    return ["--engine", mutant.engine.rawValue]
      + (world.spoken != .eventQueue
        ? ["--protocol", world.spoken.rawValue] : ["--world", world.rawValue])
  }

  /// Runs the copy's command with one mutant active; 0: none.
  ///
  /// - Parameter reach: a ``ReachFile``; `nil`: it is not counted which bodies are entered.
  func run(_ number: UInt32, _ words: [String], reach: String? = nil) -> ChildProcess.End {
    let limited = "ulimit -v \(Hunt.memory) 2>/dev/null; exec \"$0\" \"$@\""
    var environment = [ScratchPackage.variable: "\(number)", "SWIFT_BACKTRACE": "enable=no"]
    if let reach { environment[ScratchPackage.reachVariable] = reach }
    let process = ChildProcess(
      "/bin/sh", ["-c", limited, executable] + words, environment: environment,
      limit: .seconds(budget.seconds + Hunt.grace) + .milliseconds(shrinking))
    return process.run()
  }

  /// Reads the result for a mutant from the end of its process.
  static func reading(
    _ end: ChildProcess.End, of mutant: Mutant, _ technique: Technique, milliseconds: Double
  ) -> Catch {
    var result = Catch(mutant)
    if end.isOverdue {
      result.isHung = technique != .explorer
      // It may have been found, and have hung only while it was made small.
      if technique != .explorer { readFirstWord(end.output, &result) }
    } else if !end.isStarted {
      return result
    } else if end.code == nil || end.code.map({ $0 > 130 }) == true {
      result.oracle = "trap"
      result.milliseconds = milliseconds
    } else if technique == .explorer {
      guard end.code == ExitCode.failure.rawValue else { return result }
      result.oracle = "explorer"
      result.milliseconds = ExploreAnswer(end.output).map { $0.seconds * 1000 } ?? milliseconds
    } else if let answer = RunAnswer(end.output) {
      guard let failure = answer.failure else {
        result.survivedRuns = answer.seeds
        return result
      }
      result.oracle = failure.oracle
      result.seed = failure.seed
      result.runs = failure.runs
      result.milliseconds = failure.milliseconds
      result.choicesLeft = failure.choicesLeft
      result.shrinkingMilliseconds = failure.shrinkingMilliseconds
    }
    return result
  }

  /// Reads "First found by ORACLE, in seed S, run N, after M ms: …".
  private static func readFirstWord(_ output: String, _ result: inout Catch) {
    let start = "First found by "
    guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix(start) }) else {
      return
    }
    let parts = line.dropFirst(start.count).split(separator: ":")[0].split(separator: ", ")
    func number<Number: LosslessStringConvertible>(_ part: Int, _ word: Int) -> Number? {
      guard parts.indices.contains(part) else { return nil }
      let words = parts[part].split(separator: " ")
      return words.indices.contains(word) ? Number(String(words[word])) : nil
    }
    result.oracle = parts.first.map(String.init)
    result.seed = number(1, 2)
    result.runs = number(2, 1)
    result.milliseconds = number(3, 1)
  }
}

/// The last line of `simulate run --json`, as far as a hunt needs it.
struct RunAnswer: Decodable {
  struct Failure: Decodable {
    var seed: UInt64
    var runs: Int64
    var milliseconds: Double
    var oracle: String
    var choicesLeft: Int64?
    var shrinkingMilliseconds: Double?
  }

  var seeds: Int64
  var failures: Int64
  var traceHash: String
  var failure: Failure?

  init?(_ output: String) {
    guard let answer: RunAnswer = lastLine(of: output) else { return nil }
    self = answer
  }
}

/// The last line of `simulate explore --json`, as far as a hunt needs it.
struct ExploreAnswer: Decodable {
  var seconds: Double

  init?(_ output: String) {
    guard let answer: ExploreAnswer = lastLine(of: output) else { return nil }
    self = answer
  }
}

/// Decodes the JSON object on the last line; `nil`: there is none, or it has another type.
private func lastLine<Answer: Decodable>(of output: String) -> Answer? {
  output.split(separator: "\n").last
    .flatMap { try? JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
}
