import Foundation
import Simulator
import UpdateMachine

/// The final report of `run`: a table, the story of a failure, and one JSON object.
struct RunReport {
  var options: RunOptions
  var outcome: Runner.Outcome
  /// The failing run made small; `nil` until ``shrunk(while:)`` has made it.
  var small: SmallRun?

  private var statistics: RunStatistics { outcome.statistics }

  /// The faults that exist in these worlds: some concern only pages, and one only what users
  /// change.
  ///
  /// - Parameter world: `nil`: all worlds.
  static func faults(of world: LibraryWorld?) -> [Fault] {
    let worlds = world.map { [$0] } ?? LibraryWorld.allCases
    let hasPages = worlds.contains { $0 == .messages || $0 == .zulip }
    let hasChanges = worlds.contains { ![.directory, .messages, .zulip].contains($0) }
    return Fault.allCases.filter {
      (hasPages || !$0.isOfPages) && (hasChanges || $0 != .oldOutbox)
    }
  }

  /// The table's contents in two lines.
  var summary: String {
    let passed = statistics.seeds - statistics.failures
    let figures = String(
      format: "%.1f simulated days in %.1f s", simulatedSeconds / 86_400, outcome.seconds)
    func reached(_ total: Int, _ missing: Int) -> String {
      missing == 0 ? "all \(total)" : "\(total - missing) of \(total)"
    }
    let rows = FailureRows.names.count * 2 + 1
    return """
      \(passed) of \(statistics.seeds) worlds passed, \(options.configuration.clients) clients each, \
      \(figures)
      Reached: \(reached(faults.count, missingFaults.count)) faults, \
      \(reached(MachineStatus.names.count, statistics.missingStatuses.count)) statuses, \
      \(reached(rows, statistics.missingRows.count)) rows of the failure table
      """
  }

  private var faults: [Fault] { RunReport.faults(of: options.world) }

  private var simulatedSeconds: Double { Double(statistics.simulatedMilliseconds) / 1000 }

  private var missingFaults: [String] {
    faults.filter { statistics.faults[$0] == 0 }.map(\.name)
  }

  var table: String {
    let simulated = simulatedSeconds
    var lines = [
      row("seeds", "\(statistics.seeds) of \(options.configuration.clients) clients each"),
      row("steps", "\(statistics.steps)"),
      row("requests", "\(statistics.requests)"),
      row("simulated time", String(format: "%.1f days", simulated / 86_400)),
      row(
        "real time",
        String(
          format: "%.2f s (%.0f seeds a second, %.0f × real time)", outcome.seconds,
          Double(statistics.seeds) / max(outcome.seconds, 1e-9),
          simulated / max(outcome.seconds, 1e-9))),
      row("longest to converge", "\(statistics.longestConvergence)"),
      row(
        "faults struck",
        reached(faults.count, missingFaults)),
      row("statuses reached", reached(MachineStatus.names.count, statistics.missingStatuses)),
      row("failure rows", reached(FailureRows.names.count * 2 + 1, statistics.missingRows)),
    ]
    if options.isVerbose { lines.insert(row("  how often", faultLines), at: 7) }
    lines.append(row("audits of pages", audits))
    lines.append(row("users' changes", changes))
    if let plant = options.configuration.plant {
      lines.append(row("plant", "\(plant.name), contract broken \(statistics.breaches) times"))
    }
    lines.append(row("trace hash", "\(StateDigest(value: statistics.traceHash))"))
    lines.append(row("failures", "\(statistics.failures)"))
    return lines.joined(separator: "\n")
  }

  /// Whether the failure that is told is a run that took too long.
  private var tellsUnending: Bool {
    outcome.unending != nil && statistics.shortestFailure?.seed == outcome.unending
  }

  /// Says which run failed and what was found. Printed before the run is made small, because that
  /// takes a moment.
  var firstWord: String? {
    guard let failure = statistics.shortestFailure, let finding = failure.finding else {
      return nil
    }
    let hunt =
      options.untilFailure
      ? String(format: ", run %lld, after %.3f ms", statistics.seeds, outcome.seconds * 1000) : ""
    return "\nFirst found by \(finding.oracle.rawValue), in seed \(failure.seed)\(hunt): "
      + "\(options.words(forSeed: failure.seed))"
  }

  /// Makes the failing run with the fewest steps small; `nil`: none failed, or none can be made
  /// small.
  ///
  /// - Parameter goesOn: called while it is made small; `false` stops with the result so far.
  mutating func shrunk(while goesOn: @escaping (Shrinker) -> Bool) -> Shrunk? {
    guard statistics.shortestFailure != nil, options.shrinks, !tellsUnending else { return nil }
    makeSmall(while: goesOn)
    return small?.shrunk
  }

  /// Tells the failing run with the fewest steps, on at most one screen; `nil`: none failed.
  ///
  /// - Parameter shrunk: the run made small, if that was possible.
  func story(_ shrunk: Shrunk?) -> String? {
    guard let failure = statistics.shortestFailure, let finding = failure.finding else {
      return nil
    }
    // The run is not a function of its seed, so it can be neither made small nor repeated.
    // Nor can one that does not end.
    if finding.oracle == .determinism || tellsUnending {
      return "\n" + RunReport.tell(finding)
    }
    let configuration = options.configuration(ofSeed: failure.seed)
    let (result, trace) =
      shrunk.map { EveryWorld.traceReplay($0.token) } ?? options.engine.trace(configuration)
    var repeating: [String] = []
    if let shrunk {
      repeating = ["Repeat it:", "  swift run -c release simulate replay \(shrunk.token.text)"]
    }
    repeating += [
      "The whole of it:",
      "  swift run -c release simulate trace " + options.words(forSeed: failure.seed),
    ]
    let head = ["", "Seed \(failure.seed) failed after \(failure.steps) steps."]
    let story = Story(result, trace, shrunk: shrunk)
    let rest = story?.lines(atMost: Story.linesMaximum - head.count, repeating: repeating) ?? []
    return (head + rest).joined(separator: "\n")
  }

  static func tell(_ finding: Finding) -> String {
    let difference = WordDifference(from: finding.expected, to: finding.found)
    return Story.told(finding, difference).joined(separator: "\n")
  }

  var json: String {
    let figures = Figures(options: options, outcome: outcome, build: Build.hash)
    let oracle = statistics.shortestFailure?.finding.map { "\"\($0.oracle.rawValue)\"" } ?? "null"
    let rate = Double(statistics.steps) / max(outcome.seconds, 1e-9)
    return figures.json.dropLast() + ",\"oracle\":\(oracle)"
      + String(format: ",\"stepsPerSecond\":%.0f", rate)
      + (options.situations ? ",\"situations\":\(SituationReport(statistics).json)" : "")
      + (options.untilFailure ? ",\"failure\":\(failureJSON)" : "") + "}"
  }

  private var audits: String {
    let counts = statistics.audits
    guard counts.suspects > 0 else { return "0 suspects, \(counts.repairs) repairs" }
    let each = Double(counts.readings) / Double(counts.suspects)
    return "\(counts.suspects) suspects, \(counts.repairs) repairs, "
      + "\(counts.readings) fetches" + String(format: " (%.2f a suspect)", each)
  }

  private var changes: String {
    let counts = statistics.changes
    return "\(counts.made) made, \(counts.refused) pushes refused, "
      + "\(counts.conflicts) pushes in conflict, \(counts.overruled) overruled"
  }

  private var faultLines: String {
    let struck = Fault.allCases.filter { statistics.faults[$0] > 0 }
    guard !struck.isEmpty else { return "none" }
    var text = ""
    var width = 0
    for fault in struck {
      let word = "\(fault.name) \(statistics.faults[fault])"
      if width + word.count > 70 {
        text += "\n" + String(repeating: " ", count: RunReport.label)
        width = 0
      }
      text += (width == 0 ? "" : ", ") + word
      width += word.count + 2
    }
    return text
  }

  private func reached(_ total: Int, _ missing: [String]) -> String {
    missing.isEmpty
      ? "all \(total)"
      : "\(total - missing.count) of \(total), not " + missing.joined(separator: "; ")
  }

  private static let label = 22

  private func row(_ name: String, _ value: String) -> String {
    name.padding(toLength: RunReport.label, withPad: " ", startingAt: 0) + value
  }
}
