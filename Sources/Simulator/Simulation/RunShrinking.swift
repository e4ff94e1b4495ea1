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
///
/// All clients draw from the same streams. So a world that just has fewer clients draws something
/// else for each of them, and mostly does not fail. If it does not, one client is removed with all
/// choices that were for it: then the others do what they did. Of 20 runs of a ledger with three
/// clients and a mistake, 12 kept a second client without this, and none with it.
struct RunShrinking {
  private var configuration: SimulationConfiguration
  private var shrinker: Shrinker
  private let choicesBefore: Int64
  private let goesOn: (Shrinker) -> Bool
  private let fails: ([Choices.Choice], SimulationConfiguration) -> Bool
  private let without: (Int, [Choices.Choice], SimulationConfiguration) -> [Choices.Choice]

  /// - Parameters:
  ///   - record: the choices of a run of this configuration that fails.
  ///   - budget: how many runs may be tried.
  ///   - goesOn: called after every run; `false` stops with the result so far.
  ///   - fails: runs the choices; returns whether that leads to the same failure.
  ///   - without: runs the choices; returns those that were not for one client.
  init(
    _ configuration: SimulationConfiguration, _ record: [Choices.Choice], budget: Int64,
    while goesOn: @escaping (Shrinker) -> Bool,
    fails: @escaping ([Choices.Choice], SimulationConfiguration) -> Bool,
    without: @escaping (Int, [Choices.Choice], SimulationConfiguration) -> [Choices.Choice]
  ) {
    self.configuration = configuration
    self.goesOn = goesOn
    self.fails = fails
    self.without = without
    shrinker = Shrinker(record, budget: budget)
    choicesBefore = Int64(record.filter { $0.value != 0 }.count)
  }

  mutating func shrunk() -> Shrunk {
    var before: SimulationConfiguration
    repeat {
      before = configuration
      lowerClients()
      removeClients()
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

  /// Removes clients one by one, the last first, each with the choices that were for it.
  private mutating func removeClients() {
    var client = configuration.clients
    while client > 0, configuration.clients > 1 {
      client -= 1
      var rest: [Choices.Choice] = []
      let (record, whole, without) = (shrinker.best.record, configuration, without)
      let wasRun: Bool? = shrinker.tries(while: goesOn) {
        rest = without(client, record, whole)
        return false
      }
      guard wasRun != nil else { return }
      var fewer = configuration
      fewer.clients -= 1
      let (tried, fails) = (rest, fails)
      guard let fails = shrinker.tries(rest, while: goesOn, { fails(tried, fewer) }) else { return }
      if fails { configuration = fewer }
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
