import Foundation
import Simulator

/// What `explore` is asked to visit.
struct ExploreOptions {
  enum Subject: Sendable {
    case eventQueue(SmallWorld)
    case clientView(SmallView)
    case messages(changes: Int)
    case twoPhaseCommit(TwoPhaseCommit)
  }

  static let models = ["event-queue", "two-phase-commit"]
  static let protocols = ["event-queue", "client-view"]
  static let worlds = ["messages"]
  static let names = [
    "--clients", "--queue-length", "--depth", "--memory", "--model", "--participants", "--votes",
    "--protocol", "--world", "--changes", "--refusals", "--seeds",
  ]
  static let flags = ["--json", "--signals"]

  var subject: Subject
  var depth = Int64.max
  var megabytes: UInt64 = 2048
  var json = false
  /// How many seeds are also simulated, to compare their runs with what was explored.
  var lives: UInt64?

  init(_ arguments: Arguments) throws(UsageError) {
    let name = try ExploreOptions.name(arguments)
    try ExploreOptions.checkOptions(of: name, arguments)
    subject = try ExploreOptions.subject(name, arguments)
    if let number = try arguments.number("--depth", in: 1...Int64(1_000_000)) { depth = number }
    if let number = try arguments.number("--memory", in: 1...UInt64(1_000_000)) {
      megabytes = number
    }
    lives = try arguments.number("--seeds", in: 1...UInt64(1_000_000))
    json = arguments.has("--json")
  }

  /// What is explored: one option names it, or none.
  private static func name(_ arguments: Arguments) throws(UsageError) -> String {
    var found: (option: String, name: String)?
    let kinds = [("model", models), ("protocol", protocols), ("world", worlds)]
    for (kind, known) in kinds {
      guard let name = arguments.values["--\(kind)"] else { continue }
      guard known.contains(name) else {
        let names = known.joined(separator: ", ")
        throw UsageError(message: "unknown \(kind) \"\(name)\". There are: \(names)")
      }
      if let found {
        throw UsageError(message: "--\(kind) cannot be combined with --\(found.option)")
      }
      found = (kind, name)
    }
    return found?.name ?? "event-queue"
  }

  /// Options that go with one model only.
  private static func checkOptions(of name: String, _ arguments: Arguments) throws(UsageError) {
    let own = [
      (["event-queue"], "--clients"), (["event-queue"], "--queue-length"),
      (["event-queue"], "--seeds"), (["client-view", "messages"], "--changes"),
      (["client-view"], "--refusals"), (["client-view"], "--signals"),
      (["two-phase-commit"], "--participants"), (["two-phase-commit"], "--votes"),
    ]
    for (models, option) in own
    where !models.contains(name) && (arguments.values[option] != nil || arguments.has(option)) {
      throw UsageError(message: "\(option) has no meaning for the model \(name)")
    }
  }

  private static func subject(
    _ name: String, _ arguments: Arguments
  ) throws(UsageError) -> Subject {
    switch name {
    case "client-view":
      return .clientView(
        SmallView(
          changes: try arguments.number("--changes", in: SmallView.changesAllowed) ?? 1,
          refusals: try arguments.number("--refusals", in: SmallView.refusalsAllowed) ?? 1,
          hasSignals: arguments.has("--signals")))
    case "messages":
      return .messages(
        changes: try arguments.number("--changes", in: SmallMessages.changesAllowed) ?? 2)
    case "two-phase-commit":
      let participants =
        try arguments.number("--participants", in: TwoPhaseCommit.participantsAllowed) ?? 3
      return .twoPhaseCommit(
        TwoPhaseCommit(
          participants: participants,
          votesNeeded: try arguments.number("--votes", in: 0...participants)))
    default:
      return .eventQueue(
        SmallWorld(
          clients: try arguments.number("--clients", in: SmallWorld.clientsAllowed) ?? 1,
          queueLength: try arguments.number("--queue-length", in: SmallWorld.queueLengthAllowed)
            ?? 1))
    }
  }
}

extension ExploreOptions {
  /// `nil`: it was not requested.
  var shapes: ShapeCount? {
    guard case .eventQueue(let world) = subject, let lives else { return nil }
    return ShapeCount(of: world, in: 1...lives)
  }
}

extension Simulate {
  static let exploreCommand = Command(
    name: "explore",
    summary: "visit every state of a small world, breadth first",
    help: """
      Usage: simulate explore [OPTIONS]

      Visits every reachable state of a small world once. It checks each state, and checks that from
      each state, if nothing more goes wrong, every client becomes up to date. If something is wrong,
      it prints a shortest path to it.

      What to explore:
        --model NAME      event-queue: clients and a server (default)
                          two-phase-commit: Gray and Lamport's TwoPhase, whose number of states
                          is known
        --protocol NAME   event-queue, as above
                          client-view: one client that makes changes by Replicache's protocol,
                          with its outbox and its data layer
        --world NAME      messages: a window on a list, and one page that is on its way while
                          other things happen

      How large it is:
        --clients N       clients in event-queue, 1 to 3 (1); they are interchangeable
        --queue-length N  events that the server holds for a client, 1 to 3 (1)
        --changes N       changes that the user makes in client-view, 1 to 3 (1), or changes in
                          messages, 0 to 4 (2)
        --refusals N      changes that the server refuses in client-view, 0 to 2 (1)
        --signals         in client-view, the app also stops and goes to the background
        --participants N  resource managers in two-phase-commit, 1 to 15 (3)
        --votes N         votes after which the manager commits (all); with fewer it is wrong
        --depth N         states on the longest path, with the first one (no limit)
        --memory MB       memory that it may use (2048)

      What to print:
        --seeds N         also simulate the seeds 1 to N, as simulate run does, and print how many
                          of event-queue's states they reach; numbers in a state do not count
        --json            print one JSON object as the last line

      Time is abstract. It passes in ticks: a timer fires at any tick of its range, and an answer
      takes any number of ticks. One client with one event takes seconds. Two clients have more
      states than memory holds, so give a --depth.

      "states generated" counts as TLC does: the initial state, and every successor of every state,
      also if it was visited before; statesPerSecond is of these. bytesPerState is the greatest
      memory used, divided by the number of distinct states.

      Exit codes:
        0    nothing is wrong
        1    something is wrong
        2    bad usage, or out of memory
        130  interrupted; the results so far are printed
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ExploreOptions.names, flags: ExploreOptions.flags)
      let options = try ExploreOptions(arguments)
      switch options.subject {
      case .eventQueue(let model): return explore(model, options, console)
      case .clientView(let model): return explore(model, options, console)
      case .messages(let changes):
        return explore(SmallMessages(changes: changes), options, console)
      case .twoPhaseCommit(let model): return explore(model, options, console)
      }
    })

  private static func explore<Model: ExplorableModel>(
    _ model: Model, _ options: ExploreOptions, _ console: Console
  ) -> ExitCode {
    Interrupt.watch()
    let start = ContinuousClock.now
    var shown = start
    let explorer = Explorer(
      model, memoryLimit: options.megabytes << 20, depthLimit: options.depth)
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
      options: options, exploration, seconds: ExploreReport.seconds(ContinuousClock.now - start))
    console.out(report.table)
    for line in report.counterexample { console.out(line) }
    if let count = options.shapes { console.out(ExploreReport.line(of: count, options)) }
    if options.json { console.out(report.json) }
    switch exploration.ending {
    case .closed, .depthLimit: return .success
    case .violated: return .failure
    case .stopped: return .interrupted
    case .memoryLimit:
      console.error(
        "simulate explore: \(options.megabytes) MB are full, and "
          + "\(exploration.counts.waiting) states are not visited yet. "
          + "Allow more with --memory, limit the depth with --depth, or choose a smaller world")
      return .usage
    }
  }
}

/// What `explore` says at the end: a table, the way to what is wrong, and one JSON object.
struct ExploreReport {
  private let options: ExploreOptions
  private let ending: ExplorationEnding
  private let counts: ExplorationCounts
  private let memory: UInt64
  private let coverage: UInt64
  private let steps: Int?
  private let violation: String?
  private let seconds: Double
  /// The shortest way to what does not hold, a line a state and a step; empty if all holds.
  let counterexample: [String]

  init<Model>(options: ExploreOptions, _ exploration: Exploration<Model>, seconds: Double) {
    self.options = options
    self.seconds = seconds
    ending = exploration.ending
    counts = exploration.counts
    memory = exploration.memory
    coverage = exploration.coverage
    steps = exploration.counterexample?.steps.count
    violation = exploration.counterexample?.violation
    counterexample = exploration.counterexample?.lines ?? []
  }

  private var rate: Double { Double(counts.generated) / max(seconds, 1e-9) }
  private var bytesPerState: Double { Double(memory) / Double(max(counts.distinct, 1)) }

  var table: String {
    var rows = [
      ("model", subject),
      ("states generated", "\(counts.generated)"),
      ("states distinct", "\(counts.distinct)"),
      ("depth", "\(counts.depth)"),
    ]
    if case .eventQueue = options.subject {
      rows.append(("statuses reached", reached(11, SmallWorld.missingStatuses(coverage))))
      rows.append(("failure rows", reached(21, SmallWorld.missingRows(coverage))))
    }
    if case .clientView = options.subject {
      rows.append(("outbox reached", reached(SmallView.names.count, SmallView.missing(coverage))))
    }
    let megabytes = Double(memory) / 1_048_576
    rows += [
      ("real time", String(format: "%.2f s (%.0f generated a second)", seconds, rate)),
      ("memory", String(format: "%.1f MB (%.1f bytes a state)", megabytes, bytesPerState)),
      ("ended", endingText),
    ]
    return rows.map { name, value in
      name.padding(toLength: 22, withPad: " ", startingAt: 0) + value
    }.joined(separator: "\n")
  }

  private var subject: String {
    switch options.subject {
    case .eventQueue(let model):
      return "event-queue, \(model.clients) clients, \(model.queueLength) events in a queue"
    case .messages(let changes): return "messages, changes: \(changes)"
    case .clientView(let model):
      return "client-view, changes: \(model.changes), refusals: \(model.refusals)"
        + (model.hasSignals ? ", with signals" : "")
    case .twoPhaseCommit(let model):
      let isWrong = model.votesNeeded < model.participants
      return "two-phase-commit, \(model.participants) resource managers"
        + (isWrong ? ", \(model.votesNeeded) votes needed" : "")
    }
  }

  private func reached(_ total: Int, _ missing: [String]) -> String {
    missing.isEmpty
      ? "all \(total)"
      : "\(total - missing.count) of \(total), not " + missing.joined(separator: "; ")
  }

  private var endingText: String {
    switch ending {
    case .closed: "closed: every state was visited, and everything holds"
    case .violated: "violated"
    case .memoryLimit: "out of memory, with \(counts.waiting) states waiting"
    case .depthLimit: "at the depth limit, with \(counts.waiting) states waiting"
    case .stopped: "interrupted, with \(counts.waiting) states waiting"
    }
  }

  var json: String {
    var text: String
    switch options.subject {
    case .eventQueue(let model):
      text =
        "{\"model\":\"event-queue\",\"clients\":\(model.clients),"
        + "\"queueLength\":\(model.queueLength),"
        + "\"missingStatuses\":\(list(SmallWorld.missingStatuses(coverage))),"
        + "\"missingRows\":\(list(SmallWorld.missingRows(coverage))),"
    case .clientView(let model):
      text =
        "{\"model\":\"client-view\",\"changes\":\(model.changes),"
        + "\"refusals\":\(model.refusals),\"signals\":\(model.hasSignals),"
        + "\"missing\":\(list(SmallView.missing(coverage))),"
    case .messages(let changes): text = "{\"model\":\"messages\",\"changes\":\(changes),"
    case .twoPhaseCommit(let model):
      text =
        "{\"model\":\"two-phase-commit\",\"participants\":\(model.participants),"
        + "\"votes\":\(model.votesNeeded),"
    }
    text +=
      "\"generated\":\(counts.generated),\"distinct\":\(counts.distinct),"
      + "\"depth\":\(counts.depth),\"ending\":\"\(ending.rawValue)\","
      + "\"violation\":\(violation.map { "\"\($0)\"" } ?? "null"),"
      + "\"counterexampleSteps\":\(steps.map { "\($0)" } ?? "null"),"
    return text
      + String(
        format: "\"seconds\":%.3f,\"statesPerSecond\":%.0f,\"bytesPerState\":%.1f}", seconds, rate,
        bytesPerState)
  }

  private func list(_ names: [String]) -> String {
    "[" + names.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  static func line(of count: ShapeCount, _ options: ExploreOptions) -> String {
    let share = 100 * Double(count.reached) / Double(max(count.explored, 1))
    let states = 100 * Double(count.statesReached) / Double(max(count.states, 1))
    return String(
      format:
        "%d runs reach %d of %d shapes (%.1f %%), which %.1f %% of the states have; %d others",
      Int(options.lives ?? 0), count.reached, count.explored, share, states, count.beyond)
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
}
