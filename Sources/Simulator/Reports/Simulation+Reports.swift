extension Simulation {
  /// The probability curve of a failing run, with its conversation; `nil`: nothing was found in it.
  ///
  /// - Parameters:
  ///   - token: the run, best made small (``shrunk(_:budget:while:)``).
  ///   - goesOn: asked before every measurement; `false` stops with what there is.
  public static func curve(
    of token: RunToken, continuations: Int64 = 40, budget: Int64 = 1600,
    while goesOn: (ProbabilityCurve) -> Bool = { _ in true }
  ) -> (curve: ProbabilityCurve, trace: Trace, oracle: Oracle)? {
    var world = World<Chat>(
      configuration: token.configuration, choices: Choices(replaying: token.choices.record),
      trace: Trace())
    let result = world.run()
    guard let oracle = result.finding?.oracle, let trace = world.trace else { return nil }
    let record = world.choices.record
    let curve = ProbabilityCurve(
      steps: result.steps, continuations: continuations, budget: budget, while: goesOn
    ) { step, seed in
      let count = Int(trace.choices[Int(step)])
      var other = World<Chat>(
        configuration: token.configuration,
        choices: Choices(replaying: Array(record.prefix(count)), then: seed))
      return other.run().finding?.oracle == oracle
    }
    return (curve, trace, oracle)
  }
}
