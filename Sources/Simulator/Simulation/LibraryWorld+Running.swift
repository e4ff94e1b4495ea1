extension LibraryWorld {
  /// As ``Simulation/run(_:)`` in the world that the configuration names.
  package static func run(_ configuration: SimulationConfiguration) -> RunResult {
    switch configuration.world {
    case .directory: Simulation<DirectoryApp>.run(configuration)
    case .messages: Simulation<MessagesApp>.run(configuration)
    case .ledger: Simulation<LedgerApp>.run(configuration)
    case .records: Simulation<RecordsApp>.run(configuration)
    case .tables: Simulation<TablesApp>.run(configuration)
    case .streams: Simulation<StreamsApp>.run(configuration)
    case .posts: Simulation<PostsApp>.run(configuration)
    }
  }

  /// As ``Simulation/trace(_:)``.
  package static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    switch configuration.world {
    case .directory: Simulation<DirectoryApp>.trace(configuration)
    case .messages: Simulation<MessagesApp>.trace(configuration)
    case .ledger: Simulation<LedgerApp>.trace(configuration)
    case .records: Simulation<RecordsApp>.trace(configuration)
    case .tables: Simulation<TablesApp>.trace(configuration)
    case .streams: Simulation<StreamsApp>.trace(configuration)
    case .posts: Simulation<PostsApp>.trace(configuration)
    }
  }

  /// As ``Simulation/traceReplay(_:)``.
  package static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    switch token.configuration.world {
    case .directory: Simulation<DirectoryApp>.traceReplay(token)
    case .messages: Simulation<MessagesApp>.traceReplay(token)
    case .ledger: Simulation<LedgerApp>.traceReplay(token)
    case .records: Simulation<RecordsApp>.traceReplay(token)
    case .tables: Simulation<TablesApp>.traceReplay(token)
    case .streams: Simulation<StreamsApp>.traceReplay(token)
    case .posts: Simulation<PostsApp>.traceReplay(token)
    }
  }

  /// As ``Simulation/shrunk(_:budget:while:)``.
  package static func shrunk(
    _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
  ) -> Shrunk? {
    switch configuration.world {
    case .directory: Simulation<DirectoryApp>.shrunk(configuration, while: goesOn)
    case .messages: Simulation<MessagesApp>.shrunk(configuration, while: goesOn)
    case .ledger: Simulation<LedgerApp>.shrunk(configuration, while: goesOn)
    case .records: Simulation<RecordsApp>.shrunk(configuration, while: goesOn)
    case .tables: Simulation<TablesApp>.shrunk(configuration, while: goesOn)
    case .streams: Simulation<StreamsApp>.shrunk(configuration, while: goesOn)
    case .posts: Simulation<PostsApp>.shrunk(configuration, while: goesOn)
    }
  }
}
