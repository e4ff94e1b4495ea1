import Foundation

/// What a hunt of generated bugs has shown.
struct GeneratedReport {
  var seed: UInt64
  var coreSeconds: Double
  /// The number of changes from which they were drawn.
  var sites: Int
  /// Every bug that was drawn.
  var generated: [GeneratedMutant]
  /// Those that the compiler refused.
  var refused: [GeneratedMutant]
  /// What became of the others.
  var catches: [GeneratedCatch]

  /// One line of the table: a room, or all of them.
  struct Row: Encodable, Equatable {
    var room: String
    var generated = 0
    var compiled = 0
    var reached = 0
    var equivalent = 0
    var foundBySimulation = 0
    var found = 0
    /// Of those that survived, what unit tests find.
    var foundByUnitTests = 0
    var survived = 0

    /// The bugs that count: reached, and not argued to be none.
    var counted: Int { reached - equivalent }
    /// Percent of those; `nil`: there are none.
    var simulationRate: Double? { GeneratedReport.percent(foundBySimulation, counted) }
    var rate: Double? { GeneratedReport.percent(found, counted) }
  }

  static func percent(_ part: Int, _ whole: Int) -> Double? {
    whole == 0 ? nil : Double(part) * 100 / Double(whole)
  }

  /// Half the width of an interval that holds the true percentage in 95 of 100 samples (normal
  /// approximation).
  static func margin(_ part: Int, _ whole: Int) -> Double? {
    guard whole > 0 else { return nil }
    let rate = Double(part) / Double(whole)
    return 196 * (rate * (1 - rate) / Double(whole)).squareRoot()
  }

  func row(_ room: String, _ isIn: (GeneratedMutant) -> Bool) -> Row {
    var row = Row(room: room)
    row.generated = generated.count(where: isIn)
    row.compiled = row.generated - refused.count(where: isIn)
    for result in catches where isIn(result.mutant) && !result.reached.isEmpty {
      row.reached += 1
      if result.isFound {
        row.found += 1
        row.foundBySimulation += result.isFoundBySimulation ? 1 : 0
      } else if result.equivalence != nil {
        row.equivalent += 1
      } else {
        row.survived += 1
        row.foundByUnitTests += result.unitTest == nil ? 0 : 1
      }
    }
    return row
  }

  var rows: [Row] {
    Set(generated.map(\.room)).sorted().map { room in row(room) { $0.room == room } }
  }
  var total: Row { row("all") { _ in true } }
  var survivors: [GeneratedCatch] {
    catches.filter { !$0.reached.isEmpty && !$0.isFound && $0.equivalence == nil }
  }

  // MARK: Text

  var text: String {
    var lines = ZooTotals.aligned(
      [["room", "generated", "compiled", "reached", "no bug", "simulation", "found", "survived"]]
        + (rows + [total]).map { row in
          [
            row.room, "\(row.generated)", "\(row.compiled)", "\(row.reached)",
            "\(row.equivalent)", "\(row.foundBySimulation)", "\(row.found)", "\(row.survived)",
          ]
        })
    lines += ["", "found by"] + finders.map { "  \($0.name) \($0.count)" }
    for survivor in survivors { lines += ["", GeneratedReport.told(survivor)] }
    let unreached = catches.filter(\.reached.isEmpty)
    if !unreached.isEmpty {
      lines += ["", "Not reached:"] + unreached.map { "  \($0.mutant.name)" }
    }
    if !refused.isEmpty {
      lines += ["", "Refused by the compiler:"] + refused.map { "  \($0.name)" }
    }
    for result in catches where !result.unclear.isEmpty {
      lines += ["", "Unclear: \(result.mutant.name), \(result.unclear.joined(separator: ", "))"]
    }
    for result in foundThoughArgued {
      lines += ["", "Argued to be no bug, but found: \(result.mutant.name)"]
    }
    lines += ["", conclusion]
    return lines.joined(separator: "\n")
  }

  /// What somebody has argued to be no bug, and which is found.
  var foundThoughArgued: [GeneratedCatch] {
    catches.filter { $0.isFound && $0.equivalence != nil }
  }

  private var conclusion: String {
    let row = total
    guard let simulation = row.simulationRate, let rate = row.rate,
      let margin = GeneratedReport.margin(row.foundBySimulation, row.counted)
    else { return "No bug that was drawn was reached." }
    let known = String(
      format: "Of %d bugs that nobody chose and that were reached, simulation found %d "
        + "(%.1f %%, ± %.1f), and with processes and conversations %d (%.1f %%)",
      row.counted, row.foundBySimulation, simulation, margin, row.found, rate)
    guard row.foundByUnitTests > 0 else { return known }
    let all = row.found + row.foundByUnitTests
    return known
      + String(
        format: ", and with unit tests %d (%.1f %%)", all,
        GeneratedReport.percent(all, row.counted) ?? 0)
  }

  /// How many each way and oracle has found.
  var finders: [(name: String, count: Int)] {
    var counts: [String: Int] = [:]
    for result in catches {
      guard let attempt = result.attempt, let oracle = result.oracle else { continue }
      counts["\(attempt.name): \(oracle)", default: 0] += 1
    }
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
  }

  private static func told(_ survivor: GeneratedCatch) -> String {
    """
    Survived: \(survivor.mutant.name), \(survivor.runs) runs in \
    \(survivor.reached.joined(separator: ", "))\
    \(survivor.unitTest.map { "; the unit test \($0) fails" } ?? "")
    \(survivor.mutant.difference)
    """
  }

  // MARK: JSON

  private struct Answer: Encodable {
    struct Bug: Encodable {
      var name: String
      var room: String
      var isCompiled: Bool
      var reachedBy: [String]
      var foundBy: String?
      var oracle: String?
      var runs: Int64
      var unitTest: String?
      var equivalence: String?
      var change: String
    }

    var seed: UInt64
    var coreSeconds: Double
    var sites: Int
    var generated: Int
    var compiled: Int
    var reached: Int
    var equivalent: Int
    var found: Int
    var foundBySimulation: Int
    var foundByUnitTests: Int
    var survived: Int
    /// Percent of those that are reached and are bugs.
    var simulationRate: Double?
    var rate: Double?
    var rooms: [Row]
    var bugs: [Bug]
  }

  /// The results as one JSON object on one line.
  func json() throws -> String {
    let total = total
    let bugs =
      catches.map { result in
        Answer.Bug(
          name: result.mutant.name, room: result.mutant.room, isCompiled: true,
          reachedBy: result.reached, foundBy: result.attempt?.name, oracle: result.oracle,
          runs: result.runs, unitTest: result.unitTest, equivalence: result.equivalence,
          change: result.mutant.difference)
      }
      + refused.map { mutant in
        Answer.Bug(
          name: mutant.name, room: mutant.room, isCompiled: false, reachedBy: [], runs: 0,
          change: mutant.difference)
      }
    let answer = Answer(
      seed: seed, coreSeconds: coreSeconds, sites: sites, generated: total.generated,
      compiled: total.compiled, reached: total.reached, equivalent: total.equivalent,
      found: total.found, foundBySimulation: total.foundBySimulation,
      foundByUnitTests: total.foundByUnitTests, survived: total.survived,
      simulationRate: total.simulationRate, rate: total.rate, rooms: rows,
      bugs: bugs.sorted { $0.name < $1.name })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(answer), as: UTF8.self)
  }
}
