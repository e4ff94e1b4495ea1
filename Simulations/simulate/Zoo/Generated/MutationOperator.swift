/// A way of making a bug that nobody chose.
enum MutationOperator: String, CaseIterable, Sendable {
  /// A condition is negated, or `==` stands for `!=`.
  case negated
  /// One of several conditions always holds.
  case conditionLeftOut = "condition-left-out"
  /// `<` stands for `<=`, `..<` for `...`, or 1 for 2.
  case bound
  /// `&&` stands for `||`, `+` for `-`, or `true` for `false`.
  case sign
  /// `min` stands for `max`, or `first` for `last`.
  case otherEnd = "other-end"
  /// The name of another parameter, or of another property of the same type.
  case wrongName = "wrong-name"
  /// A call or an assignment is left out.
  case statementLeftOut = "statement-left-out"
  /// A value is not put back to its beginning: `= nil`, `= 0`, `= []`, `removeAll()`.
  case resetLeftOut = "reset-left-out"
  /// A guard, or a whole `if`, `for` or `while`.
  case branchLeftOut = "branch-left-out"
  /// The body of a `case` does nothing.
  case caseLeftOut = "case-left-out"
  /// The function ends before a statement.
  case earlyReturn = "early-return"
  /// Two statements have changed places.
  case swapped
}

/// A change of one place of a source file, made by an operator.
struct GeneratedChange: Equatable, Sendable {
  var kind: MutationOperator
  /// The bytes that it replaces.
  var range: Range<Int>
  var replacement: String
}
