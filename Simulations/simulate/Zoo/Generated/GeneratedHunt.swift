import Foundation
import Simulator

/// What became of one generated bug.
struct GeneratedCatch: Sendable {
  var mutant: GeneratedMutant
  /// The names of the attempts that enter its body.
  var reached: [String] = []
  /// The attempt that found it.
  var attempt: Attempt?
  /// An oracle's full name, "trap", "hang", "explorer" or the command; `nil`: nothing found it.
  var oracle: String?
  /// The runs until it was found, or in which nothing objected.
  var runs: Int64 = 0
  /// Why it is no bug, if a person has argued that.
  var equivalence: String?

  var isFound: Bool { oracle != nil }
  var isFoundBySimulation: Bool { attempt?.kind == .simulation }
}

/// Hunts generated bugs, each process with one of them.
struct GeneratedHunt: Sendable {
  var package: ScratchPackage
  var attempts: [Attempt]
  /// The budget for one bug, in seconds of one core; by the rates of attempts it is a number of
  /// seeds.
  var coreSeconds: Double
  var jobs: Int

  /// The seconds of the first look in each world.
  private static let firstLook = 0.5
  /// How many times longer than expected an attempt may take before it counts as one that hangs.
  private static let patience = 10.0

  // MARK: Reach

  /// Runs every attempt without a bug, and counts how often each body is entered. Throws if one
  /// finds something.
  func reach(_ bodies: Int, _ console: Console) throws -> Reach {
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
    let words = attempt.words(from: 1, attempt.seeds(3))
    let end = run(attempt, words, mutant: 0, reach: path, seconds: Double(attempt.seconds))
    if !end.succeeded, !Interrupt.wasAsked {
      throw FileError(
        message: "without any bug, \(attempt.product) \(words.joined(separator: " ")) fails:\n"
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

  /// Hunts one bug with the attempts that reach it: first all of them for a moment, and then each
  /// as long as the budget allows.
  private func hunt(_ mutant: GeneratedMutant, _ reaching: [Int]) -> GeneratedCatch {
    var result = GeneratedCatch(mutant: mutant)
    let able = reaching.map { attempts[$0] }
    result.reached = able.map(\.name)
    let number = Schemata.number(of: mutant.name)
    for (attempt, first, count) in plan(able) where !Interrupt.wasAsked {
      let words = attempt.words(from: first, count)
      let seconds = attempt.rate.map { Double(count) / Double($0) } ?? Double(attempt.seconds)
      let end = run(attempt, words, mutant: number, reach: nil, seconds: seconds)
      read(end, of: attempt, &result)
      if result.isFound { break }
    }
    return result
  }

  /// In which order attempts are made, and with which seeds: a moment in each world, what is short
  /// and has no seeds, each world as long as the budget allows, what is long, and at last what is
  /// no simulation.
  func plan(_ able: [Attempt]) -> [(attempt: Attempt, first: Int, count: Int)] {
    let seeded = able.filter { $0.rate != nil }
    let whole = able.filter {
      $0.rate == nil && $0.kind == .simulation && Double($0.seconds) <= coreSeconds / 2
    }
    let spent =
      Double(whole.reduce(0) { $0 + $1.seconds })
      + Double(seeded.count) * GeneratedHunt.firstLook
    let left = max(coreSeconds - spent, 0) / Double(max(seeded.count, 1))
    let looks = seeded.map { ($0, 1, $0.seeds(GeneratedHunt.firstLook)) }
    let searches = seeded.map { attempt in
      (attempt, attempt.seeds(GeneratedHunt.firstLook) + 1, attempt.seeds(left))
    }
    let isShort = { (attempt: Attempt) in attempt.seconds < 10 }
    let others = able.filter { $0.kind == .conversation }
    return looks + whole.filter(isShort).map { ($0, 1, 0) } + searches
      + (whole.filter { !isShort($0) } + others).map { ($0, 1, 0) }
  }

  private func run(
    _ attempt: Attempt, _ words: [String], mutant: UInt32, reach: String?, seconds: Double
  ) -> ChildProcess.End {
    // A limit of memory, where the system supports it.
    let limited = "ulimit -v 4000000 2>/dev/null; exec \"$0\" \"$@\""
    var environment = [ScratchPackage.variable: "\(mutant)", "SWIFT_BACKTRACE": "enable=no"]
    if let reach { environment[ScratchPackage.reachVariable] = reach }
    let process = ChildProcess(
      "/bin/sh", ["-c", limited, package.executable(attempt.product).path] + words,
      environment: environment,
      limit: .seconds(Int(seconds * GeneratedHunt.patience) + 20))
    return process.run()
  }

  /// Reads what the end of a process says.
  private func read(_ end: ChildProcess.End, of attempt: Attempt, _ result: inout GeneratedCatch) {
    if Interrupt.wasAsked { return }
    if end.isOverdue {
      result.oracle = "hang"
    } else if end.code == nil || end.code.map({ $0 > 130 }) == true {
      result.oracle = "trap"
    } else if attempt.rate != nil {
      let answer = RunAnswer(end.output)
      result.runs += answer?.failure?.runs ?? answer?.seeds ?? 0
      result.oracle = answer?.failure?.oracle
    } else if end.code != 0 {
      result.oracle = attempt.words.first.map { $0.hasPrefix("-") ? attempt.name : $0 }
    }
    if result.isFound { result.attempt = attempt }
  }
}
