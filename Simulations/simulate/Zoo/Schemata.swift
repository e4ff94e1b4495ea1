/// Places changes beside the original code behind a switch, so that one build contains all mutants
/// (mutant schemata: Untch, Offutt and Harrold 1993).
///
/// A change in a body makes a variant of the whole original body, so mutants never see one another.
/// A change outside of bodies, such as in the first value of a stored property, becomes a choice
/// between expressions.
struct Schemata {
  /// A mutant that cannot be placed.
  struct Inapplicable: Error, Equatable {
    var mutant: String
    var message: String
  }

  /// The number that selects a mutant at run time. It is a hash of the name (FNV-1a), so files do
  /// not change when other mutants come and go.
  static func number(of name: String) -> UInt32 {
    let hash = name.utf8.reduce(2_166_136_261 as UInt32) { ($0 ^ UInt32($1)) &* 16_777_619 }
    return max(hash, 1)
  }

  /// Where an additional file for the copy goes.
  static let selector = "Sources/UpdateMachine/Values/Zoo.swift"

  /// That file, for a copy whose main program selects the mutant.
  static let selectedByProgram = """
    /// Which planted bug is in force; 0: none.
    public enum Zoo {
      @safe nonisolated(unsafe) public static var mutant: UInt32 = 0
    }

    """

  /// Begins the comments by which a compiler's complaint is traced to its mutant.
  static let mark = "zoo: "

  let file: String
  private let text: [UInt8]
  private let bodies: SwiftBodies
  private var changes: [Change] = []
  /// Numbers the bodies that have mutants, and counts how often they are entered; `nil`: nothing is
  /// counted.
  var reach: BodyNumbers?

  private struct Change {
    var mutant: String
    var range: Range<Int>
    var replacement: [UInt8]
  }

  init(file: String, text: String) throws(SwiftTokens.Malformed) {
    self.file = file
    self.text = Array(text.utf8)
    bodies = try SwiftBodies(self.text)
  }

  /// Adds a mutant's changes to this file.
  mutating func add(_ mutant: Mutant) throws(Inapplicable) {
    var mine: [Change] = []
    for hunk in mutant.hunks where hunk.file == file {
      let found = Schemata.occurrences(of: hunk.search, in: text)
      guard found.count == 1 else {
        throw Inapplicable(
          mutant: mutant.name,
          message: "line \(hunk.line): the search must be found once in \(file), "
            + "found \(found.count) times")
      }
      let replacement = Array(hunk.replacement.joined(separator: "\n").utf8)
      if mine.contains(where: { $0.range.overlaps(found[0]) }) {
        throw Inapplicable(
          mutant: mutant.name, message: "line \(hunk.line): overlaps a change before it")
      }
      let change = Change(mutant: mutant.name, range: found[0], replacement: replacement)
      mine.append(try settled(change, hunk))
    }
    try checkBrackets(mutant.name, mine)
    changes += mine
  }

  /// Adds a generated change, which lies in one body.
  mutating func add(_ mutant: GeneratedMutant) throws(Inapplicable) {
    let change = Change(
      mutant: mutant.name, range: mutant.change.range,
      replacement: Array(mutant.change.replacement.utf8))
    try checkBrackets(mutant.name, [change])
    changes.append(change)
  }

  /// Checks that a change closes each bracket that it opens. Otherwise the compiler would complain
  /// about everything after it.
  private func checkBrackets(_ mutant: String, _ mine: [Change]) throws(Inapplicable) {
    for body in bodies.bodies {
      let inside = mine.filter { body.range.contains($0.range) }
      if inside.isEmpty { continue }
      do throws(SwiftTokens.Malformed) {
        _ = try BodyText(changed(body.range, inside))
      } catch {
        throw Inapplicable(
          mutant: mutant, message: "\(file): with the change there is \(error.found)")
      }
    }
  }

  /// Returns a change that lies in one body, or touches none. Any other change is first cut to what
  /// differs.
  private func settled(_ change: Change, _ hunk: Mutant.Hunk) throws(Inapplicable) -> Change {
    let touched = bodies.bodies.filter { $0.range.overlaps(change.range) }
    if touched.allSatisfy({ $0.range.contains(change.range) }) { return change }
    let cut = onlyDifference(change)
    guard touched.contains(where: { $0.range.contains(cut.range) }) else {
      throw Inapplicable(
        mutant: change.mutant,
        message: "line \(hunk.line): begins in a function's body of \(file) and ends outside of "
          + "it. Make each body's change one of its own")
    }
    return cut
  }

  /// Returns a change without the unchanged bytes at both ends. A line break in the replacement
  /// also matches any indentation after it.
  private func onlyDifference(_ change: Change) -> Change {
    let old = Array(text[change.range])
    let new = change.replacement
    var front = (old: 0, new: 0)
    while front.old < old.count, front.new < new.count, old[front.old] == new[front.new] {
      let isBreak = old[front.old] == UInt8(ascii: "\n")
      front = (front.old + 1, front.new + 1)
      while isBreak, front.old < old.count, old[front.old] == UInt8(ascii: " ") { front.old += 1 }
    }
    var back = (old: old.count, new: new.count)
    while back.old > front.old, back.new > front.new {
      if new[back.new - 1] == UInt8(ascii: "\n"), old[back.old - 1] == UInt8(ascii: " ") {
        back.old -= 1
        continue
      }
      guard old[back.old - 1] == new[back.new - 1] else { break }
      back = (back.old - 1, back.new - 1)
    }
    var cut = change
    let start = change.range.lowerBound
    cut.range = (start + front.old)..<(start + back.old)
    cut.replacement = Array(new[front.new..<back.new])
    return cut
  }

  /// Returns where the lines occur, whatever their indentation.
  static func occurrences(of lines: [String], in text: [UInt8]) -> [Range<Int>] {
    let lines = lines.map { Array($0.utf8) }
    guard let first = lines.first, !first.isEmpty else { return [] }
    var found: [Range<Int>] = []
    for start in text.indices where text[start...].starts(with: first) {
      if let end = end(of: lines, from: start, in: text) { found.append(start..<end) }
    }
    return found
  }

  private static func end(of lines: [[UInt8]], from start: Int, in text: [UInt8]) -> Int? {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var at = start + lines[0].count
    for line in lines.dropFirst() {
      while at < text.count, isBlank(text[at]) { at += 1 }
      guard at < text.count, text[at] == UInt8(ascii: "\n") else { return nil }
      at += 1
      while at < text.count, isBlank(text[at]) { at += 1 }
      guard text[at...].starts(with: line) else { return nil }
      at += line.count
    }
    return at
  }

  // MARK: The text with all mutants

  /// The file's text with every change behind a switch.
  mutating func woven() -> String {
    var pieces: [(range: Range<Int>, text: [UInt8])] = []
    var free = changes
    for body in bodies.bodies {
      let inside = changes.filter { body.range.contains($0.range) }
      guard !inside.isEmpty else { continue }
      free.removeAll { body.range.contains($0.range) }
      pieces.append((body.range, woven(body, inside)))
    }
    pieces += wovenExpressions(free)
    var result = text
    for piece in pieces.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      result.replaceSubrange(piece.range, with: piece.text)
    }
    let woven = String(decoding: result, as: UTF8.self)
    // The import is public, because inlinable bodies may use it.
    return needsImport ? "public import UpdateMachine\n\(woven)" : woven
  }

  private var needsImport: Bool {
    if changes.isEmpty || file.hasPrefix("Sources/UpdateMachine/") { return false }
    let source = bodies.source
    return !source.tokens.indices.contains {
      source.word($0) == "import" && source.word($0 + 1) == "UpdateMachine"
    }
  }

  /// The text of a range with some changes, all of which lie in it.
  private func changed(_ range: Range<Int>, _ changes: [Change]) -> [UInt8] {
    var result = Array(text[range])
    for change in changes.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      let start = change.range.lowerBound - range.lowerBound
      result.replaceSubrange(start..<(start + change.range.count), with: change.replacement)
    }
    return result
  }

  private mutating func woven(_ body: SwiftBodies.Body, _ changes: [Change]) -> [UInt8] {
    var lines = "  switch Zoo.mutant {  // \(Schemata.mark)begin\n"
    let names = Set(changes.map(\.mutant)).sorted()
    for name in names {
      let variant = changed(body.range, changes.filter { $0.mutant == name })
      lines += "case \(Schemata.number(of: name)):  // \(Schemata.mark)\(name)\n"
      lines += branch(variant, body)
    }
    lines += "default:  // \(Schemata.mark)the original\n"
    if let number = reach?.add(names) { lines += "Zoo.reached(\(number))\n" }
    lines += branch(Array(text[body.range]), body)
    return Array((lines + "}  // \(Schemata.mark)end\n").utf8)
  }

  /// Returns a body as one branch of the switch. Errors in it are left to the compiler.
  private func branch(_ text: [UInt8], _ body: SwiftBodies.Body) -> String {
    let variant = try? BodyText(text)
    let isValue = body.returnsValue && variant?.isOneExpression == true
    let bytes = isValue ? variant?.returning ?? text : text
    return String(decoding: bytes, as: UTF8.self) + (variant?.isEmpty == true ? "\nbreak\n" : "\n")
  }

  // MARK: Outside of bodies

  /// Turns overlapping changes into one expression.
  private func wovenExpressions(_ changes: [Change]) -> [(range: Range<Int>, text: [UInt8])] {
    var groups: [(range: Range<Int>, changes: [Change])] = []
    for change in changes.map(justValue).sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      if let last = groups.last, last.range.overlaps(change.range) {
        let end = max(last.range.upperBound, change.range.upperBound)
        groups[groups.count - 1].range = last.range.lowerBound..<end
        groups[groups.count - 1].changes.append(change)
      } else {
        groups.append((change.range, [change]))
      }
    }
    return groups.map { group in
      var expression = "(\(String(decoding: text[group.range], as: UTF8.self)))"
      for name in Set(group.changes.map(\.mutant)).sorted().reversed() {
        let variant = changed(group.range, group.changes.filter { $0.mutant == name })
        expression =
          "(Zoo.mutant == \(Schemata.number(of: name)) /* \(Schemata.mark)\(name) */ "
          + "? (\(String(decoding: variant, as: UTF8.self))) : \(expression))"
      }
      return (group.range, Array(expression.utf8))
    }
  }

  /// Cuts a change of `let name = value` to the values, if nothing else differs.
  private func justValue(_ change: Change) -> Change {
    let sign = Array(" = ".utf8)
    let original = Array(text[change.range])
    guard
      let start = original.indices.first(where: { original[$0...].starts(with: sign) }),
      change.replacement.starts(with: original[...start] + sign.dropFirst())
    else { return change }
    var cut = change
    let head = start + sign.count
    cut.range = (change.range.lowerBound + head)..<change.range.upperBound
    cut.replacement.removeFirst(head)
    return cut
  }
}

/// The numbers of bodies that have mutants.
struct BodyNumbers {
  /// How many there are.
  private(set) var count = 0
  /// The numbers of each mutant's bodies.
  private(set) var ofMutant: [String: [Int]] = [:]

  /// Numbers a body with these mutants.
  mutating func add(_ mutants: [String]) -> Int {
    for mutant in mutants { ofMutant[mutant, default: []].append(count) }
    defer { count += 1 }
    return count
  }
}

extension Range where Bound == Int {
  fileprivate func contains(_ other: Range<Int>) -> Bool {
    lowerBound <= other.lowerBound && other.upperBound <= upperBound
  }
}
