#if !hasFeature(Embedded)

  /// Something to do with the app of one of the library's worlds, whichever it is.
  package protocol AppVisitor {
    associatedtype Answer
    func visit<App: SimulatedApp>(_ app: App.Type) -> Answer
  }

  /// Finds the app of a world. A target that has apps of its own visits those itself.
  package protocol WorldVisits {
    /// Calls the visitor with the app of a world.
    static func visited<Visitor: AppVisitor>(
      _ world: LibraryWorld, by visitor: Visitor
    ) -> Visitor.Answer
  }

  extension LibraryWorld: WorldVisits {
    /// Lists the apps of this target. No other place in it does.
    package static func visited<Visitor: AppVisitor>(
      _ world: LibraryWorld, by visitor: Visitor
    ) -> Visitor.Answer {
      switch world {
      case .directory: visitor.visit(DirectoryApp.self)
      case .messages: visitor.visit(MessagesApp.self)
      case .ledger: visitor.visit(LedgerApp.self)
      case .posts: visitor.visit(PostsApp.self)
      case .records: visitor.visit(RecordsApp.self)
      case .tables: visitor.visit(TablesApp.self)
      case .streams: visitor.visit(StreamsApp.self)
      case .tasks: visitor.visit(OfflineWorld<TasksApp>.self)
      case .zulip: preconditionFailure("the target ZulipWorld has this world's app")
      case .etcd: preconditionFailure("the target EtcdWorld has this world's app")
      }
    }
  }

  extension LibraryWorld {
    /// Calls the visitor with the app of this world.
    package func visited<Visitor: AppVisitor>(by visitor: Visitor) -> Visitor.Answer {
      LibraryWorld.visited(self, by: visitor)
    }
  }

  extension WorldVisits {
    /// As ``Simulation/run(_:)`` in the world that the configuration names.
    package static func run(_ configuration: SimulationConfiguration) -> RunResult {
      visited(configuration.world, by: AppRun(configuration: configuration))
    }

    /// As ``Simulation/trace(_:)``.
    package static func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
      visited(configuration.world, by: AppTrace(configuration: configuration))
    }

    /// As ``Simulation/traceReplay(_:)``.
    package static func traceReplay(_ token: RunToken) -> (RunResult, Trace) {
      visited(token.configuration.world, by: AppReplay(token: token))
    }

    /// As ``Simulation/shrunk(_:budget:while:)``.
    package static func shrunk(
      _ configuration: SimulationConfiguration, while goesOn: @escaping (Shrinker) -> Bool
    ) -> Shrunk? {
      visited(configuration.world, by: AppShrinking(configuration: configuration, goesOn: goesOn))
    }
  }

  private struct AppRun: AppVisitor {
    let configuration: SimulationConfiguration

    func visit<App: SimulatedApp>(_ app: App.Type) -> RunResult {
      Simulation<App>.run(configuration)
    }
  }

  private struct AppTrace: AppVisitor {
    let configuration: SimulationConfiguration

    func visit<App: SimulatedApp>(_ app: App.Type) -> (RunResult, Trace) {
      Simulation<App>.trace(configuration)
    }
  }

  private struct AppReplay: AppVisitor {
    let token: RunToken

    func visit<App: SimulatedApp>(_ app: App.Type) -> (RunResult, Trace) {
      Simulation<App>.traceReplay(token)
    }
  }

  private struct AppShrinking: AppVisitor {
    let configuration: SimulationConfiguration
    let goesOn: (Shrinker) -> Bool

    func visit<App: SimulatedApp>(_ app: App.Type) -> Shrunk? {
      Simulation<App>.shrunk(configuration, while: goesOn)
    }
  }

#endif
