import Foundation
import Testing

@testable import simulate

/// Tests how changes are placed beside the original.
struct ZooPlacementTests {
  private static let file = "Sources/UpdateMachine/A.swift"

  private func mutant(_ name: String, _ hunks: [(search: [String], replacement: [String])])
    -> Mutant
  {
    var mutant = Mutant(name: name, sentence: "S.", bug: "ours", oracles: ["A"])
    for hunk in hunks {
      mutant.hunks.append(
        Mutant.Hunk(
          file: ZooPlacementTests.file, search: hunk.search, replacement: hunk.replacement, line: 7)
      )
    }
    return mutant
  }

  private func woven(
    _ text: String, _ mutants: [Mutant], in file: String = ZooPlacementTests.file
  ) throws -> String {
    var schemata = try Schemata(file: file, text: text)
    for mutant in mutants { try schemata.add(mutant) }
    return schemata.woven()
  }

  /// The lines that are not empty, without indentation.
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { String($0).trimmed }.filter { !$0.isEmpty }
  }

  @Test func `each mutant's body is a variant of the original, independent of the others`() throws {
    let text = "struct S {\n  mutating func f() {\n    one()\n    two()\n  }\n}\n"
    let a = mutant("a", [(["one()"], ["uno()"])])
    let b = mutant("b", [(["one()"], []), (["two()"], ["due()", "tre()"])])
    #expect(
      lines(try woven(text, [b, a])) == [
        "struct S {", "mutating func f() {  switch Zoo.mutant {  // zoo: begin",
        "case \(Schemata.number(of: "a")):  // zoo: a", "uno()", "two()",
        "case \(Schemata.number(of: "b")):  // zoo: b", "due()", "tre()",
        "default:  // zoo: the original", "one()", "two()", "}  // zoo: end", "}", "}",
      ])
  }

  /// The mutants of `RecordChange.canFind` did not compile: a closure in a case returned.
  @Test(arguments: [
    ("switch x {\ncase .a: list.map {\nlet y = $0\nreturn y\n}\ndefault: one()\n}", true),
    ("switch x {\ncase .a: if y { return 1 } else { return 2 }\ndefault: return one()\n}", false),
    ("switch x {\ncase .a: if y { 1 } else { one() }\n}", true),
    ("if x { return 1 } else { return one() }", false),
  ])
  func `a return in a closure is not the body's`(body: String, isValue: Bool) throws {
    let woven = try woven("func f() -> Int {\n\(body)\n}", [mutant("a", [(["one()"], ["two()"])])])
    #expect(woven.contains("return switch") == (isValue && body.hasPrefix("switch")))
    #expect(woven.contains("return if") == false)
  }

  @Test func `a body of one expression is returned, one of statements stays as it is`() throws {
    let text = "func f() -> Int { one() }"
    let variants = [
      mutant("a", [(["one()"], ["// why", "two()"])]),
      mutant("b", [(["one()"], ["if x { return 1 }", "return 2"])]),
    ]
    #expect(
      lines(try woven(text, variants)).filter { !$0.hasPrefix("case") } == [
        "func f() -> Int {  switch Zoo.mutant {  // zoo: begin", "// why", "return two()",
        "if x { return 1 }", "return 2", "default:  // zoo: the original", "return one()",
        "}  // zoo: end", "}",
      ])
  }

  @Test func `a mutant with an empty body does nothing`() throws {
    let woven = lines(try woven("func f() { one() }", [mutant("a", [(["one()"], [])])]))
    #expect(woven[2...3] == ["break", "default:  // zoo: the original"])
  }

  @Test func `a conditional expression chooses the mutant's value outside of bodies`() throws {
    let a = mutant("a", [(["var x: Int = 60"], ["var x: Int = 600"])])
    let b = mutant("b", [(["60"], ["-1"])])
    #expect(
      try woven("struct S {\n  var x: Int = 60\n}\n", [a, b]) == """
        struct S {
          var x: Int = (Zoo.mutant == \(Schemata.number(of: "a")) /* zoo: a */ ? (600) : \
        (Zoo.mutant == \(Schemata.number(of: "b")) /* zoo: b */ ? (-1) : (60)))
        }

        """)
  }

  @Test func `only the difference is replaced in a one-line function`() throws {
    let change = mutant(
      "a",
      [
        (
          ["let y = 0", "func f() { one() }", "let z"],
          ["let y = 0", "func f() { two() }", "let z"]
        )
      ])
    let woven = lines(try woven("let y = 0\n  func f() { one() }\n  let z = 1", [change]))
    #expect(woven.contains("two()"))
    #expect(woven.first == "let y = 0")
    #expect(woven.last == "let z = 1")
  }

  @Test(arguments: [("one()", 3), ("two", 0), ("one()\n}\nfunc", 2)])
  func `a search that is not found exactly once is refused`(search: String, count: Int) throws {
    let text = "func f() {\n  one()\n}\nfunc g() {\n    one()  \n  }\nfunc h() { one() }"
    let hunk = (search: search.split(separator: "\n").map(String.init), replacement: ["three()"])
    #expect(
      throws: Schemata.Inapplicable(
        mutant: "a",
        message: "line 7: the search must be found once in \(ZooPlacementTests.file), "
          + "found \(count) times")
    ) { try woven(text, [mutant("a", [hunk])]) }
  }

  @Test func `a change across bodies, overlapping changes and an open bracket are refused`() throws
  {
    let text = "func f() { one() }\nfunc g() { two() }"
    let both = [(search: ["one() }", "func g() { two()"], replacement: ["three() }"])]
    let overlapping = [
      (search: ["one()"], replacement: ["three()"]), (search: ["ne()"], replacement: ["four()"]),
    ]
    let open = [(search: ["one()"], replacement: ["if true {"])]
    for (hunks, message) in [
      (both, "line 7: begins in a function's body"), (overlapping, "line 7: overlaps a change"),
      (open, "with the change there is \"{\" without its other half"),
    ] {
      let error = #expect(throws: Schemata.Inapplicable.self) {
        try woven(text, [mutant("a", hunks)])
      }
      #expect(error?.mutant == "a")
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
  }

  @Test func `a file above the values gets an import, unless it has one`() throws {
    let file = "Sources/Simulator/A.swift"
    var change = mutant("a", [(["one()"], ["two()"])])
    change.hunks[0].file = file
    let without = try woven("func f() { one() }", [change], in: file)
    #expect(without.hasPrefix("public import UpdateMachine\n"))
    let with = try woven("public import UpdateMachine\nfunc f() { one() }", [change], in: file)
    #expect(with.hasPrefix("public import UpdateMachine\nfunc"))
  }

  @Test func `a compiler error is traced to the mutants at its place`() throws {
    let text = "let x = 1\nfunc f() {\n  one()\n}\n"
    let mutants = [
      mutant("a", [(["one()"], ["two()"])]), mutant("b", [(["one()"], ["three()"])]),
      mutant("c", [(["1"], ["2"])]),
    ]
    let lines = try woven(text, mutants).components(separatedBy: "\n")
    func guilty(_ word: String) throws -> [String] {
      let index = try #require(lines.firstIndex { $0.contains(word) })
      return ScratchPackage.mutants(at: index + 1, in: lines)
    }
    #expect(try guilty("two()") == ["a"])
    #expect(try guilty("three()") == ["b"])
    #expect(try guilty("one()") == [])
    #expect(try guilty("zoo: end") == ["a", "b"])
    #expect(try guilty("let x") == ["c"])
    #expect(ScratchPackage.mutants(at: lines.count, in: lines) == [])
  }

  @Test func `a mutant's number depends only on its name`() {
    #expect(Schemata.number(of: "a") == 0xE40C_292C)  // The published test value of FNV-1a.
    #expect(Schemata.number(of: "") != 0)
  }
}
