/// A shortest path from an initial state to a violation: a state in which something does not hold,
/// or from which a goal is never reached although no more faults occur.
public struct Counterexample<Model: ExplorableModel> {
  @usableFromInline package var model: Model
  /// The violation in the last state.
  public var violation: String
  /// All states on the path; at least one.
  public var states: [Model.State]
  /// The steps between them: one fewer than states.
  public var steps: [Model.Step]
  /// How many states come before only calm steps are taken; all of them if something does not hold
  /// in the last state.
  @usableFromInline package var statesBeforeCalm: Int

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

  /// The first state, each step with its result, and the violation.
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
