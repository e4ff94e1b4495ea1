import Simulator
import Testing

@testable import simulate

/// Tests the parsing of a mutant's file, and of the sources that it changes.
struct ZooParsingTests {
  // MARK: Files

  @Test func `a mutant's file is read with all its changes`() throws {
    let mutant = try Mutant(
      name: "any-snapshot",
      text: """
        Any snapshot will do,
        whoever asked.

        bug 22
        oracle A F
        engine actor
        in Sources/A.swift
        -  guard one,
        -    two else {
        +guard one else {

        -three
        in Sources/B.swift
        -four
        +
        +five
        """)
    #expect(mutant.sentence == "Any snapshot will do, whoever asked.")
    #expect(mutant.bug == "22")
    #expect(mutant.oracles == ["A", "F"])
    #expect(mutant.engine == .actor)
    #expect(
      mutant.hunks == [
        Mutant.Hunk(
          file: "Sources/A.swift", search: ["guard one,", "two else {"],
          replacement: ["guard one else {"], line: 8),
        Mutant.Hunk(file: "Sources/A.swift", search: ["three"], replacement: [], line: 12),
        Mutant.Hunk(
          file: "Sources/B.swift", search: ["four"], replacement: ["", "five"], line: 14),
      ])
  }

  @Test func `a mutant's file says that only the explorer finds it`() throws {
    let mutant = try Mutant(
      name: "x", text: "S.\n\nbug ours\noracle explorer\nin Sources/A.swift\n-a\n+b")
    #expect(mutant.oracles == ["explorer"])
  }

  @Test(arguments: [
    ("", 1, "expected a sentence that says what the bug does"),
    ("S.", 1, "expected a line that begins with \"bug \""),
    ("S.\n\nbug x", 3, "expected \"bug NUMBER\" or \"bug ours\""),
    ("S.\n\nbug", 3, "expected \"bug NUMBER\" or \"bug ours\""),
    ("S.\n\nbug 1\nbug 2", 4, "\"bug\" is there twice"),
    (
      "S.\n\nbug 1\noracle L", 4,
      "expected \"oracle\" and letters of A B C D E F G H I J K, or \"trap\" or \"explorer\""
    ),
    (
      "S.\n\noracle", 3,
      "expected \"oracle\" and letters of A B C D E F G H I J K, or \"trap\" or \"explorer\""
    ),
    (
      "S.\n\noracle D explorer", 3,
      "\"oracle explorer\" stands alone: what a run finds, no explorer need find"
    ),
    ("S.\n\nengine steam", 3, "expected \"engine value\" or \"engine actor\""),
    ("S.\n\nbug 1\noracle A", 4, "expected a line that begins with \"in \""),
    (
      "S.\n\nin Tests/A.swift", 3,
      "expected a file like Sources/UpdateMachine/Machine/Machine.swift"
    ),
    (
      "S.\n\nin Sources/../A.swift", 3,
      "expected a file like Sources/UpdateMachine/Machine/Machine.swift"
    ),
    (
      "S.\n\nworld moon", 3,
      """
      expected "world" and one of directory, messages, ledger, posts, records, tables, streams, \
      tasks, zulip, etcd
      """
    ),
    ("S.\n\n-a", 3, "expected \"in FILE\" before the first change"),
    ("S.\n\nin Sources/A.swift\n+a", 4, "expected a line with \"-\" before one with \"+\""),
    ("S.\n\nin Sources/A.swift\n-\n", 4, "expected something to search in the first line"),
    ("S.\n\nin Sources/A.swift\n-a\n+b\n-c", 6, "expected an empty line before the next change"),
    ("S.\n\nin Sources/A.swift\n-a\n+ a\n", 6, "the change before changes nothing"),
    (
      "S.\n\nbug 1\noracle A\nin Sources/A.swift", 5,
      "expected lines that begin with \"-\" and \"+\""
    ),
    ("S.\n\nfirst of all", 3, "expected \"first SEED\""),
    (
      "S.\n\nhello", 3,
      "expected bug, oracle, engine, world, first, in, \"-\" or \"+\", found \"hello\""
    ),
  ])
  func `an invalid file is reported with the line`(text: String, line: Int, message: String) {
    #expect(throws: Mutant.Malformed(line: line, message: message)) {
      try Mutant(name: "x", text: text)
    }
  }

  // MARK: Tokens

  @Test func `brackets and words in comments and strings are ignored`() throws {
    let text = #"""
      a // { "
      /* { /* } */ " */ b
      "{ \( c("}") ) \" {" d
      """#
    #expect(try words(text) == ["a", "b", #""{ \( c("}") ) \" {""#, "d"])
  }

  @Test func `strings of several lines and raw strings end at their own delimiters`() throws {
    let long = "\"\"\"\n { \" \"\" \\\"\"\" \\(d {\"}\"})\n\"\"\""
    let raw = ##"#"{ " \( "#"##
    #expect(try words("a \(long) b \(raw) c") == ["a", long, "b", raw, "c"])
  }

  @Test func `every bracket is matched`() throws {
    let tokens = try SwiftTokens(Array("{ ( [ ] ) { } }".utf8))
    #expect(tokens.other == [7, 4, 3, 2, 1, 6, 5, 0])
  }

  @Test(arguments: [
    ("a\n{ (", 2, "\"(\" without its other half"), ("a\n\n)", 3, "\")\" without its other half"),
    ("( ]", 1, "\"]\" without its other half"), ("\n\"abc\n\"", 2, "a string without an end"),
    ("/* /* */", 1, "a comment without an end"),
    ("\"\\( a", 1, "an interpolation without an end"),
  ])
  func `an unmatched bracket is reported with its line`(text: String, line: Int, found: String) {
    #expect(throws: SwiftTokens.Malformed(line: line, found: found)) {
      try SwiftTokens(Array(text.utf8))
    }
  }

  private func words(_ text: String) throws -> [String] {
    let tokens = try SwiftTokens(Array(text.utf8))
    return tokens.tokens.indices.map { tokens.word($0) }
  }

  // MARK: Bodies

  @Test func `bodies are those of functions, initialisers, accessors and computed properties`()
    throws
  {
    let found = try bodies(
      """
      struct S: P where A == B {
        let constant = { 1 }()
        var stored: [Int] = [1].map { $0 + 1 }
        var watched = 1 { didSet { two() } }
        var short: Int { three() }
        var branches: Int { if a { 1 } else { 2 } }
        var both: Int {
          get { four() }
          @inlinable nonmutating set(value) { five() }
        }
        subscript(index: Int) -> Int { six() }
        func actor(_ make: () -> Int = { 7 }) -> (Int) throws -> Void where C: D {
          func inner() { if b { } }
        }
        static func == (one: S, other: S) -> Bool { seven() }
        init?(x: Int) throws(E) { self.init() }
        enum Inner { case a(Int), b; mutating func nothing() -> Void { eight() } }
        deinit { nine() }
      }
      protocol Q { var x: Int { get set }; func f() -> Int; subscript(i: Int) -> Int { get } }
      extension Q { func f() -> Int { ten() } }
      """)
    #expect(
      found == [
        "two()", "three()!", "if a { 1 } else { 2 }!", "four()!", "five()", "six()!",
        "func inner() { if b { } }!", "seven()!", "self.init()", "eight()", "nine()", "ten()!",
      ])
  }

  /// The text of each body. A `!` marks one that returns a value.
  private func bodies(_ text: String) throws -> [String] {
    let bytes = Array(text.utf8)
    return try SwiftBodies(bytes).bodies.map { body in
      let words = String(decoding: bytes[body.range], as: UTF8.self)
        .split(whereSeparator: { " \n".contains($0) }).joined(separator: " ")
      return words + (body.returnsValue ? "!" : "")
    }
  }

  @Test(arguments: [
    ("a + b", true), ("a.map { return $0 }", true), ("switch a { case b: 1 default: 2 }", true),
    ("if a { 1 } else { 2 }", true), ("x.return", true), ("", false), ("return a", false),
    ("let a = 1\na", false), ("switch a { case b: return 1 default: return 2 }", false),
    ("if a { return 1 }\nreturn 2", false), ("f()\nif a { return 1 } else { return 2 }", false),
    ("guard a else { return 1 }", false), ("fatalError()", false),
  ])
  func `a body of one expression is recognised`(text: String, isOne: Bool) throws {
    #expect(try BodyText(Array(text.utf8)).isOneExpression == isOne)
  }
}
