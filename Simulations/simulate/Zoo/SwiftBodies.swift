/// The outermost bodies in a Swift source: those of functions, initialisers, accessors and computed
/// properties. Everything outside of them is declarations.
struct SwiftBodies {
  /// The text between two braces.
  struct Body: Equatable {
    /// The bytes between the braces, without them.
    var range: Range<Int>
    /// Whether a body that is one expression returns its value.
    var returnsValue: Bool
    /// The tokens of the declaration before the braces, from its keyword; empty: an accessor's.
    var head: Range<Int>
    /// The tokens between the braces.
    var tokens: Range<Int>
  }

  let source: SwiftTokens
  private(set) var bodies: [Body] = []

  init(_ text: [UInt8]) throws(SwiftTokens.Malformed) {
    source = try SwiftTokens(text)
    findBodies(in: source.tokens.indices)
  }

  private static let types: Set<String> = [
    "struct", "class", "enum", "actor", "extension", "protocol",
  ]
  private static let introducers = types.union([
    "func", "init", "deinit", "subscript", "var", "let", "case", "typealias", "associatedtype",
    "import", "precedencegroup", "operator", "macro",
  ])
  private static let accessors: Set<String> = [
    "get", "set", "willSet", "didSet", "_read", "_modify", "read", "modify", "yielding",
  ]

  /// The declaration that is being scanned.
  private struct Declaration {
    var keyword = ""
    var start = 0
    /// Whether the first value of a stored property has begun.
    var hasValue = false
  }

  /// Scans declarations, at the level of a file or a type.
  private mutating func findBodies(in range: Range<Int>) {
    var declaration = Declaration()
    var index = range.lowerBound
    while index < range.upperBound {
      let token = source.tokens[index]
      if token.kind == .word, isIntroducer(index) {
        declaration = Declaration(keyword: source.word(index), start: index)
      } else if isAssignment(index) {
        declaration.hasValue = true
      }
      let other = source.other[index]
      if source.isMark(index, "{") { enter(index, declaration) }
      index = other > index ? other + 1 : index + 1
    }
  }

  private func isIntroducer(_ index: Int) -> Bool {
    guard SwiftBodies.introducers.contains(source.word(index)) else { return false }
    // In `func actor()` or `.init()` it is only a name.
    let before = source.word(index - 1)
    return before != "." && !["func", "var", "let", "case"].contains(before)
  }

  /// A single `=`.
  private func isAssignment(_ index: Int) -> Bool {
    guard source.isMark(index, "=") else { return false }
    let signs = ["=", "<", ">", "!", "+", "-", "*", "/", "&", "|", "~", "^", "%", "?"]
    func touches(_ one: Int, _ other: Int) -> Bool {
      guard one >= 0, other < source.tokens.count else { return false }
      return source.tokens[one].range.upperBound == source.tokens[other].range.lowerBound
    }
    let before = touches(index - 1, index) && signs.contains(source.word(index - 1))
    let after = touches(index, index + 1) && signs.contains(source.word(index + 1))
    return !before && !after
  }

  /// Finds the bodies in the braces that begin here.
  private mutating func enter(_ open: Int, _ declaration: Declaration) {
    let inside = (open + 1)..<source.other[open]
    switch declaration.keyword {
    case let type where SwiftBodies.types.contains(type):
      findBodies(in: inside)
    case "func":
      let head = declaration.start..<open
      add(open, returnsValue: hasResult(head), head: head)
    case "init", "deinit":
      add(open, returnsValue: false, head: declaration.start..<open)
    case "var", "subscript":
      if isAccessor(inside.lowerBound, before: inside.upperBound) {
        findAccessors(in: inside)
      } else if !declaration.hasValue {
        add(open, returnsValue: true)
      }
    default: break
    }
  }

  private mutating func add(_ open: Int, returnsValue: Bool, head: Range<Int>? = nil) {
    let close = source.other[open]
    let range = source.tokens[open].range.upperBound..<source.tokens[close].range.lowerBound
    bodies.append(
      Body(
        range: range, returnsValue: returnsValue, head: head ?? open..<open,
        tokens: (open + 1)..<close))
  }

  private func hasResult(_ head: Range<Int>) -> Bool {
    var index = head.lowerBound
    while index < head.upperBound {
      if source.isMark(index, "-"), source.isMark(index + 1, ">") {
        let result = source.word(index + 2)
        return result != "Void" && !(result == "(" && source.word(index + 3) == ")")
      }
      index = max(index, source.other[index]) + 1
    }
    return false
  }

  // MARK: Accessors

  /// Whether an accessor begins here: attributes, modifiers, its name, and perhaps a body, which it
  /// lacks in a protocol.
  private func isAccessor(_ index: Int, before end: Int) -> Bool {
    accessorName(index, before: end) != nil
  }

  private func accessorName(_ first: Int, before end: Int) -> Int? {
    let modifiers: Set<String> = [
      "mutating", "nonmutating", "nonisolated", "borrowing", "consuming", "private", "fileprivate",
      "internal", "public",
    ]
    var index = first
    while index < end {
      let word = source.word(index)
      if word.hasPrefix("@") || modifiers.contains(word) {
        index = source.isMark(index + 1, "(") ? source.other[index + 1] + 1 : index + 1
        continue
      }
      guard SwiftBodies.accessors.contains(word) else { return nil }
      let next = source.word(index + 1)
      let follows = ["{", "}", "(", "async", "throws"].contains(next)
      guard follows || SwiftBodies.accessors.contains(next) else { return nil }
      // A call of a function with that name has no brace after its arguments.
      if next == "(", !source.isMark(source.other[index + 1] + 1, "{") { return nil }
      return index
    }
    return nil
  }

  private mutating func findAccessors(in range: Range<Int>) {
    var index = range.lowerBound
    while let name = accessorName(index, before: range.upperBound) {
      index = name + 1
      while index < range.upperBound, !source.isMark(index, "{"),
        accessorName(index, before: range.upperBound) == nil
      {
        index = max(index, source.other[index]) + 1
      }
      guard index < range.upperBound, source.isMark(index, "{") else { continue }
      add(index, returnsValue: source.word(name) == "get")
      index = source.other[index] + 1
    }
  }
}

/// A body's text on its own.
struct BodyText {
  let source: SwiftTokens

  init(_ text: [UInt8]) throws(SwiftTokens.Malformed) { source = try SwiftTokens(text) }

  var isEmpty: Bool { source.tokens.isEmpty }

  /// Whether the body is a single expression, given that it returns a value.
  var isOneExpression: Bool {
    let statements: Set<String> = [
      "return", "let", "var", "guard", "for", "while", "repeat", "defer", "throw", "do", "func",
      "#if", "struct", "enum", "fatalError", "preconditionFailure",
    ]
    var index = 0
    let isBranch = ["if", "switch"].contains(source.word(0))
    while index < source.tokens.count {
      let word = source.word(index)
      if statements.contains(word), !isMember(index) { return false }
      if index > 0, !isBranch, ["if", "switch"].contains(word), !isMember(index) { return false }
      let other = source.other[index]
      if isBranch, source.isMark(index, "{"), holdsReturn(index..<other) { return false }
      index = other > index ? other + 1 : index + 1
    }
    return !source.tokens.isEmpty
  }

  private func isMember(_ index: Int) -> Bool { source.isMark(index - 1, ".") }

  private static let control: Set<String> = [
    "if", "else", "switch", "guard", "for", "while", "repeat", "do", "catch", "defer",
  ]

  /// Whether something returns between these braces. A `return` in a closure is the closure's.
  private func holdsReturn(_ range: Range<Int>) -> Bool {
    var isControl = false
    var index = range.lowerBound + 1
    while index < range.upperBound {
      let word = source.word(index)
      if word == "return", !isMember(index) { return true }
      if BodyText.control.contains(word), !isMember(index) { isControl = true }
      let other = source.other[index]
      if source.isMark(index, "{"), isControl {
        if holdsReturn(index..<other) { return true }
        isControl = false
      }
      index = max(index, other) + 1
    }
    return false
  }

  /// The body with `return` before its expression.
  var returning: [UInt8] {
    guard let first = source.tokens.first?.range.lowerBound else { return source.text }
    return source.text[..<first] + Array("return ".utf8) + source.text[first...]
  }
}
