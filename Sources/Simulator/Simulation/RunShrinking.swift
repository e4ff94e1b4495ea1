/// A failing run made small.
public struct Shrunk: Sendable {
  /// What repeats the small run.
  public var token: RunToken
  /// How many runs it took.
  public var runs: Int64
  /// How many choices were not the tamest, before and after.
  public var choicesBefore: Int64
  public var choicesLeft: Int64
}

/// Makes a failing run small: fewer clients and fewer steps of trouble, for that makes every later
/// run cheaper, then fewer choices; again and again, for fewer choices may need still fewer clients
/// and steps.
struct RunShrinking {
  private var configuration: SimulationConfiguration
  private var shrinker: Shrinker
  private let choicesBefore: Int64
  private let goesOn: (Shrinker) -> Bool
  private let fails: ([Choices.Choice], SimulationConfiguration) -> Bool

  /// - Parameters:
  ///   - record: the choices of a run of this configuration that fails.
  ///   - budget: how many runs may be tried.
  ///   - goesOn: asked after every run; `false` stops with what there is.
  ///   - fails: runs something; whether it leads to the same failure.
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

  /// The fewest clients that do.
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

  /// Fewer steps of trouble, by halving what may still be too much.
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
