import Simulator

/// A planted bug: a small named change to the sources, which the simulator must find.
struct Mutant: Equatable, Sendable {
  /// Words joined by hyphens: the file's name.
  var name: String
  /// What the bug does, in plain words.
  var sentence: String
  /// A number in the list of known bugs, or "ours".
  var bug: String
  /// The letters of oracles, one of which is expected to object first. "trap" may be among them.
  /// "explorer" stands alone, for a mutant that no run is expected to find.
  var oracles: [String]
  var engine = Engine.value
  /// The world to hunt it in; `nil`: the changed files decide.
  var named: LibraryWorld?
  /// The seed with which the hunt begins.
  var first: UInt64 = 1
  var hunks: [Hunk] = []

  /// One change: the lines to search for, which must occur once, and their replacement.
  struct Hunk: Equatable, Sendable {
    /// The file's path within the package.
    var file: String
    /// The lines, without leading and trailing blanks.
    var search: [String]
    var replacement: [String]
    /// The line of the mutant's file in which the search begins, from 1.
    var line: Int
  }

  /// An error in a mutant's file.
  struct Malformed: Error, Equatable {
    var line: Int
    var message: String
  }
}

extension Mutant {
  static let letters = Set("ABCDEFGHIJK".map(String.init) + ["trap", "explorer"])

  init(name: String, text: String) throws(Malformed) {
    var parser = MutantParser(name: name)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      try parser.take(String(line))
    }
    self = try parser.finish()
  }
}

/// Reads a mutant's file line by line.
private struct MutantParser {
  private var mutant: Mutant
  private var number = 0
  private var sentence: [String] = []
  private var seen: Set<String> = []
  private var isInSentence = true
  private var file: String?
  private var hunk: Mutant.Hunk?

  init(name: String) {
    mutant = Mutant(name: name, sentence: "", bug: "", oracles: [])
  }

  mutating func take(_ line: String) throws(Mutant.Malformed) {
    number += 1
    let trimmed = line.trimmed
    if isInSentence {
      if trimmed.isEmpty {
        if sentence.isEmpty { throw malformed("expected a sentence that says what the bug does") }
        isInSentence = false
      } else {
        sentence.append(trimmed)
      }
      return
    }
    switch line.first {
    case "-": try search(String(line.dropFirst()).trimmed)
    case "+": try replace(String(line.dropFirst()).trimmed)
    default:
      try endHunk()
      if !trimmed.isEmpty { try field(trimmed) }
    }
  }

  mutating func finish() throws(Mutant.Malformed) -> Mutant {
    try endHunk()
    mutant.sentence = sentence.joined(separator: " ")
    for name in ["bug", "oracle", "in"] where !seen.contains(name) {
      throw malformed("expected a line that begins with \"\(name) \"")
    }
    if mutant.hunks.isEmpty { throw malformed("expected lines that begin with \"-\" and \"+\"") }
    return mutant
  }

  private func malformed(_ message: String) -> Mutant.Malformed {
    Mutant.Malformed(line: number, message: message)
  }

  private mutating func search(_ line: String) throws(Mutant.Malformed) {
    guard let file else { throw malformed("expected \"in FILE\" before the first change") }
    if hunk == nil {
      if line.isEmpty { throw malformed("expected something to search in the first line") }
      hunk = Mutant.Hunk(file: file, search: [], replacement: [], line: number)
    }
    guard hunk?.replacement.isEmpty == true else {
      throw malformed("expected an empty line before the next change")
    }
    hunk?.search.append(line)
  }

  private mutating func replace(_ line: String) throws(Mutant.Malformed) {
    guard hunk != nil else { throw malformed("expected a line with \"-\" before one with \"+\"") }
    hunk?.replacement.append(line)
  }

  private mutating func endHunk() throws(Mutant.Malformed) {
    guard let hunk else { return }
    if hunk.search == hunk.replacement { throw malformed("the change before changes nothing") }
    mutant.hunks.append(hunk)
    self.hunk = nil
  }

  private mutating func field(_ line: String) throws(Mutant.Malformed) {
    let words = line.split(separator: " ").map(String.init)
    let name = words[0]
    if name != "in", !seen.insert(name).inserted { throw malformed("\"\(name)\" is there twice") }
    switch (name, words.dropFirst().first) {
    case ("bug", let bug?) where words.count == 2 && (bug == "ours" || Int(bug) != nil):
      mutant.bug = bug
    case ("bug", _):
      throw malformed("expected \"bug NUMBER\" or \"bug ours\"")
    case ("oracle", _?) where words.count > 2 && words.contains("explorer"):
      throw malformed("\"oracle explorer\" stands alone: what a run finds, no explorer need find")
    case ("oracle", _?) where Mutant.letters.isSuperset(of: words.dropFirst()):
      mutant.oracles = Array(words.dropFirst())
    case ("oracle", _):
      throw malformed(
        "expected \"oracle\" and letters of A B C D E F G H I J K, or \"trap\" or \"explorer\"")
    case ("engine", let engine?) where words.count == 2 && Engine(rawValue: engine) != nil:
      mutant.engine = Engine(rawValue: engine) ?? .value
    case ("engine", _):
      throw malformed("expected \"engine value\" or \"engine actor\"")
    case ("world", let world?) where words.count == 2 && LibraryWorld(rawValue: world) != nil:
      mutant.named = LibraryWorld(rawValue: world)
    case ("world", _):
      let names = LibraryWorld.named.map(\.rawValue).joined(separator: ", ")
      throw malformed("expected \"world\" and one of \(names)")
    case ("first", let seed?) where words.count == 2 && UInt64(seed) != nil:
      mutant.first = UInt64(seed) ?? 1
    case ("first", _):
      throw malformed("expected \"first SEED\"")
    case ("in", let path?) where words.count == 2:
      guard path.hasPrefix("Sources/"), path.hasSuffix(".swift"), !path.contains("..") else {
        throw malformed("expected a file like Sources/UpdateMachine/Machine/Machine.swift")
      }
      file = path
      seen.insert("in")
    default:
      throw malformed(
        "expected bug, oracle, engine, world, first, in, \"-\" or \"+\", found \"\(line)\"")
    }
  }
}

extension String {
  /// The text without leading and trailing blanks.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
    let front = drop(while: isBlank)
    guard let last = front.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(front[...last])
  }
}
