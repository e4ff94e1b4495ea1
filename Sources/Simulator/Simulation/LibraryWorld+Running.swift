extension LibraryWorld {
  /// As ``Simulation/run(_:)`` in the world that the configuration names.
  package static func run(_ configuration: SimulationConfiguration) -> RunResult {
    switch configuration.world {
    case .directory: Simulation<Chat>.run(configuration)
    case .messages: Simulation<Mail>.run(configuration)
    case .ledger: Simulation<Ledger>.run(configuration)
    case .posts: Simulation<Posts>.run(configuration)
    }
  }

  /// As ``Simulation/trace(_:)``.
  package static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    switch configuration.world {
    case .directory: Simulation<Chat>.trace(configuration)
    case .messages: Simulation<Mail>.trace(configuration)
    case .ledger: Simulation<Ledger>.trace(configuration)
    case .posts: Simulation<Posts>.trace(configuration)
    }
  }

  /// As ``Simulation/traceReplay(_:)``.
  package static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    switch token.configuration.world {
    case .directory: Simulation<Chat>.traceReplay(token)
    case .messages: Simulation<Mail>.traceReplay(token)
    case .ledger: Simulation<Ledger>.traceReplay(token)
    case .posts: Simulation<Posts>.traceReplay(token)
    }
  }

  /// As ``Simulation/shrunk(_:budget:while:)``.
  package static func shrunk(
    _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
  ) -> Shrunk? {
    switch configuration.world {
    case .directory: Simulation<Chat>.shrunk(configuration, while: goesOn)
    case .messages: Simulation<Mail>.shrunk(configuration, while: goesOn)
    case .ledger: Simulation<Ledger>.shrunk(configuration, while: goesOn)
    case .posts: Simulation<Posts>.shrunk(configuration, while: goesOn)
    }
  }
}
