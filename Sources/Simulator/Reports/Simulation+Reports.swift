extension Simulation where App: SimulatedApp {
  /// The probability curve of a failing run, with its conversation; `nil`: nothing was found in it.
  ///
  /// - Parameters:
  ///   - token: the run, best made small (``shrunk(_:budget:while:)``).
  ///   - continuations: how many runs continue from each measured step; at least 1.
  ///   - budget: the most runs.
  ///   - goesOn: called before every measurement; `false` stops with the result so far.
  package static func curve(
    of token: RunToken, continuations: Int64 = 40, budget: Int64 = 1600,
    while goesOn: (ProbabilityCurve) -> Bool = { _ in true }
  ) -> (curve: ProbabilityCurve, trace: Trace, oracle: Oracle)? {
    let lived = live(
      token.configuration, Choices(replaying: token.choices.record), Trace())
    guard let oracle = lived.result.finding?.oracle else { return nil }
    let curve = ProbabilityCurve(
      steps: lived.result.steps, continuations: continuations, budget: budget, while: goesOn
    ) { step, seed in
      let count = Int(lived.trace.choices[Int(step)])
      let other = live(
        token.configuration,
        Choices(replaying: Array(lived.choices.record.prefix(count)), then: seed),
        nil)
      return other.result.finding?.oracle == oracle
    }
    return (curve, lived.trace, oracle)
  }
}
