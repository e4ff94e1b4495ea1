// Simulation: the room that turns a seed into a result.
//
// Simulation may use: ActorEngine, Choices, Directory, Ledger, Messages, Offline, Posts, Records, Run, Shrinking, Streams, Tables, Tasks, World.

/// Runs an app's world, in the app's tests: `Simulation<MyApp>`. `MyApp` is a ``SimulatedApp``, or
/// if its users change things, a ``SimulatedOfflineApp``.
public enum Simulation<App: Simulatable> {}

extension Simulation where App: SimulatedApp {
  /// Runs one world. The same configuration gives the same result, to the last bit of its hash, in
  /// any process on any platform.
  public static func run(_ configuration: SimulationConfiguration) -> RunResult {
    live(configuration, Choices(seed: configuration.seed), nil).result
  }

  /// As ``run(_:)``, with the whole conversation. Slower.
  public static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    let lived = live(configuration, Choices(seed: configuration.seed), Trace())
    return (lived.result, lived.trace)
  }

  #if !hasFeature(Embedded)
    /// Runs one world with real actors, and counts their jobs.
    ///
    /// - Parameters:
    ///   - configuration: what is simulated.
    ///   - choosesJobs: whether the next of several ready jobs is drawn, and events of the same
    ///     moment may come between jobs; otherwise the oldest job runs. `nil`: only where there are
    ///     faults. Without faults and without that choice, a driver gives the same run as a bare
    ///     client.
    ///   - isTraced: whether the conversation is recorded, too.
    package static func runActors(
      _ configuration: SimulationConfiguration, choosesJobs: Bool? = nil, isTraced: Bool = false
    ) -> (result: RunResult, jobs: Int64, trace: Trace) {
      let lived = live(
        configuration, Choices(seed: configuration.seed), isTraced ? Trace() : nil,
        choosesJobs: choosesJobs ?? (configuration.faults != .none))
      return (lived.result, lived.jobs, lived.trace)
    }
  #endif

  /// Runs from a list of choices instead of a seed.
  package static func replay(
    _ record: [Choices.Choice], _ configuration: SimulationConfiguration
  ) -> RunResult {
    live(configuration, Choices(replaying: record), nil).result
  }

  /// As ``replay(_:_:)``, with the whole conversation.
  package static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    let lived = live(token.configuration, Choices(replaying: token.choices.record), Trace())
    return (lived.result, lived.trace)
  }

  /// Makes a failing run small: the same oracle must object, to the same client or another, with as
  /// few choices as can be found.
  ///
  /// - Parameters:
  ///   - configuration: what is simulated, with the failing run's seed.
  ///   - budget: how many runs may be tried.
  ///   - goesOn: called after every run; `false` stops with the result so far.
  package static func shrunk(
    _ configuration: SimulationConfiguration, budget: Int64 = 20_000,
    while goesOn: @escaping (Shrinker) -> Bool = { _ in true }
  ) -> Shrunk? {
    let record = choices(of: configuration)
    guard let oracle = replay(record, configuration).finding?.oracle else { return nil }
    var shrinking = RunShrinking(configuration, record, budget: budget, while: goesOn) {
      replay($0, $1).finding?.oracle == oracle
    } without: { client, record, configuration in
      let choices = Choices(replaying: record, notingOwners: true)
      return live(configuration, choices, nil).choices.record(without: client)
    }
    return shrinking.shrunk()
  }

  /// The choices that a run draws.
  package static func choices(of configuration: SimulationConfiguration) -> [Choices.Choice] {
    live(configuration, Choices(seed: configuration.seed), nil).choices.record
  }

  // MARK: The one place that runs worlds

  /// A run that has ended.
  struct Life {
    let result: RunResult
    let trace: Trace
    let choices: Choices
    /// How many jobs its actors had.
    var jobs: Int64 = 0
  }

  /// All runs go through here, so that the library's own apps are fast even from a generic caller.
  /// The compiler makes a version for each of them, and the general version dispatches to it. The
  /// general one takes up to three times as long.
  ///
  /// - Parameter choosesJobs: as in ``runActors(_:choosesJobs:isTraced:)``; `nil`: no actors.
  #if !hasFeature(Embedded)  // Embedded Swift makes a version for each app that is run anyway.
    @_specialize(where App == DirectoryApp)
    @_specialize(where App == MessagesApp)
    @_specialize(where App == PostsApp)
    @_specialize(where App == LedgerApp)
    @_specialize(where App == RecordsApp)
    @_specialize(where App == TablesApp)
    @_specialize(where App == StreamsApp)
    @_specialize(where App == OfflineWorld<TasksApp>)
  #endif
  static func live(
    _ configuration: SimulationConfiguration, _ choices: Choices, _ trace: Trace?,
    choosesJobs: Bool? = nil
  ) -> Life {
    var world = World<App>(configuration: configuration, choices: choices, trace: trace)
    #if !hasFeature(Embedded)
      if let choosesJobs {
        let engine = ActorEngine(world: world, choosesJobs: choosesJobs)
        let result = engine.run()
        return Life(
          result: result, trace: engine.world.trace ?? Trace(), choices: engine.world.choices,
          jobs: engine.jobs)
      }
    #endif
    let result = world.run()
    return Life(result: result, trace: world.trace ?? Trace(), choices: world.choices)
  }
}
