import Foundation
import Simulator

/// What became of one generated bug.
struct GeneratedCatch: Sendable {
  var mutant: GeneratedMutant
  /// The names of the attempts that enter its body.
  var reached: [String] = []
  /// The attempt that found it.
  var attempt: Attempt?
  /// An oracle's full name, "trap", "hang", "explore" or the command; `nil`: nothing found it.
  var oracle: String?
  /// The unit test that finds what nothing else does.
  var unitTest: String?
  /// The seed that found it, if a seed did.
  var seed: UInt64?
  /// The runs until it was found, or in which nothing objected.
  var runs: Int64 = 0
  /// Attempts that ended in a way that says nothing: out of memory, not started.
  var unclear: [String] = []
  /// Why it is no bug, if a person has argued that.
  var equivalence: String?

  var isFound: Bool { oracle != nil }
  /// Whether it is a bug, as far as anybody knows, and one that something enters.
  var counts: Bool { !reached.isEmpty && equivalence == nil }
  /// Whether a check of the simulator objects. A process that had to be killed was not told of.
  var isFoundBySimulation: Bool { attempt?.kind == .simulation && oracle != "hang" }
}

/// Hunts generated bugs, each process with one of them.
struct GeneratedHunt: Sendable {
  var package: ScratchPackage
  var attempts: [Attempt]
  /// The budget for one bug, in seconds of one core; by the rates of attempts it is a number of
  /// seeds.
  var coreSeconds: Double
  var jobs: Int

  /// The seconds for which each attempt with seeds runs to see what it enters.
  private static let lookForReach = 3.0
  /// How many times longer than expected an attempt may take before it counts as one that hangs,
  /// and how many seconds beyond that, for a machine that is slow or busy.
  private static let (patience, grace) = (10.0, 20.0)

  /// Where killed processes have their files, of which those stay in which something was found.
  private static func crashes(in package: ScratchPackage) -> URL {
    package.copy.appending(path: ".build/crashes")
  }

  // MARK: Reach

  /// Runs every attempt without a bug, and counts how often each body is entered. Throws if one
  /// finds something.
  func reach(_ bodies: Int, _ console: Console) throws -> Reach {
    let folder = GeneratedHunt.crashes(in: package)
    if FileManager.default.fileExists(atPath: folder.path) {
      try FileManager.default.removeItem(at: folder)
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let tally = Tally(1)
    let looks = inParallel(attempts.count, jobs: jobs) { index in
      let look = Result { () throws(FileError) in try reach(bodies, of: attempts[index]) }
      let done = tally.add(1)[0]
      console.progress("zoo: \(done) of \(attempts.count) ways looked at without a bug")
      return look
    }
    console.progress(nil)
    let unknown = Array(repeating: 0 as UInt32, count: bodies)
    return Reach(counts: try looks.map { try $0?.get() ?? unknown })
  }

  private func reach(_ bodies: Int, of attempt: Attempt) throws(FileError) -> [UInt32] {
    let name = attempt.name.split(separator: " ").joined(separator: "-")
    let path = package.copy.appending(path: ".build/reach-\(name)").path
    let file = try ReachFile(path, bodies: bodies)
    let look = GeneratedHunt.lookForReach
    let words = attempt.words(from: 1, attempt.seeds(look))
    for variant in attempt.variants where !Interrupt.wasAsked {
      let all = words + variant
      let seconds = max(Double(attempt.seconds), look)
      let end = run(attempt, all, mutant: 0, reach: path, seconds: seconds)
      let isUnlikeTwin = attempt.mustFind && GeneratedHunt.unlikeTwin(end) != nil
      if end.code == (attempt.mustFind ? 1 : 0), !isUnlikeTwin { continue }
      if Interrupt.wasAsked { continue }
      let how = end.isOverdue ? "takes too long" : "ends with exit code \(end.code ?? -1)"
      throw FileError(
        message: "without any bug, \(attempt.product) \(all.joined(separator: " ")) \(how):\n"
          + end.output.suffix(2000))
    }
    return file.counts()
  }

  // MARK: The hunt

  /// Hunts all bugs, or fewer if interrupted.
  func hunt(
    _ mutants: [GeneratedMutant], _ bodies: BodyNumbers, _ reach: Reach, _ console: Console
  ) -> [GeneratedCatch] {
    let tally = Tally(3)
    let results = inParallel(mutants.count, jobs: jobs) { index -> GeneratedCatch? in
      let reaching = reach.attempts(bodies.ofMutant[mutants[index].name] ?? [])
      let result = hunt(mutants[index], reaching)
      if Interrupt.wasAsked, !result.isFound { return nil }
      let now = tally.add(1, result.isFound ? 1 : 0, result.reached.isEmpty ? 0 : 1)
      console.progress(
        "zoo: \(now[0]) of \(mutants.count) hunted, \(now[1]) found of \(now[2]) reached")
      return result
    }
    console.progress(nil)
    return results.compactMap { $0 }
  }

  /// Hunts one bug with the attempts that reach it.
  private func hunt(_ mutant: GeneratedMutant, _ reaching: [Int]) -> GeneratedCatch {
    var result = GeneratedCatch(mutant: mutant)
    let able = reaching.map { attempts[$0] }
    result.reached = able.map(\.name)
    let number = Schemata.number(of: mutant.name)
    for (attempt, first, count) in plan(able) where !Interrupt.wasAsked {
      let words = attempt.words(from: first, count)
      let seconds = attempt.rate.map { Double(count) / Double($0) } ?? Double(attempt.seconds)
      for variant in attempt.variants where !result.isFound && !Interrupt.wasAsked {
        let end = run(
          attempt, words + variant, mutant: number, reach: nil, seconds: seconds)
        read(end, of: attempt, variant, &result)
        if let seed = result.seed, fails(seed, attempt, variant) {
          result.unclear.append("\(attempt.name): seed \(seed) fails without it, too")
          (result.oracle, result.attempt, result.seed) = (nil, nil, nil)
        }
      }
      if result.isFound { break }
    }
    return result
  }

  /// Whether a seed fails without any bug: then it found another one.
  private func fails(_ seed: UInt64, _ attempt: Attempt, _ variant: [String]) -> Bool {
    let words = attempt.words(from: Int(seed), 1) + variant
    let end = run(attempt, words, mutant: 0, reach: nil, seconds: 1)
    return end.isOverdue || end.code == nil || RunAnswer(end.output)?.failure != nil
  }

  /// In which order attempts are made, and with which seeds: each world for a twelfth of its share;
  /// what has no seeds, as far as half of the budget goes, the shortest first; then the rest of
  /// each world's share; and at last what is no simulation. The sum of all simulation is the
  /// budget.
  func plan(_ able: [Attempt]) -> [(attempt: Attempt, first: Int, count: Int)] {
    let seeded = able.filter { $0.rate != nil }
    var left = coreSeconds
    var whole: [Attempt] = []
    let byLength = able.filter { $0.rate == nil && $0.kind != .conversation }
      .enumerated().sorted { ($0.element.seconds, $0.offset) < ($1.element.seconds, $1.offset) }
    for (_, attempt) in byLength {
      let least = seeded.isEmpty ? 0 : coreSeconds / 2
      guard left - Double(attempt.seconds) >= least else { continue }
      left -= Double(attempt.seconds)
      whole.append(attempt)
    }
    let share = left / Double(max(seeded.count, 1))
    let looks = seeded.map { ($0, 1, $0.seeds(share / 12)) }
    let searches = seeded.map { attempt in
      let first = attempt.seeds(share / 12)
      return (attempt, first + 1, attempt.seeds(share) - first)
    }
    let others = able.filter { $0.kind == .conversation }
    return (looks + whole.map { ($0, 1, 0) } + searches + others.map { ($0, 1, 0) })
      .filter { $0.0.rate == nil || $0.2 > 0 }
  }

  private func run(
    _ attempt: Attempt, _ words: [String], mutant: UInt32, reach: String?, seconds: Double
  ) -> ChildProcess.End {
    // A limit of memory, where the system supports it.
    let limited = "ulimit -v \(Hunt.memory) 2>/dev/null; exec \"$0\" \"$@\""
    var environment = [ScratchPackage.variable: "\(mutant)", "SWIFT_BACKTRACE": "enable=no"]
    if let reach { environment[ScratchPackage.reachVariable] = reach }
    var words = words
    if attempt.product == "crash" {
      words += ["--folder", GeneratedHunt.crashes(in: package).appending(path: "\(mutant)").path]
    }
    let process = ChildProcess(
      "/bin/sh", ["-c", limited, package.executable(attempt.product).path] + words,
      environment: environment,
      limit: .seconds(Int(seconds * GeneratedHunt.patience + GeneratedHunt.grace)))
    return process.run()
  }

  /// The failure of a run whose server does something else than its plant does.
  private static func unlikeTwin(_ end: ChildProcess.End) -> RunAnswer.Failure? {
    RunAnswer(end.output)?.failure.flatMap { $0.oracle == Oracle.server.rawValue ? $0 : nil }
  }

  /// Reads what the end of a process says.
  func read(
    _ end: ChildProcess.End, of attempt: Attempt, _ variant: [String],
    _ result: inout GeneratedCatch
  ) {
    if Interrupt.wasAsked { return }
    let name = ([attempt.name] + variant).joined(separator: " ")
    if end.isOverdue {
      result.oracle = "hang"
    } else if !end.isStarted {
      result.unclear.append(name)
    } else if end.code == nil || end.code.map({ $0 > 130 }) == true {
      result.oracle = "trap"
    } else if attempt.rate != nil {
      guard let answer = RunAnswer(end.output) else { return result.unclear.append(name) }
      result.runs += answer.failure?.runs ?? answer.seeds
      result.oracle = answer.failure?.oracle
      result.seed = answer.failure?.seed
    } else if attempt.mustFind, end.code == 0 {
      result.oracle = "\(variant.last ?? "it") is not found out"
    } else if attempt.mustFind, let failure = GeneratedHunt.unlikeTwin(end) {
      result.oracle = failure.oracle
      result.seed = failure.seed
    } else if !attempt.mustFind, end.code == ExitCode.failure.rawValue {
      result.oracle = attempt.words.first.map { $0.hasPrefix("-") ? attempt.name : $0 }
    } else if end.code == ExitCode.usage.rawValue {
      // Golden files that make no sense any more are found; a search that is out of memory is not.
      if attempt.kind == .conversation {
        result.oracle = attempt.name
      } else {
        result.unclear.append(name)
      }
    }
    if result.isFound { result.attempt = attempt }
  }
}
