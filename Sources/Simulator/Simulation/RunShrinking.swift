/// A failing run made small.
package struct Shrunk: Sendable {
  /// The token that repeats the small run.
  package var token: RunToken
  /// The number of runs that shrinking took.
  package var runs: Int64
  /// The number of choices that were not 0 before shrinking. `choicesLeft` is the number after it.
  package var choicesBefore: Int64
  package var choicesLeft: Int64
}

/// Makes a failing run small. It first lowers clients and steps with faults, because that makes
/// every later run cheaper; then it removes choices. It repeats both, because fewer choices may
/// allow still fewer clients and steps.
struct RunShrinking {
  private var configuration: SimulationConfiguration
  private var shrinker: Shrinker
  private let choicesBefore: Int64
  private let goesOn: (Shrinker) -> Bool
  private let fails: ([Choices.Choice], SimulationConfiguration) -> Bool

  /// - Parameters:
  ///   - record: the choices of a run of this configuration that fails.
  ///   - budget: how many runs may be tried.
  ///   - goesOn: called after every run; `false` stops with the result so far.
  ///   - fails: runs the choices; returns whether that leads to the same failure.
  init(
    _ configuration: SimulationConfiguration, _ record: [Choices.Choice], budget: Int64,
    while goesOn: @escaping (Shrinker) -> Bool,
    fails: @escaping ([Choices.Choice], SimulationConfiguration) -> Bool
  ) {
    self.configuration = configuration
    self.goesOn = goesOn
    self.fails = fails
    shrinker = Shrinker(record, budget: budget)
    choicesBefore = Int64(record.filter { $0.value != 0 }.count)
  }

  mutating func shrunk() -> Shrunk {
    var before: SimulationConfiguration
    repeat {
      before = configuration
      lowerClients()
      lowerSteps()
      let (chosen, fails) = (configuration, fails)
      shrinker.shrink(while: goesOn) { fails($0, chosen) }
    } while configuration != before
    return Shrunk(
      token: RunToken(configuration, shrinker.best), runs: shrinker.runs,
      choicesBefore: choicesBefore, choicesLeft: shrinker.best.choicesLeft)
  }

  /// Finds the fewest clients that still fail.
  private mutating func lowerClients() {
    var clients = 1
    while clients < configuration.clients {
      var fewer = configuration
      fewer.clients = clients
      guard let fails = tries(fewer) else { return }
      if fails { configuration = fewer }
      clients *= 2
    }
  }

  /// Lowers the number of steps with faults, by halving the remaining range.
  private mutating func lowerSteps() {
    var low: Int64 = 1
    while low < configuration.steps {
      var fewer = configuration
      fewer.steps = low + (configuration.steps - low) / 2
      guard let fails = tries(fewer) else { return }
      if fails { configuration = fewer } else { low = fewer.steps + 1 }
    }
  }

  private mutating func tries(_ smaller: SimulationConfiguration) -> Bool? {
    let (record, fails) = (shrinker.best.record, fails)
    return shrinker.tries(while: goesOn) { fails(record, smaller) }
  }
}
