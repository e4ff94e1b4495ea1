import Foundation
import Simulator
import UpdateMachine

/// What `sum` prints: a table like that of `run`, and the failures, one line for each story.
struct SumReport {
  var figures: Figures
  var files: Int

  var lines: [String] {
    let seconds = max(figures.seconds, 1e-9)
    var lines = [
      row("reports", "\(files), of seeds \(ranges)"),
      row("seeds", "\(figures.seeds) of \(figures.clients) clients each"),
      row("steps", "\(figures.steps)"),
      row("requests", "\(figures.requests)"),
      row(
        "simulated time",
        String(format: "%.1f days", Double(figures.simulatedMilliseconds) / 86_400_000)),
      row(
        "time of processes",
        String(
          format: "%.2f s (%.0f seeds a second in each)", figures.seconds,
          Double(figures.seeds) / seconds)),
      row("longest to converge", "\(TimeSpan(milliseconds: figures.longestConvergence))"),
      row("faults struck", reached(faults.filter { figures.faults[$0] ?? 0 == 0 }, of: faults)),
      row(
        "statuses reached",
        reached(
          MachineStatus.names.filter { !figures.statuses.contains($0) }, of: MachineStatus.names)),
      row("failure rows", reached(rows.filter { figures.rows[$0] ?? 0 == 0 }, of: rows)),
      row(
        "audits of pages",
        "\(figures.audits.suspects) suspects, \(figures.audits.repairs) repairs, "
          + "\(figures.audits.fetches) fetches"),
      row(
        "users' changes",
        "\(figures.changes.made) made, \(figures.changes.refused) pushes refused, "
          + "\(figures.changes.conflicts) pushes in conflict, \(figures.changes.overruled) overruled"
      ),
    ]
    if figures.breaches > 0 { lines.append(row("contract broken", "\(figures.breaches) times")) }
    lines.append(row("trace hash", figures.traceHash))
    lines.append(row("failures", "\(figures.failures)"))
    if UInt64(figures.seeds) < figures.asked {
      lines.append(
        "NOT WHOLE: \(figures.asked - UInt64(figures.seeds)) seeds were not run. A run stops early "
          + "for --until-failure, --seconds, Ctrl-C or a run that does not end.")
    }
    return lines + failures
  }

  /// How many failures each oracle found, and then the stories, each with the smallest seed.
  private var failures: [String] {
    guard !figures.stories.isEmpty else { return [] }
    var lines = ["", "Failures by oracle:"]
    for oracle in Oracle.allCases {
      let count = figures.stories.filter { $0.oracle == oracle.rawValue }.reduce(0) {
        sum($0, $1.count)
      }
      if count > 0 { lines.append("\(right(count))  \(oracle.rawValue)") }
    }
    lines += ["", "Failures by what was expected, each with the command for its smallest seed:"]
    for story in figures.stories {
      let worlds = story.worlds.map { "\($0.world) \($0.count)" }.joined(separator: ", ")
      lines.append(
        "\(right(story.count))  \(story.oracle): \(story.rule) (\(worlds))  "
          + SumReport.command(story.seed, options: figures.options))
    }
    return lines
  }

  /// The command that repeats a seed, makes it small and tells its story.
  static func command(_ seed: UInt64, options: String) -> String {
    "swift run -c release simulate run --seed \(seed)" + (options.isEmpty ? "" : " \(options)")
  }

  private var ranges: String {
    let shown = figures.ranges.prefix(5).map {
      $0.first == $0.last ? "\($0.first)" : "\($0.first)…\($0.last)"
    }
    let more = figures.ranges.count - shown.count
    return shown.joined(separator: ", ") + (more > 0 ? " and \(more) more ranges" : "")
  }

  /// The faults that exist in the worlds of these options; all faults, if another version of this
  /// program has written options that this one does not know.
  private var faults: [String] {
    let words = figures.options.split(separator: " ").map(String.init)
    let arguments = try? Arguments(words, options: RunOptions.names, flags: RunOptions.ways)
    let options = arguments.flatMap { try? RunOptions($0) }
    return RunReport.faults(of: options?.world).map(\.name)
  }

  private var rows: [String] {
    FailureRows.names.flatMap { ["\($0), registering", "\($0), polling"] } + ["store"]
  }

  private func reached(_ missing: [String], of all: [String]) -> String {
    missing.isEmpty
      ? "all \(all.count)"
      : "\(all.count - missing.count) of \(all.count), not " + missing.joined(separator: "; ")
  }

  private func right(_ count: Int64) -> String {
    let digits = "\(count)"
    return String(repeating: " ", count: max(0, 8 - digits.count)) + digits
  }

  private func row(_ name: String, _ value: String) -> String {
    name.padding(toLength: 22, withPad: " ", startingAt: 0) + value
  }
}
