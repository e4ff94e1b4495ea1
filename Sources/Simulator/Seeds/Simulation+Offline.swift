#if !hasFeature(Embedded)

  extension Simulation where App: SimulatedOfflineApp {
    /// Runs many worlds in which users change things, one for each seed, and stops at the smallest
    /// failing one. That failure is made small, down to what the users did, and told as a story.
    ///
    /// The arguments are those of a ``SimulatedApp``'s run.
    ///
    /// - Parameters:
    ///   - seeds: each is a world of its own; its tempo, faults and history are drawn from it.
    ///   - clients: how many devices follow the one server; at least 1.
    ///   - steps: after how many steps the faults stop.
    ///   - faults: the faults that may occur.
    ///   - isSwarm: whether each seed draws some of them; otherwise all are on in every seed.
    ///   - plant: how the server breaks its contract; `nil`: it does not.
    ///   - engine: bare clients, or the library's real driver.
    ///   - budget: the most runs to spend on making a failure small; 0: it stays as drawn.
    public static func run(
      seeds: ClosedRange<UInt64>, clients: Int = 4, steps: Int64 = 300, faults: FaultSet = .all,
      isSwarm: Bool = true, plant: Plant? = nil, engine: SimulationEngine = .value,
      shrinking budget: Int64 = 3000
    ) async -> Runs {
      await Simulation<OfflineWorld<App>>.run(
        seeds: seeds, clients: clients, steps: steps, faults: faults, isSwarm: isSwarm,
        plant: plant, engine: engine, shrinking: budget)
    }

    /// Repeats a failure from the token in its story. `nil`: the failure no longer happens.
    ///
    /// A token is valid until the app's `nextChange` or the simulator draws differently.
    public static func replay(_ token: String) throws(RunToken.Malformed) -> RunFailure? {
      try Simulation<OfflineWorld<App>>.replay(token)
    }
  }

#endif
