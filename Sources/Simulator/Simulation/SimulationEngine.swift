#if !hasFeature(Embedded)

  /// What runs the clients of a world.
  public enum SimulationEngine: String, CaseIterable, Hashable, Sendable {
    /// Bare clients: the world performs their effects. Fast, and the only engine whose runs can be
    /// shrunk.
    case value
    /// The library's real driver: actors and tasks, on an executor owned by the world.
    case actor
  }

  extension Simulation where App: SimulatedApp {
    /// Runs one world, with either engine.
    ///
    /// - Parameters:
    ///   - configuration: what is simulated.
    ///   - engine: what runs the clients.
    ///   - twice: whether to run it again and compare. A difference is the finding
    ///     (``Oracle/determinism``).
    package static func run(
      _ configuration: SimulationConfiguration, engine: SimulationEngine, twice: Bool = false
    ) -> RunResult {
      var result = trace(configuration, engine: engine, isTraced: false).0
      if twice { result.compare(with: trace(configuration, engine: engine, isTraced: false).0) }
      return result
    }

    /// As ``run(_:engine:twice:)``, once, with the whole conversation.
    package static func trace(
      _ configuration: SimulationConfiguration, engine: SimulationEngine
    ) -> (RunResult, Trace) {
      trace(configuration, engine: engine, isTraced: true)
    }

    /// Whether a seed is run twice: the first, and every 64th after it. That is cheap, and enough
    /// to notice an app that is not a function of its seed.
    ///
    /// - Parameter index: the seed's index, from 0.
    package static func isRunTwice(_ index: UInt64) -> Bool { index % 64 == 0 }

    private static func trace(
      _ configuration: SimulationConfiguration, engine: SimulationEngine, isTraced: Bool
    ) -> (RunResult, Trace) {
      switch engine {
      case .value where isTraced: return trace(configuration)
      case .value: return (run(configuration), Trace())
      case .actor:
        let run = runActors(configuration, isTraced: isTraced)
        return (run.result, run.trace)
      }
    }
  }

#endif
