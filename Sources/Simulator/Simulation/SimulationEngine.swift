#if !hasFeature(Embedded)

  /// What runs the clients of a world.
  public enum SimulationEngine: String, CaseIterable, Hashable, Sendable {
    /// Bare clients: the world performs their effects. Fast, and the one that can be shrunk.
    case value
    /// The library's real driver: actors and tasks, on an executor that belongs to the world.
    case actor
  }

  extension Simulation {
    /// The life of one world, by either engine.
    ///
    /// - Parameters:
    ///   - configuration: what is simulated.
    ///   - engine: what runs the clients.
    ///   - twice: live it once more, and hold the two against each other. If they differ, that is
    ///     the finding (``Oracle/determinism``).
    public static func run(
      _ configuration: SimulationConfiguration, engine: SimulationEngine, twice: Bool = false
    ) -> RunResult {
      var result = trace(configuration, engine: engine, isTraced: false).0
      if twice { result.compare(with: trace(configuration, engine: engine, isTraced: false).0) }
      return result
    }

    /// As ``run(_:engine:twice:)``, once, with the whole conversation.
    public static func trace(
      _ configuration: SimulationConfiguration, engine: SimulationEngine
    ) -> (RunResult, Trace) {
      trace(configuration, engine: engine, isTraced: true)
    }

    /// Which of many seeds are run twice: the first, and every 64th after it. Enough to notice an
    /// app that is not a function of its seed, and cheap.
    ///
    /// - Parameter index: which of the seeds it is, from 0.
    public static func isRunTwice(_ index: UInt64) -> Bool { index % 64 == 0 }

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
