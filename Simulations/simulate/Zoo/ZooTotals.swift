import Foundation
import Simulator

/// The results of hunting all mutants.
struct ZooTotals {
  var technique: Technique
  var catches: [Catch]

  var found: [Catch] { catches.filter(\.isFound) }
  var survivors: [Catch] { catches.filter { !$0.isFound } }

  var medianMilliseconds: Double? { ZooTotals.median(found.compactMap(\.milliseconds)) }
  var p95Milliseconds: Double? {
    ZooTotals.percentile(95, of: found.compactMap(\.milliseconds))
  }
  var medianChoicesLeft: Double? {
    ZooTotals.median(found.compactMap(\.choicesLeft).map(Double.init))
  }
  var medianShrinkingMilliseconds: Double? {
    ZooTotals.median(found.compactMap(\.shrinkingMilliseconds))
  }

  /// The middle number, or the mean of the two in the middle; `nil`: there are none. Sorts them as
  /// numbers: as texts, 10 would come before 9 (SyncBugs 80).
  static func median(_ numbers: [Double]) -> Double? {
    let sorted = numbers.sorted()
    guard !sorted.isEmpty else { return nil }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The smallest of the numbers such that at least `percent` of them are no greater (nearest
  /// rank); `nil`: there are none.
  static func percentile(_ percent: Int, of numbers: [Double]) -> Double? {
    let sorted = numbers.sorted()
    guard !sorted.isEmpty else { return nil }
    let rank = (sorted.count * percent + 99) / 100
    return sorted[max(rank, 1) - 1]
  }

  // MARK: Text

  var table: String {
    let rows = [["mutant", "bug", "found by", "runs", "ms", "choices left"]] + catches.map(row)
    var lines = ZooTotals.aligned(rows)
    lines.append("")
    let rate = Double(found.count) * 100 / Double(max(catches.count, 1))
    let shown = ZooTotals.shown
    lines += [
      line("found", String(format: "%d of %d (%.1f %%)", found.count, catches.count, rate)),
      line("median", "\(shown(medianMilliseconds)) ms"),
      line("95th percentile", "\(shown(p95Milliseconds)) ms"),
      line("median choices left", shown(medianChoicesLeft)),
      line("median shrinking", "\(shown(medianShrinkingMilliseconds)) ms"),
    ]
    for survivor in survivors {
      lines.append(
        "\nSurvived\(ZooTotals.how(survivor)): \(survivor.mutant.name)"
          + "\n  \(survivor.mutant.sentence)")
    }
    return lines.joined(separator: "\n")
  }

  private static func how(_ survivor: Catch) -> String {
    var words = survivor.isHung ? ", in a run that never ends" : ""
    if survivor.isCutShort { words += ", and its time was up (--seconds) before its seeds were" }
    if let seed = survivor.unrelatedSeed {
      words += ", because seed \(seed) fails without the mutant, too: mend that first"
    }
    if survivor.isReached == false {
      words += ", because the world \(survivor.mutant.huntedIn) does not enter the changed code"
    }
    if !survivor.conversations.isEmpty {
      words += ", but found by \(survivor.conversations.joined(separator: " and "))"
    }
    return words
  }

  private func row(_ result: Catch) -> [String] {
    var by = result.oracle ?? (result.isHung ? "nobody (hangs)" : "nobody")
    if result.isFound, !result.isExpected {
      by += " (expected \(result.mutant.oracles.joined(separator: " ")))"
    }
    return [
      result.mutant.name, result.mutant.bug, by,
      (result.runs ?? result.survivedRuns).map { "\($0)" } ?? "–",
      ZooTotals.shown(result.milliseconds), result.choicesLeft.map { "\($0)" } ?? "–",
    ]
  }

  /// A table with one row for each technique.
  static func comparison(_ totals: [ZooTotals]) -> String {
    let rows =
      [["technique", "found", "median ms", "95th percentile ms"]]
      + totals.map { totals in
        [
          totals.technique.rawValue, "\(totals.found.count) of \(totals.catches.count)",
          shown(totals.medianMilliseconds), shown(totals.p95Milliseconds),
        ]
      }
    return aligned(rows).joined(separator: "\n")
  }

  static func shown(_ number: Double?) -> String {
    number.map { String(format: $0 < 100 ? "%.1f" : "%.0f", $0) } ?? "–"
  }

  private func line(_ name: String, _ value: String) -> String {
    name.padding(toLength: 22, withPad: " ", startingAt: 0) + value
  }

  static func aligned(_ rows: [[String]]) -> [String] {
    guard let columns = rows.map(\.count).max() else { return [] }
    let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = row.indices.map { column in
        row[column] + String(repeating: " ", count: widths[column] - row[column].count)
      }
      return cells.joined(separator: "  ").trimmed
    }
  }

  // MARK: JSON

  private struct Answer: Encodable {
    struct Hunted: Encodable {
      var name: String
      var bug: String
      var engine: String
      var expected: [String]
      var oracle: String?
      var isExpected: Bool
      var isHung: Bool
      var isCutShort: Bool
      var world: String
      var unrelatedSeed: UInt64?
      var isReached: Bool?
      var conversations: [String]
      var survivedRuns: Int64?
      var seed: UInt64?
      var runs: Int64?
      var milliseconds: Double?
      var choicesLeft: Int64?
      var shrinkingMilliseconds: Double?
    }

    struct Compared: Encodable {
      var technique: String
      var total: Int
      var found: Int
      var medianMilliseconds: Double?
      var p95Milliseconds: Double?
    }

    var technique: String
    var total: Int
    var found: Int
    var medianMilliseconds: Double?
    var p95Milliseconds: Double?
    var medianChoicesLeft: Double?
    var medianShrinkingMilliseconds: Double?
    var survivors: [String]
    var mutants: [Hunted]
    var techniques: [Compared]?
  }

  /// The results as one JSON object on one line.
  ///
  /// - Parameter compared: the totals of each technique; empty: nothing was compared.
  func json(compared: [ZooTotals] = []) throws -> String {
    let hunted = catches.map { result in
      Answer.Hunted(
        name: result.mutant.name, bug: result.mutant.bug, engine: result.mutant.engine.rawValue,
        expected: result.mutant.oracles, oracle: result.oracle, isExpected: result.isExpected,
        isHung: result.isHung, isCutShort: result.isCutShort,
        world: result.mutant.huntedIn.rawValue, unrelatedSeed: result.unrelatedSeed,
        isReached: result.isReached,
        conversations: result.conversations, survivedRuns: result.survivedRuns,
        seed: result.seed, runs: result.runs,
        milliseconds: result.milliseconds, choicesLeft: result.choicesLeft,
        shrinkingMilliseconds: result.shrinkingMilliseconds)
    }
    let rows = compared.map { totals in
      Answer.Compared(
        technique: totals.technique.rawValue, total: totals.catches.count,
        found: totals.found.count, medianMilliseconds: totals.medianMilliseconds,
        p95Milliseconds: totals.p95Milliseconds)
    }
    let answer = Answer(
      technique: technique.rawValue, total: catches.count, found: found.count,
      medianMilliseconds: medianMilliseconds, p95Milliseconds: p95Milliseconds,
      medianChoicesLeft: medianChoicesLeft,
      medianShrinkingMilliseconds: medianShrinkingMilliseconds,
      survivors: survivors.map(\.mutant.name), mutants: hunted,
      techniques: rows.isEmpty ? nil : rows)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(answer), as: UTF8.self)
  }
}
