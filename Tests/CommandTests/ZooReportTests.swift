import Foundation
import Testing

@testable import simulate

/// Tests what `simulate zoo` says: totals, catches, and bad usage.
struct ZooReportTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  // MARK: Totals

  @Test(
    arguments: [
      ([], nil), ([7], 7), ([9, 10], 9.5), ([100, 9, 10], 10), ([4, 1, 3, 2], 2.5),
    ] as [([Double], Double?)])
  func `the median of an even count is the mean of the middle two`(
    numbers: [Double], median: Double?
  ) {
    #expect(ZooTotals.median(numbers) == median)
  }

  @Test func `the 95th percentile is the nearest rank`() {
    #expect(ZooTotals.percentile(95, of: []) == nil)
    #expect(ZooTotals.percentile(95, of: [3]) == 3)
    #expect(ZooTotals.percentile(95, of: (1...20).map(Double.init).reversed()) == 19)
    #expect(ZooTotals.percentile(95, of: (1...21).map(Double.init)) == 20)
    #expect(ZooTotals.percentile(95, of: (1...100).map(Double.init)) == 95)
  }

  private func mutant(_ name: String, expects oracles: [String] = ["A"]) -> Mutant {
    Mutant(name: name, sentence: "It does \(name).", bug: "22", oracles: oracles)
  }

  private func caught(_ name: String, by oracle: String?, _ milliseconds: Double?) -> Catch {
    var result = Catch(mutant(name))
    result.oracle = oracle
    result.milliseconds = milliseconds
    return result
  }

  @Test func `the table names survivors, and oracles that were not expected`() throws {
    let totals = ZooTotals(
      technique: .default,
      catches: [
        caught("one", by: "A replica", 9), caught("two", by: "D budget", 100),
        caught("three", by: nil, nil),
      ])
    #expect(totals.table.contains("found                 2 of 3 (66.7 %)"))
    #expect(totals.table.contains("median                54.5 ms"))
    #expect(totals.table.contains("D budget (expected A)"))
    #expect(totals.table.contains("Survived: three\n  It does three."))
    let json = try object(totals.json())
    #expect(json["total"] as? Int == 3)
    #expect(json["found"] as? Int == 2)
    #expect(json["medianMilliseconds"] as? Double == 54.5)
    #expect(json["p95Milliseconds"] as? Double == 100)
    #expect(json["survivors"] as? [String] == ["three"])
    #expect(
      (json["mutants"] as? [[String: Any]])?.map { $0["name"] as? String } == [
        "one", "two", "three",
      ])
    #expect(json["techniques"] == nil)
  }

  @Test func `a survivor's row tells its runs, and whether its time was up`() throws {
    var survivor = caught("slow", by: nil, 600_000)
    survivor.survivedRuns = 7
    survivor.isCutShort = true
    let totals = ZooTotals(technique: .default, catches: [survivor])
    #expect(totals.table.contains("slow    22   nobody    7     600000  –"))
    #expect(
      totals.table.contains("Survived, and its time was up (--seconds) before its seeds were: slow")
    )
    #expect(totals.medianMilliseconds == nil)
    let mutants = try #require(try object(totals.json())["mutants"] as? [[String: Any]])
    #expect(mutants.first?["survivedRuns"] as? Int == 7)
    #expect(mutants.first?["isCutShort"] as? Bool == true)
  }

  @Test func `a seed that fails without the mutant is no evidence against it`() throws {
    var survivor = caught("innocent", by: nil, 5)
    survivor.unrelatedSeed = 405
    let totals = ZooTotals(technique: .default, catches: [survivor])
    #expect(totals.table.contains("found                 0 of 1"))
    #expect(
      totals.table.contains(
        "Survived, because seed 405 fails without the mutant, too: mend that first"))
    let mutants = try #require(try object(totals.json())["mutants"] as? [[String: Any]])
    #expect(mutants.first?["unrelatedSeed"] as? Int == 405)
  }

  @Test func `a report on no mutants has no numbers`() throws {
    let totals = ZooTotals(technique: .explorer, catches: [])
    #expect(totals.table.contains("found                 0 of 0 (0.0 %)"))
    #expect(totals.table.contains("median                – ms"))
    let compared = try object(totals.json(compared: [totals]))
    #expect((compared["techniques"] as? [[String: Any]])?.count == 1)
  }

  private func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  // MARK: Catches

  private func reading(
    _ output: String, code: Int32?, isOverdue: Bool = false, _ technique: Technique = .default
  ) -> Catch {
    let end = ChildProcess.End(
      output: output, succeeded: code == 0, code: code, isOverdue: isOverdue)
    return Hunt.reading(end, of: mutant("m"), technique, milliseconds: 5)
  }

  @Test func `a process's output is read as a result`() {
    let answer = """
      words
      {"seeds":7,"failures":1,"traceHash":"00","failure":{"seed":7,"runs":6,"milliseconds":1.5,\
      "oracle":"A replica","choicesLeft":4,"shrinkingMilliseconds":20}}
      """
    let found = reading(answer, code: 1)
    #expect(found.oracle == "A replica")
    #expect(found.isExpected)
    #expect(found.seed == 7)
    #expect(found.runs == 6)
    #expect(found.milliseconds == 1.5)
    #expect(found.choicesLeft == 4)
    #expect(found.shrinkingMilliseconds == 20)
    let nothing = #"{"seeds":7,"failures":0,"traceHash":"00","failure":null}"#
    let survivor = reading(nothing, code: 0)
    #expect(!survivor.isFound)
    #expect(survivor.survivedRuns == 7)
  }

  @Test func `a trap counts as found, a hang only if it came after the finding`() {
    #expect(reading("", code: nil).oracle == "trap")
    #expect(reading("", code: 139).oracle == "trap")
    #expect(!reading("", code: nil).isExpected)
    let hung = reading("", code: nil, isOverdue: true)
    #expect(!hung.isFound)
    #expect(hung.isHung)
    let late = reading(
      "\nFirst found by C liveness, in seed 3, run 2, after 4.500 ms: --seed 3\n", code: nil,
      isOverdue: true)
    #expect(late.oracle == "C liveness")
    #expect(late.seed == 3)
    #expect(late.runs == 2)
    #expect(late.milliseconds == 4.5)
  }

  @Test func `exit code 1 of the explorer is a finding, a timeout is none`() {
    #expect(reading("", code: 1, .explorer).oracle == "explorer")
    #expect(reading("", code: 1, .explorer).isExpected)
    #expect(reading("x\n{\"seconds\":1.5}", code: 1, .explorer).milliseconds == 1500)
    #expect(!reading("", code: 0, .explorer).isFound)
    #expect(!reading("", code: nil, isOverdue: true, .explorer).isFound)
  }

  // MARK: Usage

  @Test(arguments: [
    ("zoo --seeds 0", "simulate zoo: --seeds needs a whole number from 1 to 1000000000"),
    ("zoo --seconds 0", "simulate zoo: --seconds needs a whole number from 1 to 100000"),
    ("zoo --technique luck", "unknown technique \"luck\". There are: default, no-swarm"),
    ("zoo --compare --technique explorer", "--compare hunts with all techniques"),
    ("zoo --package-path /", "simulate zoo: no Package.swift in / or above it"),
    ("zoo --list --from /nowhere", "simulate: /nowhere: no file there ends in .mutant"),
    ("zoo --list --only nobody", "simulate zoo: unknown mutant \"nobody\". Try --list"),
    ("zoo --in UpdateMachine", "--in is about generated bugs; add --generate N"),
    ("zoo --generate 5 --seeds 9", "--seeds is about the folder's mutants; add --known"),
    ("zoo --generate 5 --in Nowhere --list", "nothing can be changed in Nowhere. --in needs"),
    ("zoo --generate 5 --at-least 101", "--at-least needs a whole number from 0 to 100"),
    ("zoo x", "simulate zoo: unexpected \"x\""),
  ])
  func `bad usage gives exit code 2 and says what to type`(typed: String, said: String) {
    let folder = typed.contains("--package-path") ? "" : " --package-path \(Self.root.path)"
    let ran = CommandRun(typed + folder)
    #expect(ran.code == .usage)
    #expect(ran.output == [])
    #expect(ran.errors.first?.contains(said) == true, "\(ran.errors)")
  }

  @Test func `the help names every option`() {
    for name in ZooOptions.names + ZooOptions.flags {
      #expect(Simulate.zooCommand.help.contains("  \(name) "), "\(name)")
    }
  }

  @Test func `a run until the first failure reports how it was found and shrunk`() throws {
    let ran = CommandRun(
      "run --plant lost-event --until-failure --json --jobs 1 --seeds 1000000 --seconds 60")
    #expect(ran.code == .failure)
    let json = try ran.json()
    let failure = try #require(json["failure"] as? [String: Any])
    #expect(json["failures"] as? Int == 1)
    #expect(failure["runs"] as? Int == json["seeds"] as? Int)
    #expect(failure["seed"] as? Int == failure["runs"] as? Int)
    #expect((failure["oracle"] as? String)?.isEmpty == false)
    #expect((failure["choicesLeft"] as? Int).map { $0 >= 0 } == true)
    let story = try #require(ran.output.first { $0.contains("Left: choices") })
    let steps = try #require(failure["stepsLeft"] as? Int)
    #expect(story.contains(", steps \(steps), "))
    #expect((failure["milliseconds"] as? Double).map { $0 > 0 } == true)
    #expect((failure["shrinkingMilliseconds"] as? Double).map { $0 > 0 } == true)
  }

  @Test func `a run without shrinking reports only how the failure was found`() throws {
    let ran = CommandRun(
      "run --plant lost-event --until-failure --json --jobs 1 --seeds 1000000 --seconds 60"
        + " --shrink 0")
    #expect(ran.code == .failure)
    let failure = try #require(try ran.json()["failure"] as? [String: Any])
    #expect((failure["oracle"] as? String)?.isEmpty == false)
    #expect(failure["choicesLeft"] == nil)
    #expect(failure["shrinkingMilliseconds"] == nil)
  }

  @Test func `a run that finds nothing ends with its seconds`() throws {
    let ran = CommandRun("run --until-failure --json --jobs 1 --seeds 1000000000 --seconds 1")
    #expect(ran.code == .success)
    #expect(try ran.json()["failure"] is NSNull)
  }
}
