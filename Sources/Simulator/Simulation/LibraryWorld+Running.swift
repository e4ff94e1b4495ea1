/// Something to do with the app of one of the library's worlds, whichever it is.
package protocol AppVisitor {
  associatedtype Answer
  func visit<App: SimulatedApp>(_ app: App.Type) -> Answer
}

extension LibraryWorld {
  /// Calls the visitor with the app of this world. No other place lists the apps.
  package func visited<Visitor: AppVisitor>(by visitor: Visitor) -> Visitor.Answer {
    switch self {
    case .directory: visitor.visit(DirectoryApp.self)
    case .messages: visitor.visit(MessagesApp.self)
    case .ledger: visitor.visit(LedgerApp.self)
    case .posts: visitor.visit(PostsApp.self)
    case .records: visitor.visit(RecordsApp.self)
    case .tables: visitor.visit(TablesApp.self)
    case .streams: visitor.visit(StreamsApp.self)
    case .tasks: visitor.visit(OfflineWorld<TasksApp>.self)
    }
  }

  /// As ``Simulation/run(_:)`` in the world that the configuration names.
  package static func run(_ configuration: SimulationConfiguration) -> RunResult {
    configuration.world.visited(by: Run(configuration: configuration))
  }

  private struct Run: AppVisitor {
    let configuration: SimulationConfiguration

    func visit<App: SimulatedApp>(_ app: App.Type) -> RunResult {
      Simulation<App>.run(configuration)
    }
  }

  /// As ``Simulation/trace(_:)``.
  package static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    configuration.world.visited(by: TracedRun(configuration: configuration))
  }

  private struct TracedRun: AppVisitor {
    let configuration: SimulationConfiguration

    func visit<App: SimulatedApp>(_ app: App.Type) -> (RunResult, Trace) {
      Simulation<App>.trace(configuration)
    }
  }

  /// As ``Simulation/traceReplay(_:)``.
  package static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
    token.configuration.world.visited(by: Replay(token: token))
  }

  private struct Replay: AppVisitor {
    let token: RunToken

    func visit<App: SimulatedApp>(_ app: App.Type) -> (RunResult, Trace) {
      Simulation<App>.traceReplay(token)
    }
  }

  /// As ``Simulation/shrunk(_:budget:while:)``.
  package static func shrunk(
    _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
  ) -> Shrunk? {
    configuration.world.visited(by: Shrinking(configuration: configuration, goesOn: goesOn))
  }

  private struct Shrinking: AppVisitor {
    let configuration: SimulationConfiguration
    let goesOn: (Shrinker) -> Bool

    func visit<App: SimulatedApp>(_ app: App.Type) -> Shrunk? {
      Simulation<App>.shrunk(configuration, while: goesOn)
    }
  }
}
