import Foundation
import Simulator

/// What `explore` is asked to visit.
struct ExploreOptions {
  static let models = ["two-phase-commit"]
  static let names = ["--model", "--participants", "--votes", "--memory"]

  var model: TwoPhaseCommit
  var megabytes: UInt64 = 1024
  var json = false

  init(_ arguments: Arguments) throws(UsageError) {
    let known = ExploreOptions.models.joined(separator: ", ")
    guard let name = arguments.values["--model"] else {
      throw UsageError(message: "which model? Try --model NAME. There are: \(known)")
    }
    guard ExploreOptions.models.contains(name) else {
      throw UsageError(message: "unknown model \"\(name)\". There are: \(known)")
    }
    let participants =
      try arguments.number("--participants", in: TwoPhaseCommit.participantsAllowed) ?? 3
    let votes = try arguments.number("--votes", in: 0...participants)
    model = TwoPhaseCommit(participants: participants, votesNeeded: votes)
    if let number = try arguments.number("--memory", in: 1...UInt64(1_000_000)) {
      megabytes = number
    }
    json = arguments.has("--json")
  }
}

extension Simulate {
  static let exploreCommand = Command(
    name: "explore",
    summary: "visit every state of a small world, breadth first",
    help: """
      Usage: simulate explore --model NAME [OPTIONS]

      Visits every reachable state of a model, each once, and checks that nothing is wrong in any.
      If something is, the way there is told, and no way is shorter.

        --model NAME      two-phase-commit: Gray and Lamport's TwoPhase, whose states are known
        --participants N  resource managers, 1 to 15 (3)
        --votes N         votes after which the manager commits (all): with fewer it is wrong
        --memory MB       how much memory it may take (1024)
        --json            one JSON object on the last line

      Generated states count as TLC counts them: the initial one, and every successor of every
      state, seen before or not; statesPerSecond is of these. The depth is in states, the initial
      one being the first. bytesPerState is the most memory taken, by distinct states.

      Exit codes: 0 all is well; 1 something is wrong, and the shortest way there is told; 2 bad
      usage, or out of memory; 130 interrupted, with what was done so far.
      """,
    run: { words, console in
      let arguments = try Arguments(words, options: ExploreOptions.names, flags: ["--json"])
      return explore(try ExploreOptions(arguments), console)
    })

  static func explore(_ options: ExploreOptions, _ console: Console) -> ExitCode {
    Interrupt.watch()
    let start = ContinuousClock.now
    var shown = start
    let explorer = Explorer(options.model, memoryLimit: options.megabytes << 20)
    let exploration = explorer.run { progress in
      if Interrupt.wasAsked { return .stop }
      let now = ContinuousClock.now
      if now - shown >= .milliseconds(500) {
        shown = now
        console.progress(ExploreReport.progressLine(progress, after: now - start))
      }
      return .goOn
    }
    console.progress(nil)
    let report = ExploreReport(
      options: options, exploration: exploration,
      seconds: ExploreReport.seconds(ContinuousClock.now - start))
    console.out(report.table)
    for line in exploration.counterexample?.lines ?? [] { console.out(line) }
    if options.json { console.out(report.json) }
    switch exploration.ending {
    case .closed, .depthLimit: return .success
    case .violated: return .failure
    case .stopped: return .interrupted
    case .memoryLimit:
      console.error(
        "simulate explore: \(options.megabytes) MB are full, and "
          + "\(exploration.counts.waiting) states wait. "
          + "Give it more with --memory, or take fewer --participants")
      return .usage
    }
  }
}

/// What `explore` says at the end: a table, and one JSON object.
struct ExploreReport {
  var options: ExploreOptions
  var exploration: Exploration<TwoPhaseCommit>
  var seconds: Double

  private var counts: ExplorationCounts { exploration.counts }
  private var rate: Double { Double(counts.generated) / max(seconds, 1e-9) }
  private var bytesPerState: Double {
    Double(exploration.memory) / Double(max(counts.distinct, 1))
  }

  var table: String {
    let model = options.model
    let memory = Double(exploration.memory) / 1_048_576
    return [
      row(
        "model",
        "two-phase-commit, \(model.participants) resource managers"
          + (model.votesNeeded < model.participants ? ", \(model.votesNeeded) votes needed" : "")),
      row("states generated", "\(counts.generated)"),
      row("states distinct", "\(counts.distinct)"),
      row("depth", "\(counts.depth)"),
      row("real time", String(format: "%.2f s (%.0f generated a second)", seconds, rate)),
      row("memory", String(format: "%.1f MB (%.1f bytes a state)", memory, bytesPerState)),
      row("ended", ending),
    ].joined(separator: "\n")
  }

  private var ending: String {
    switch exploration.ending {
    case .closed: "closed: every state was visited, and everything holds"
    case .violated: "violated"
    case .memoryLimit: "out of memory, with \(counts.waiting) states waiting"
    case .depthLimit: "at the depth limit, with \(counts.waiting) states waiting"
    case .stopped: "interrupted, with \(counts.waiting) states waiting"
    }
  }

  var json: String {
    "{\"model\":\"two-phase-commit\",\"participants\":\(options.model.participants),"
      + "\"votes\":\(options.model.votesNeeded),\"generated\":\(counts.generated),"
      + "\"distinct\":\(counts.distinct),\"depth\":\(counts.depth),"
      + "\"ending\":\"\(exploration.ending.rawValue)\","
      + "\"counterexampleSteps\":\(exploration.counterexample.map { "\($0.steps.count)" } ?? "null"),"
      + String(
        format: "\"seconds\":%.3f,\"statesPerSecond\":%.0f,\"bytesPerState\":%.1f}", seconds, rate,
        bytesPerState)
  }

  static func progressLine(_ progress: ExplorationProgress, after elapsed: Duration) -> String {
    let counts = progress.counts
    let rate = Double(counts.generated) / max(seconds(elapsed), 0.001)
    return (progress.isSecondRun ? "retracing: " : "")
      + "\(counts.generated) generated, \(Int(rate)) a second, \(counts.distinct) distinct, "
      + "\(counts.waiting) waiting, depth \(counts.depth), \(progress.memory >> 20) MB"
  }

  static func seconds(_ elapsed: Duration) -> Double {
    Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
  }

  private func row(_ name: String, _ value: String) -> String {
    name.padding(toLength: 22, withPad: " ", startingAt: 0) + value
  }
}
