/// How an exploration ended.
public enum ExplorationEnding: String, Hashable, Sendable {
  /// Every reachable state was visited, and everything holds in each.
  case closed
  /// Something does not hold in the state that was found last, or from there on.
  case violated
  /// More states need more memory than is allowed, or they are more than 2³² − 1.
  case memoryLimit
  /// The states of the last level allowed were looked at, but not their successors.
  case depthLimit
  /// The caller wanted no more.
  case stopped
}

/// How far an exploration went.
public struct ExplorationCounts: Hashable, Sendable {
  /// Initial states, and every successor of every state that was expanded: also those that were
  /// seen before, and those equal to the state itself. TLC counts so.
  public var generated: Int64 = 0
  /// Different states that were found.
  public var distinct: Int64 = 0
  /// Levels reached, that of the initial states being the first: the states on the longest of all
  /// shortest ways to a state. TLC counts so.
  public var depth: Int64 = 0
  /// States that were found, and whose successors are not yet all looked at.
  public var waiting: Int64 = 0

  @inlinable
  public init() {}
}

/// What the caller is told now and then.
public struct ExplorationProgress: Hashable, Sendable {
  public var counts: ExplorationCounts
  /// The most memory that was taken, in bytes.
  public var memory: UInt64
  /// Whether something was found that does not hold, and the way to it is being retraced: the
  /// counts have begun anew.
  public var isSecondRun: Bool

  @inlinable
  init(counts: ExplorationCounts, memory: UInt64, isSecondRun: Bool) {
    self.counts = counts
    self.memory = memory
    self.isSecondRun = isSecondRun
  }
}

/// What came of an exploration.
public struct Exploration<Model: ExplorableModel> {
  public var ending: ExplorationEnding
  public var counts: ExplorationCounts
  /// The most memory that it took, in bytes: of the explorer's tables.
  public var memory: UInt64
  /// A shortest way to what does not hold; `nil` if everything does, or if the caller stopped the
  /// second run.
  public var counterexample: Counterexample<Model>?
  /// All that steps reached (``ExplorableModel/coverage(of:)``).
  public var coverage: UInt64

  @inlinable
  init(
    ending: ExplorationEnding, counts: ExplorationCounts, memory: UInt64, coverage: UInt64,
    counterexample: Counterexample<Model>?
  ) {
    self.ending = ending
    self.counts = counts
    self.memory = memory
    self.coverage = coverage
    self.counterexample = counterexample
  }
}

/// A shortest way from an initial state to one in which something does not hold, or from which,
/// though nothing goes wrong any more, what must come in the end never comes.
public struct Counterexample<Model: ExplorableModel> {
  public var model: Model
  /// What does not hold in the last state.
  public var violation: String
  /// All the states on the way; at least one.
  public var states: [Model.State]
  /// What led from each to the next: one less than there are states.
  public var steps: [Model.Step]
  /// How many of the states come before only calm steps are taken; all of them, if it is a state
  /// that something does not hold in.
  public var statesBeforeCalm: Int

  @inlinable
  init(_ model: Model, _ states: [Model.State], calm: [Model.State], _ violation: String) {
    self.model = model
    self.violation = violation
    self.states = states + calm
    statesBeforeCalm = states.count
    steps = []
    for index in self.states.indices.dropFirst() {
      var led: Model.Step?
      let state = self.states[index - 1]
      let wanted = self.states[index]
      let look = { (step: Model.Step, next: Model.State) in
        if led == nil, next == wanted { led = step }
      }
      if index < statesBeforeCalm {
        model.forEachSuccessor(of: state, look)
      } else {
        model.forEachCalmSuccessor(of: state, look)
      }
      guard let led else {
        preconditionFailure("a model must give the same successors each time it is asked")
      }
      steps.append(led)
    }
  }

  /// The story: the first state, each step with the state it leads to, and what does not hold.
  public var lines: [String] {
    var lines: [String] = []
    for (index, state) in states.enumerated() {
      if index == statesBeforeCalm { lines.append("From here on nothing goes wrong.") }
      if index > 0 { lines.append("\(index). \(model.description(ofStep: steps[index - 1]))") }
      lines.append("     \(model.description(of: state))")
    }
    lines.append("Does not hold: \(violation)")
    return lines
  }
}
