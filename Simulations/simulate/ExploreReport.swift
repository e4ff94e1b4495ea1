import Foundation
import Simulator

/// The final report of `explore`: a table, a counterexample, and one JSON object.
struct ExploreReport {
  private let options: ExploreOptions
  private let ending: ExplorationEnding
  private let counts: ExplorationCounts
  private let memory: UInt64
  private let coverage: UInt64
  private let steps: Int?
  private let violation: String?
  private let seconds: Double
  private let together: Together?
  /// The shortest path to a violation, one line for each step with its state; empty if everything
  /// holds.
  let counterexample: [String]

  /// What `--by-client` has found of clients together.
  struct Together {
    /// The clients that recur.
    var clients: Int
    /// The crowds of them.
    var crowds: Int64
  }

  init<Model>(
    options: ExploreOptions, _ exploration: Exploration<Model>, seconds: Double,
    _ together: Together? = nil
  ) {
    self.options = options
    self.together = together
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
    switch options.subject {
    case .eventQueue, .crowd:
      rows.append(("statuses reached", reached(11, SmallWorld.missingStatuses(coverage))))
      rows.append(("failure rows", reached(21, SmallWorld.missingRows(coverage))))
    case .clientView:
      rows.append(("outbox reached", reached(SmallView.names.count, SmallView.missing(coverage))))
    case .messages, .twoPhaseCommit: break
    }
    if let together {
      rows.append(("clients that recur", "\(together.clients), \(together.crowds) crowds of them"))
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
      return "event-queue, clients: 1, events in a queue: \(model.queueLength)"
    case .crowd(let model):
      return "event-queue, clients: \(model.clients), events in a queue: \(model.queueLength)"
        + (model.isSymmetric ? "" : ", without symmetry")
        + (options.byClient ? ", client by client" : "")
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
    case .closed where options.byClient:
      "closed: every client was visited, and everything holds of all together"
    case .closed: "closed: every state was visited, and everything holds"
    case .violated: "violated"
    case .memoryLimit: "out of memory, with \(counts.waiting) states waiting"
    case .depthLimit: "at the depth limit, with \(counts.waiting) states waiting"
    case .stopped: "interrupted, with \(counts.waiting) states waiting"
    }
  }

  /// The number of different states.
  var distinct: Int64 { counts.distinct }
  /// The number of states on the longest of all shortest paths.
  var depth: Int64 { counts.depth }

  /// - Parameter share: what random walks came to, if there were any.
  func json(with share: WalkReport?) -> String {
    var text: String
    switch options.subject {
    case .eventQueue(let model): text = eventQueue(clients: 1, model.queueLength)
    case .crowd(let model): text = eventQueue(clients: model.clients, model.queueLength)
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
        format: "\"seconds\":%.3f,\"statesPerSecond\":%.0f,\"bytesPerState\":%.1f", seconds, rate,
        bytesPerState)
      + (together.map { ",\"recurring\":\($0.clients),\"recurringCrowds\":\($0.crowds)" } ?? "")
      + (share.map { ",\"walks\":\($0.json)" } ?? "") + "}"
  }

  private func eventQueue(clients: Int, _ queueLength: Int) -> String {
    "{\"model\":\"event-queue\",\"clients\":\(clients),\"queueLength\":\(queueLength),"
      + "\"missingStatuses\":\(list(SmallWorld.missingStatuses(coverage))),"
      + "\"missingRows\":\(list(SmallWorld.missingRows(coverage))),"
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
      Int(options.seeds ?? 0), count.reached, count.explored, share, states, count.beyond)
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
