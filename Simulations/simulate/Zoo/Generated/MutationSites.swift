/// Every change that the operators can make in the bodies of a source file, in the order of the
/// text. It knows tokens, not types, so the compiler may refuse some of them.
///
/// It relies on the style of swift-format: blanks around binary operators, and the statements of a
/// block begin in the same column.
struct MutationSites {
  let bodies: SwiftBodies
  var source: SwiftTokens { bodies.source }
  /// For each property of a type in the module, the others that have the same type.
  let siblings: PropertySiblings
  private(set) var changes: [GeneratedChange] = []
  /// Where bodies of cases begin whose switch is no value: a call there is a statement, although it
  /// stands on the line of its label.
  var labelled: Set<Int> = []
  /// Where bodies begin that may be empty.
  var emptiable: Set<Int> = []
  /// Whether the body at hand is an initialiser's.
  var isInitializer = false

  init(_ bodies: SwiftBodies, _ siblings: PropertySiblings) {
    self.bodies = bodies
    self.siblings = siblings
    for body in bodies.bodies {
      for index in body.tokens { addWords(at: index) }
      addConditions(in: body.tokens)
      addWrongParameters(body)
      addStatements(body)
    }
    // Two operators may make the same change.
    let byPlace = { (change: GeneratedChange) in
      (change.range.lowerBound, change.range.upperBound, change.replacement, change.kind.rawValue)
    }
    changes.sort { byPlace($0) < byPlace($1) }
    var last: GeneratedChange?
    changes = changes.filter { change in
      defer { last = change }
      return change.range != last?.range || change.replacement != last?.replacement
    }
  }

  mutating func add(_ kind: MutationOperator, _ range: Range<Int>, _ replacement: String) {
    changes.append(GeneratedChange(kind: kind, range: range, replacement: replacement))
  }

  /// The text of some bytes.
  func text(_ range: Range<Int>) -> String { String(decoding: source.text[range], as: UTF8.self) }

  /// The bytes of some tokens, from the first to the last.
  func bytes(_ tokens: Range<Int>) -> Range<Int> {
    source.tokens[tokens.lowerBound].range
      .lowerBound..<source.tokens[tokens.upperBound - 1].range.upperBound
  }

  // MARK: Words and operators

  private static let binary: [(old: String, new: String, kind: MutationOperator)] = [
    ("<", "<=", .bound), ("<=", "<", .bound), (">", ">=", .bound), (">=", ">", .bound),
    ("==", "!=", .negated), ("!=", "==", .negated), ("&&", "||", .sign), ("||", "&&", .sign),
    ("+", "-", .sign), ("-", "+", .sign), ("+=", "-=", .sign), ("-=", "+=", .sign),
  ]

  private static let ends: [String: String] = [
    "min": "max", "max": "min", "first": "last", "last": "first", "lowerBound": "upperBound",
    "upperBound": "lowerBound", "prefix": "suffix", "suffix": "prefix",
    "removeFirst": "removeLast", "removeLast": "removeFirst", "dropFirst": "dropLast",
    "dropLast": "dropFirst", "firstIndex": "lastIndex", "lastIndex": "firstIndex",
    "startIndex": "endIndex", "endIndex": "startIndex", "before": "after", "after": "before",
  ]

  /// Adds the changes of a single word or operator.
  private mutating func addWords(at index: Int) {
    let range = source.tokens[index].range
    switch source.tokens[index].kind {
    case .literal: return
    case .mark: addOperators(at: range)
    case .word:
      let word = source.word(index)
      // Before a colon it is a label, and after these words a new name.
      let isNew = ["let", "var", "func", "case"].contains(source.word(index - 1))
      if let other = MutationSites.ends[word], !source.isMark(index + 1, ":"), !isNew {
        add(.otherEnd, range, other)
      }
      if word == "true" || word == "false" { add(.sign, range, word == "true" ? "false" : "true") }
      if let number = Int(word), !isFraction(index) { add(.bound, range, "\(number + 1)") }
      if source.isMark(index + 1, ":") || isNew { return }
      for sibling in siblings.others(of: word) { add(.wrongName, range, sibling) }
    }
  }

  /// Whether a number is a part of 1.5, of `tuple.0` or of `0x1F`.
  private func isFraction(_ index: Int) -> Bool {
    let range = source.tokens[index].range
    let before = range.lowerBound > 0 ? source.text[range.lowerBound - 1] : 0
    if before == UInt8(ascii: "."), !source.isMark(index - 2, ".") { return true }
    guard source.isMark(index + 1, "."), !source.isMark(index + 2, ".") else { return false }
    return source.tokens[index + 1].range.lowerBound == range.upperBound
  }

  /// Adds the changes of the operator that begins at a byte.
  private mutating func addOperators(at range: Range<Int>) {
    let start = range.lowerBound
    let text = source.text
    func isBlank(_ at: Int) -> Bool {
      at >= 0 && at < text.count
        && (text[at] == UInt8(ascii: " ") || text[at] == UInt8(ascii: "\n"))
    }
    for (old, new, kind) in MutationSites.binary {
      let end = start + old.utf8.count
      guard text[start...].starts(with: old.utf8), isBlank(start - 1), isBlank(end) else {
        continue
      }
      // Texts have no difference.
      if old == "+", text[end...].first(where: { $0 != UInt8(ascii: " ") }) == UInt8(ascii: "\"") {
        continue
      }
      add(kind, start..<end, new)
    }
    for (old, new) in [("..<", "..."), ("...", "..<")] {
      let end = start + 3
      guard text[start...].starts(with: old.utf8), end < text.count, start > 0 else { continue }
      let outside = [UInt8(ascii: "."), UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: " ")]
      let closing = [UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ".")]
      let isOpen = outside.contains(text[start - 1]) || closing.contains(text[end])
      if isOpen && !(isBlank(start - 1) && isBlank(end)) { continue }
      add(.bound, start..<end, new)
    }
  }

  // MARK: Conditions

  /// Adds the changes of the conditions of `if`, `guard` and `while`.
  private mutating func addConditions(in tokens: Range<Int>) {
    for index in tokens where ["if", "guard", "while"].contains(source.word(index)) {
      if source.isMark(index - 1, ".") || source.isMark(index + 1, ":") { continue }
      // The condition of `repeat` ends with its line, and no brace follows.
      if source.word(index) == "while", source.isMark(index - 1, "}") { continue }
      let conditions = conditions(after: index, before: tokens.upperBound)
      for condition in conditions where isTruth(condition) {
        // Where the condition is one comparison, to exchange == and != does the same.
        if !isOneComparison(condition) {
          add(.negated, bytes(condition), "!(\(text(bytes(condition))))")
        }
        if conditions.count > 1 { add(.conditionLeftOut, bytes(condition), "true") }
      }
    }
  }

  /// The conditions between commas after `if`, `guard` or `while`.
  func conditions(after keyword: Int, before end: Int) -> [Range<Int>] {
    let isGuard = source.word(keyword) == "guard"
    var found: [Range<Int>] = []
    var start = keyword + 1
    var index = start
    while index < end {
      let isEnd = isGuard ? source.word(index) == "else" : source.isMark(index, "{")
      if isEnd || source.isMark(index, ",") {
        if start < index { found.append(start..<index) }
        start = index + 1
        if isEnd { return found }
      }
      index = max(index, source.other[index]) + 1
    }
    return []
  }

  /// Whether a condition is true or false, and binds no names.
  private func isTruth(_ condition: Range<Int>) -> Bool {
    !["let", "var", "case", "#available", "#unavailable"].contains(
      source.word(condition.lowerBound))
  }

  /// Whether a condition is `a == b` or `a != b`, and nothing else.
  private func isOneComparison(_ condition: Range<Int>) -> Bool {
    var comparisons = 0
    var index = condition.lowerBound
    while index < condition.upperBound {
      if ["&", "|", "?", "<", ">"].contains(source.word(index)) { return false }
      let isFirst = ["=", "!"].contains(source.word(index)) && source.isMark(index + 1, "=")
      if isFirst, source.tokens[index].range.upperBound == source.tokens[index + 1].range.lowerBound
      {
        comparisons += 1
        index += 1
      }
      index = max(index, source.other[index]) + 1
    }
    return comparisons == 1
  }

  // MARK: Names

  /// Puts another parameter of the same type in the place of each use of one.
  private mutating func addWrongParameters(_ body: SwiftBodies.Body) {
    let parameters = parameters(in: body.head)
    for index in body.tokens where source.tokens[index].kind == .word {
      let name = source.word(index)
      if source.isMark(index - 1, ".") || source.isMark(index + 1, ":") { continue }
      guard let used = parameters.first(where: { $0.name == name }) else { continue }
      for other in parameters where other.type == used.type && other.name != name {
        add(.wrongName, source.tokens[index].range, other.name)
      }
    }
  }

  private func parameters(in head: Range<Int>) -> [(name: String, type: String)] {
    guard let open = head.first(where: { source.isMark($0, "(") }) else { return [] }
    var found: [(name: String, type: String)] = []
    var index = open + 1
    var name = ""
    var typeStart: Int?
    func finish(_ end: Int) {
      if let typeStart, typeStart < end {
        found.append((name, text(bytes(typeStart..<end))))
      }
      typeStart = nil
    }
    while index < source.other[open] {
      if source.isMark(index, ",") || source.isMark(index, "=") {
        finish(index)
      } else if source.isMark(index, ":"), typeStart == nil {
        (name, typeStart) = (source.word(index - 1), index + 1)
      }
      index = max(index, source.other[index]) + 1
    }
    finish(source.other[open])
    return found
  }
}

/// The stored properties of a module's types that can be taken for one another: those of one type
/// that have the same type. A name that two types use is left out.
struct PropertySiblings {
  private var siblings: [String: [String]] = [:]
  private var ambiguous: Set<String> = []

  /// At most so many changes of one name.
  private static let limit = 2

  func others(of name: String) -> [String] {
    ambiguous.contains(name) ? [] : siblings[name] ?? []
  }

  /// Adds the types of a file.
  mutating func add(_ source: SwiftTokens) {
    for index in source.tokens.indices
    where ["struct", "class", "actor"].contains(source.word(index)) {
      var open = index
      while open < source.tokens.count, !source.isMark(open, "{") { open += 1 }
      if open < source.tokens.count { addType((open + 1)..<source.other[open], source) }
    }
  }

  private mutating func addType(_ range: Range<Int>, _ source: SwiftTokens) {
    var properties: [(name: String, type: String)] = []
    var index = range.lowerBound
    while index < range.upperBound {
      let isStatic = ["static", "class"].contains(source.word(index - 1))
      if ["var", "let"].contains(source.word(index)), source.isMark(index + 2, ":"), !isStatic {
        let type = type(at: index + 3, before: range.upperBound, source)
        if let type { properties.append((source.word(index + 1), type)) }
      }
      index = max(index, source.other[index]) + 1
    }
    for (place, property) in properties.enumerated() {
      // The nearest ones after it, in a circle.
      let after = properties[(place + 1)...] + properties[..<place]
      let others = after.filter { $0.type == property.type }.map(\.name)
      if siblings.updateValue(Array(others.prefix(PropertySiblings.limit)), forKey: property.name)
        != nil
      {
        ambiguous.insert(property.name)
      }
    }
  }

  /// The words of a stored property's type, which ends with its line; `nil`: it is computed.
  private func type(at start: Int, before end: Int, _ source: SwiftTokens) -> String? {
    var words = ""
    for index in start..<end {
      if source.isMark(index, "{") { return nil }
      if source.isMark(index, "=") || index > start && source.isFirstOnLine(index) { break }
      words += source.word(index)
    }
    return words.isEmpty ? nil : words
  }
}
