import Foundation
import Simulator
import Testing

@testable import simulate

/// Tests the bugs that nobody chose: which are made, which are drawn, and what is reported.
struct GeneratedBugTests {
  private static let file = "Sources/UpdateMachine/Machine/A.swift"

  private static let text = """
    struct Span {
      var first: Int
      var last: Int

      mutating func widen(from: Int, to: Int, by step: Step) {
        if from < first, step.isWide { first = from }
        guard let best = step.best, to >= 0 else { return }
        // Both ends.
        last = max(to, best)
        count += 1
        notes.removeAll()
        switch step.kind {
        case .wide: grow()
        case .narrow:
          shrink()
          tell()
        default: break
        }
      }

      var isEmpty: Bool { first == last }
    }

    """

  private func generation(_ text: String = GeneratedBugTests.text) throws -> Generation {
    try Generation([GeneratedBugTests.file: Data(text.utf8)])
  }

  /// The changes by an operator, each as its last old line and its first new one.
  private func changes(_ kind: MutationOperator) throws -> [String] {
    try generation().drawn(1000, seed: 1).filter { $0.change.kind == kind }
      .sorted { $0.change.range.lowerBound < $1.change.range.lowerBound }
      .map {
        "\($0.hunk.search.joined(separator: "|")) → \($0.hunk.replacement.joined(separator: "|"))"
      }
  }

  @Test func `conditions are negated and left out, but not those that bind a name`() throws {
    #expect(
      try changes(.negated) == [
        "if from < first, step.isWide { first = from } → "
          + "if !(from < first), step.isWide { first = from }",
        "if from < first, step.isWide { first = from } → "
          + "if from < first, !(step.isWide) { first = from }",
        "guard let best = step.best, to >= 0 else { return } → "
          + "guard let best = step.best, !(to >= 0) else { return }",
        "var isEmpty: Bool { first == last } → var isEmpty: Bool { first != last }",
      ])
    #expect(
      try changes(.conditionLeftOut) == [
        "if from < first, step.isWide { first = from } → if true, step.isWide { first = from }",
        "if from < first, step.isWide { first = from } → if from < first, true { first = from }",
        "guard let best = step.best, to >= 0 else { return } → "
          + "guard let best = step.best, true else { return }",
      ])
  }

  /// Two changes of a repeat's condition once swallowed what follows it, and one change was counted
  /// twice if two operators made it.
  @Test func `a condition is negated once, and a repeat's not at all`() throws {
    let text = """
      func go() {
        if a == b { stop() }
        repeat {
          step()
        } while left > 0
        if left == 0 { stop() }
      }

      """
    let all = try generation(text).drawn(1000, seed: 1)
    #expect(Set(all.map { "\($0.change.range) \($0.change.replacement)" }).count == all.count)
    let negated = all.filter { $0.change.kind == .negated }
    #expect(Set(negated.map(\.change.replacement)) == ["!="])
    #expect(negated.count == 2)
  }

  @Test func `bounds are moved by one, and ends are exchanged`() throws {
    #expect(
      try changes(.bound) == [
        "if from < first, step.isWide { first = from } → "
          + "if from <= first, step.isWide { first = from }",
        "guard let best = step.best, to >= 0 else { return } → "
          + "guard let best = step.best, to > 0 else { return }",
        "guard let best = step.best, to >= 0 else { return } → "
          + "guard let best = step.best, to >= 1 else { return }",
        "count += 1 → count += 2",
      ])
    #expect(try changes(.otherEnd).contains("last = max(to, best) → last = min(to, best)"))
    #expect(try changes(.sign) == ["count += 1 → count -= 1"])
  }

  @Test func `another parameter or property of the same type is taken, but no label`() throws {
    #expect(
      try changes(.wrongName) == [
        "if from < first, step.isWide { first = from } → "
          + "if to < first, step.isWide { first = from }",
        "if from < first, step.isWide { first = from } → "
          + "if from < first, step.isWide { first = to }",
        "guard let best = step.best, to >= 0 else { return } → "
          + "guard let best = step.best, from >= 0 else { return }",
        "last = max(to, best) → last = max(from, best)",
      ])
  }

  @Test func `statements, resets, branches and cases are left out, and nothing that returns`()
    throws
  {
    #expect(
      try changes(.statementLeftOut) == [
        "if from < first, step.isWide { first = from } → if from < first, step.isWide {  }",
        "last = max(to, best) → ", "count += 1 → ", "shrink() → ", "tell() → ",
      ])
    #expect(try changes(.resetLeftOut) == ["notes.removeAll() → "])
    // To leave out the only statement of one line does the same.
    #expect(try changes(.branchLeftOut) == [])
    #expect(
      try changes(.caseLeftOut) == [
        "case .wide: grow() → case .wide: break", "shrink()|tell() → break",
      ])
    #expect(
      try changes(.swapped) == [
        "last = max(to, best)|count += 1 → count += 1|last = max(to, best)",
        "count += 1|notes.removeAll() → notes.removeAll()|count += 1",
        "shrink()|tell() → tell()|shrink()",
      ])
    #expect(
      try changes(.earlyReturn).first
        == "guard let best = step.best, to >= 0 else { return } → "
        + "return; guard let best = step.best, to >= 0 else { return }")
  }

  @Test func `fewer are the first of more, another seed draws others, and the judge is spared`()
    throws
  {
    let generation = try generation()
    let many = generation.drawn(20, seed: 7).map(\.name)
    #expect(many.count == 20)
    #expect(generation.drawn(5, seed: 7).map(\.name) == Array(many.prefix(5)))
    #expect(generation.drawn(5, seed: 8).map(\.name) != Array(many.prefix(5)))
    let judges = ["Sources/Simulator/Run/A.swift", "Sources/UpdateMachine/A+Invariants.swift"]
    for judge in judges {
      #expect(try Generation([judge: Data(GeneratedBugTests.text.utf8)]).sites.isEmpty)
    }
  }

  @Test func `each is woven beside the original, whose entry is counted`() throws {
    let two = Array(try generation().drawn(1000, seed: 1).filter { $0.change.kind == .caseLeftOut })
    var files = [GeneratedBugTests.file: Data(GeneratedBugTests.text.utf8)]
    let bodies = try Schemata.weave(
      [], generated: two, into: &files, selector: "", reach: BodyNumbers())
    #expect(bodies?.count == 1)
    #expect(bodies?.ofMutant == [two[0].name: [0], two[1].name: [0]])
    let woven = String(decoding: files[GeneratedBugTests.file] ?? Data(), as: UTF8.self)
    #expect(woven.contains("default:  // zoo: the original\nZoo.reached(0)\n"))
    for mutant in two {
      #expect(woven.contains("case \(Schemata.number(of: mutant.name)):  // zoo: \(mutant.name)\n"))
    }
    #expect(woven.components(separatedBy: "break\n").count == 6)
  }

  @Test func `what is argued to be no bug is known by its lines, and malformed entries are told`()
    throws
  {
    let mutant = try #require(
      try generation().drawn(1000, seed: 1).first { $0.change.kind == .resetLeftOut })
    let entry = "# A comment.\nNobody reads notes\nafter this.\n\n\(mutant.difference)\n"
    let known = try Equivalents(text: entry + "\nOther.\n\nin Sources/B.swift\n-a\n+b\n")
    #expect(known.argument(for: mutant) == "Nobody reads notes after this.")
    let other = try #require(
      try generation().drawn(1000, seed: 1).first { $0.change.kind == .sign })
    #expect(known.argument(for: other) == nil)
    let malformed = [
      "in Sources/B.swift\n-a\n+b\n", "Why.\n\n-a\n+b\n", "Why.\n\nin Sources/B.swift\n-a\n\n",
      "Why.\n\nin Sources/B.swift\n-a\n+b\n-c\n", "Why.\n\nin Tests/B.swift\n-a\n+b\n", "Why.\n",
    ]
    for malformed in malformed {
      #expect(throws: FileError.self) { try Equivalents(text: malformed) }
    }
  }

  /// An argument about lines that are no longer there holds for nothing.
  @Test func `every entry of the file that ships is about lines that are in the sources`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let known = try Equivalents(root.appending(path: "Simulations/Zoo"))
    #expect(known.hunks.count > 5)
    for hunk in known.hunks {
      let data = try Data(contentsOf: root.appending(path: hunk.file))
      #expect(Schemata.occurrences(of: hunk.search, in: Array(data)).count == 1, "\(hunk)")
    }
  }

  @Test func `the rate is of those reached that are bugs, by room and together`() throws {
    let mutants = try generation().drawn(6, seed: 1)
    var catches = mutants.prefix(5).map { GeneratedCatch(mutant: $0, reached: ["directory"]) }
    let attempts = Attempt.all(in: URL(fileURLWithPath: "/package"))
    catches[0].oracle = "A replica"
    catches[0].attempt = attempts.first { $0.kind == .simulation }
    catches[1].oracle = "conform"
    catches[1].attempt = attempts.first { $0.kind == .conversation }
    catches[2].equivalence = "nobody sees it"
    catches[4].runs = 9
    catches[3].reached = []
    let report = GeneratedReport(
      seed: 3, coreSeconds: 60, sites: 40, generated: mutants, refused: [mutants[5]],
      catches: catches)
    #expect(report.foundThoughArgued.isEmpty)
    let row = report.total
    #expect(row.generated == 6 && row.compiled == 5 && row.reached == 4 && row.counted == 3)
    #expect(row.foundBySimulation == 1 && row.found == 2 && row.survived == 1)
    #expect(report.rows.map(\.room) == ["UpdateMachine/Machine"])
    #expect(report.survivors.map(\.mutant.name) == [mutants[4].name])
    #expect(
      report.text.hasSuffix(
        "Of 3 bugs that nobody chose and that were reached, simulation found 1 (33.3 %, ± 53.3), "
          + "and with processes and conversations 2 (66.7 %)"))
    #expect(try report.json().hasPrefix("{\"bugs\":[{"))
    var asked = report
    asked.catches[4].unitTest = "four is even"
    #expect(asked.text.hasSuffix("conversations 2 (66.7 %), and with unit tests 3 (100.0 %)"))
    #expect(asked.text.contains("; the unit test four is even fails"))
    #expect(try report.json().contains("\"foundByUnitTests\":0,\"generated\":6,\"reached\":4"))
  }

  @Test func `the first test that failed is named`() {
    let output = """
      ✔ Test "one" passed after 0.001 seconds.
      ✘ Test "two is even" recorded an issue at FooTests.swift:10:5: Expectation failed: 2
      ✘ Test "two is even" failed after 0.001 seconds with 1 issue.
      ✘ Test run with 3 tests failed after 0.002 seconds with 1 issue.
      """
    #expect(UnitTests.failed(in: output) == "two is even")
    #expect(UnitTests.failed(in: "✘ Test run with 3 tests failed after 1 seconds") == nil)
    #expect(
      UnitTests.failed(in: "✘ Test three() with 2 cases failed after 1 s") == "three() with 2 cases"
    )
  }

  @Test func `without a bug that counts there is no rate`() throws {
    let report = GeneratedReport(
      seed: 3, coreSeconds: 60, sites: 40, generated: [], refused: [], catches: [])
    #expect(report.total.simulationRate == nil)
    #expect(report.text.hasSuffix("No bug that was drawn was reached."))
  }

  @Test func `a budget in seconds is a number of seeds in every world`() {
    let attempts = Attempt.all(in: URL(fileURLWithPath: "/package"))
    #expect(attempts.count { $0.rate != nil } == LibraryWorld.named.count * 2)
    let directory = attempts[0]
    #expect(directory.name == "directory" && directory.seeds(2) == directory.seeds(1) * 2)
    #expect(directory.words(from: 5, 9).suffix(4) == ["--first", "5", "--seeds", "9"])
  }

  private func hunt(_ coreSeconds: Double) -> GeneratedHunt {
    let folder = URL(fileURLWithPath: "/package")
    return GeneratedHunt(
      package: ScratchPackage(original: folder, copy: folder), attempts: Attempt.all(in: folder),
      coreSeconds: coreSeconds, jobs: 1)
  }

  @Test func `more seconds never mean fewer seeds, and no more than the budget is spent`() {
    var last: [String: Int] = [:]
    for seconds in [1.0, 5, 14, 20, 40, 59, 60, 61, 120, 600] {
      let hunt = hunt(seconds)
      var seeds: [String: Int] = [:]
      var spent = 0.0
      for (attempt, first, count) in hunt.plan(hunt.attempts) where attempt.kind != .conversation {
        guard let rate = attempt.rate else {
          spent += Double(attempt.seconds)
          continue
        }
        #expect(first == seeds[attempt.name, default: 0] + 1)
        seeds[attempt.name, default: 0] += count
        spent += Double(count) / Double(rate)
      }
      #expect(spent <= seconds + 1e-9)  // A sum of quotients.
      if seconds > 60 || seconds < 30 {
        for (name, count) in last {
          #expect(seeds[name, default: 0] >= count, "\(seconds) \(name)")
        }
        last = seeds
      }
    }
  }

  @Test func `what says nothing finds nothing, and a hang is not the simulator's`() throws {
    let hunt = hunt(60)
    let mutant = try #require(try generation().drawn(1, seed: 1).first)
    func read(_ end: ChildProcess.End, _ name: String, _ variant: [String] = []) -> GeneratedCatch {
      var result = GeneratedCatch(mutant: mutant)
      hunt.read(end, of: hunt.attempts.first { $0.name == name }!, variant, &result)
      return result
    }
    #expect(read(.init(isStarted: false), "directory").unclear == ["directory"])
    #expect(read(.init(output: "garbled", code: 2), "directory").unclear == ["directory"])
    #expect(read(.init(code: 2), "explore").unclear == ["explore"])  // Out of memory.
    #expect(read(.init(code: 1), "explore").isFoundBySimulation)
    #expect(read(.init(code: 1), "plants", ["--plant", "p"]).oracle == nil)
    #expect(read(.init(code: 0), "plants", ["--plant", "p"]).oracle == "p is not found out")
    // Oracle K knows what the plant does. So this is something else.
    let unlike =
      #"{"seeds":3,"failures":1,"traceHash":"0","failure":"#
      + #"{"seed":3,"runs":3,"milliseconds":1,"oracle":"K server"}}"#
    let found = read(.init(output: unlike, code: 1), "plants", ["--plant", "p"])
    #expect(found.oracle == "K server" && found.seed == 3)
    #expect(read(.init(code: 2), "scenario").oracle == "scenario")
    #expect(!read(.init(code: 1), "crash").isFoundBySimulation)
    let hang = read(.init(isOverdue: true), "directory")
    #expect(hang.oracle == "hang" && !hang.isFoundBySimulation)
    #expect(read(.init(), "directory").oracle == "trap")
  }
}
