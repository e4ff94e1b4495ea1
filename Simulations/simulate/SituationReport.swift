import Foundation
import Simulator

/// What `run --situations` prints: which situations came about, the rare ones first.
struct SituationReport {
  private let counts: SituationCounts
  private let seeds: Int64

  init(_ statistics: RunStatistics) {
    counts = statistics.situations
    seeds = statistics.seeds
  }

  var table: String {
    let rare = Situation.allCases.count { counts.isRare($0, in: seeds) }
    let width = Situation.allCases.map(\.name.count).max() ?? 0
    var lines = [
      "",
      "Situations: \(Situation.allCases.count), of which \(rare) are rare: in fewer than "
        + "\(SituationCounts.enough) of 10,000 seeds (!)",
      SituationReport.row(" ", "situation", width, "seeds", "times", "worlds"),
    ]
    for situation in counts.rareFirst {
      lines.append(
        SituationReport.row(
          counts.isRare(situation, in: seeds) ? "!" : " ", situation.name, width,
          "\(counts.runs(of: situation))", "\(counts.occurrences(of: situation))",
          worlds(of: situation)))
      lines.append("    " + situation.sentence)
    }
    return lines.joined(separator: "\n")
  }

  /// A list: the rarest first, each with its name, how many seeds brought it about, and how often.
  var json: String {
    let rows = counts.rareFirst.map { situation in
      let names = names(of: situation).map { "\"\($0)\"" }.joined(separator: ",")
      return "{\"name\":\"\(situation.name)\",\"seeds\":\(counts.runs(of: situation)),"
        + "\"times\":\(counts.occurrences(of: situation)),\"worlds\":[\(names)],"
        + "\"isRare\":\(counts.isRare(situation, in: seeds))}"
    }
    return "[\(rows.joined(separator: ","))]"
  }

  private func names(of situation: Situation) -> [String] {
    counts.worlds(of: situation).map { LibraryWorld.named[$0].rawValue }
  }

  private func worlds(of situation: Situation) -> String {
    let names = names(of: situation)
    return names.count == LibraryWorld.allCases.count ? "all" : names.joined(separator: " ")
  }

  private static func row(
    _ mark: String, _ name: String, _ width: Int, _ seeds: String, _ times: String,
    _ worlds: String
  ) -> String {
    let left = mark + " " + name.padding(toLength: width, withPad: " ", startingAt: 0)
    return left + right(seeds) + right(times) + "  " + worlds
  }

  private static func right(_ figure: String) -> String {
    String(repeating: " ", count: max(0, 9 - figure.count)) + figure
  }
}
