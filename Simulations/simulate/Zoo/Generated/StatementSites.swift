// The statements of blocks, and what can be left out of them.

extension MutationSites {
  private static let keywords: Set<String> = [
    "let", "var", "return", "guard", "if", "switch", "for", "while", "repeat", "do", "defer",
    "func", "struct", "enum", "typealias", "case", "default", "break", "continue", "throw",
    "fallthrough", "#if", "#else", "#endif", "@unknown", "unsafe", "yield",
  ]

  /// Adds the changes of all blocks of a body.
  mutating func addStatements(_ body: SwiftBodies.Body) {
    if !body.returnsValue { emptiable.insert(body.tokens.lowerBound) }
    isInitializer = source.word(body.head.lowerBound) == "init"
    add(statementsOf: body.tokens)
    addEarlyReturns(body)
    for index in body.tokens where source.isMark(index, "{") {
      let inside = (index + 1)..<source.other[index]
      let isSwitch = ["case", "default", "@unknown"].contains(source.word(inside.lowerBound))
      if isSwitch {
        let cases = caseBodies(inside)
        if cases.contains(where: isOfStatements) {
          labelled.formUnion(cases.map(\.lowerBound).filter { !source.isFirstOnLine($0) })
        }
        for body in cases {
          add(statementsOf: body)
          addLeftOut(case: body)
        }
      } else {
        add(statementsOf: inside)
      }
    }
  }

  /// Whether the body of a case shows that its switch is no value.
  private func isOfStatements(_ body: Range<Int>) -> Bool {
    let statements = statements(of: body)
    guard let first = statements.first else { return false }
    let word = source.word(first.lowerBound)
    return statements.count > 1 || assignment(in: first) != nil
      || MutationSites.keywords.contains(word) && !["if", "switch", "throw"].contains(word)
  }

  private mutating func add(statementsOf block: Range<Int>) {
    let statements = statements(of: block)
    for (place, statement) in statements.enumerated() {
      addLeftOut(statement)
      guard place > 0, isAction(statements[place - 1]), isAction(statement),
        !areApart(statements[place - 1], statement)
      else { continue }
      let (first, second) = (bytes(statements[place - 1]), bytes(statement))
      let between = text(first.upperBound..<second.lowerBound)
      add(
        .swapped, first.lowerBound..<second.upperBound, text(second) + between + text(first))
    }
  }

  /// Whether two statements are plain assignments to different names, of which neither calls
  /// anything or reads what the other sets: their order makes no difference.
  private func areApart(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
    func parts(_ statement: Range<Int>) -> (target: String, words: Set<String>)? {
      guard let sign = assignment(in: statement), source.isMark(sign, "=") else { return nil }
      let words = statement.map { source.word($0) }
      if words.contains("(") || words.contains("[") || words.contains("{") { return nil }
      return (
        words.prefix(sign - statement.lowerBound).joined(),
        Set(words.suffix(from: sign - statement.lowerBound))
      )
    }
    guard let one = parts(one), let other = parts(other), one.target != other.target else {
      return false
    }
    func reads(_ words: Set<String>, _ target: String) -> Bool {
      target.split(separator: ".").contains { words.contains(String($0)) && $0 != "self" }
    }
    return !reads(one.words, other.target) && !reads(other.words, one.target)
  }

  /// The statements of a block: each begins a line in the same column. A block on one line is one
  /// statement.
  func statements(of block: Range<Int>) -> [Range<Int>] {
    var start = block.lowerBound
    // `{ name in` and `{ [self] name in` begin a closure.
    let head = block.prefix { $0 == block.lowerBound || !source.isFirstOnLine($0) }
    if !source.isFirstOnLine(start), let word = head.last(where: { source.word($0) == "in" }),
      word + 1 == block.upperBound || source.isFirstOnLine(word + 1)
    {
      start = word + 1
    }
    guard start < block.upperBound else { return [] }
    guard source.isFirstOnLine(start) else { return [start..<block.upperBound] }
    let column = source.column(start)
    var found: [Range<Int>] = []
    var index = start
    while index < block.upperBound {
      if index > start, source.isFirstOnLine(index), source.column(index) == column,
        !["{", "}", ")", "]", "else", "catch"].contains(source.word(index))
      {
        found.append(start..<index)
        start = index
      }
      index = max(index, source.other[index]) + 1
    }
    return found + [start..<block.upperBound]
  }

  /// The bodies of a switch's cases.
  private func caseBodies(_ block: Range<Int>) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var start: Int?
    var isLabel = false
    var index = block.lowerBound
    while index < block.upperBound {
      let word = source.word(index)
      let begins = word == "case" || word == "default" || word == "@unknown"
      if begins, index == block.lowerBound || source.isFirstOnLine(index) {
        if let start, start < index { found.append(start..<index) }
        (start, isLabel) = (nil, true)
      } else if isLabel, source.isMark(index, ":") {
        (start, isLabel) = (index + 1, false)
      }
      index = max(index, source.other[index]) + 1
    }
    if let start, start < block.upperBound { found.append(start..<block.upperBound) }
    return found
  }

  // MARK: What is left out

  private mutating func addLeftOut(_ statement: Range<Int>) {
    let kind: MutationOperator
    switch source.word(statement.lowerBound) {
    case "guard":
      let conditions = conditions(after: statement.lowerBound, before: statement.upperBound)
      if conditions.contains(where: { binds($0) }) { return }
      kind = .branchLeftOut
    case "if", "for", "while", "defer":
      // If it has one line, to leave out its only statement is enough.
      let isLong = statement.dropFirst().contains { source.isFirstOnLine($0) }
      guard isLong else { return }
      kind = .branchLeftOut
    default:
      // On the line of its case, the whole case is left out.
      guard isAction(statement), !labelled.contains(statement.lowerBound) else { return }
      // A stored property without a value does not compile.
      if isInitializer, source.word(statement.lowerBound) == "self" { return }
      kind = isReset(statement) ? .resetLeftOut : .statementLeftOut
    }
    add(kind, bytes(statement), "")
  }

  private func binds(_ condition: Range<Int>) -> Bool {
    ["let", "var", "case"].contains(source.word(condition.lowerBound))
  }

  /// Whether a statement is an assignment, or a call.
  private func isAction(_ statement: Range<Int>) -> Bool {
    if MutationSites.keywords.contains(source.word(statement.lowerBound)) { return false }
    if source.word(statement.lowerBound).hasPrefix("#") { return false }
    if assignment(in: statement) != nil { return true }
    let isCall = source.isMark(statement.upperBound - 1, ")")
    guard isCall else { return false }
    return source.isFirstOnLine(statement.lowerBound) || isInBraces(statement)
      || labelled.contains(statement.lowerBound)
  }

  /// Whether a statement is all that stands between braces on one line, which may be empty: after a
  /// condition, or as the body of a function without a result.
  private func isInBraces(_ statement: Range<Int>) -> Bool {
    let open = statement.lowerBound - 1
    guard source.isMark(open, "{"), source.isMark(statement.upperBound, "}") else { return false }
    if emptiable.contains(statement.lowerBound) || source.word(open - 1) == "else" { return true }
    var start = open
    while start > 0, !source.isFirstOnLine(start) { start -= 1 }
    return ["if", "for", "while"].contains(source.word(start))
  }

  /// The index of a single `=`, or of the `=` of `+=`, outside of brackets.
  private func assignment(in statement: Range<Int>) -> Int? {
    var index = statement.lowerBound
    while index < statement.upperBound {
      if source.isMark(index, "=") {
        let range = source.tokens[index].range
        let before = source.text[range.lowerBound - 1]
        let after = range.upperBound < source.text.count ? source.text[range.upperBound] : 0
        let isSingle = before == UInt8(ascii: " ") || "+-*/%&|^~".utf8.contains(before)
        if isSingle, after == UInt8(ascii: " ") || after == UInt8(ascii: "\n") { return index }
      }
      index = max(index, source.other[index]) + 1
    }
    return nil
  }

  private func isReset(_ statement: Range<Int>) -> Bool {
    let end = text(bytes(statement))
    return [" = nil", " = 0", " = []", " = [:]", " = false", ".removeAll()"].contains {
      end.hasSuffix($0)
    }
  }

  private mutating func addLeftOut(case body: Range<Int>) {
    let statements = statements(of: body)
    guard statements.count > 1 || statements.first.map(isAction) == true else { return }
    let jumps = ["return", "throw", "fallthrough", "continue"]
    if body.contains(where: { jumps.contains(source.word($0)) }) { return }
    add(.caseLeftOut, bytes(body), "break")
  }

  /// Ends a function without a result before each of its statements but the first.
  private mutating func addEarlyReturns(_ body: SwiftBodies.Body) {
    guard !body.returnsValue, source.word(body.head.lowerBound) == "func" else { return }
    let statements = statements(of: body.tokens)
    for (place, statement) in statements.enumerated().dropFirst() {
      // To leave out the last one does the same.
      if place == statements.count - 1, isAction(statement) { continue }
      let start = source.tokens[statement.lowerBound].range.lowerBound
      add(.earlyReturn, start..<start, "return; ")
    }
  }
}

extension SwiftTokens {
  /// Whether nothing but blanks and comments stands before a token on its line.
  func isFirstOnLine(_ index: Int) -> Bool {
    guard tokens.indices.contains(index) else { return false }
    let start = tokens[index].range.lowerBound
    let before = index == 0 ? 0 : tokens[index - 1].range.upperBound
    return index == 0 || text[before..<start].contains(UInt8(ascii: "\n"))
  }

  /// The number of bytes before a token on its line.
  func column(_ index: Int) -> Int {
    let start = tokens[index].range.lowerBound
    let lineStart = text[..<start].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return start - lineStart
  }
}
