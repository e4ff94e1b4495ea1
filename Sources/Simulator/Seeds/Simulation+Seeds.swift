// Seeds: the room that runs many seeds for an app's tests, and describes the first that fails.
//
// Seeds may use: Offline, Reports, Run, Shrinking, Simulation.

#if !hasFeature(Embedded)

  extension Simulation where App: SimulatedApp {
    /// Runs many worlds, one for each seed, on as many cores as the program is given.
    ///
    /// The run stops at the smallest failing seed. That failure is made small and told as a story.
    /// The result depends on the arguments alone, not on the number of cores. The first seed and
    /// every 64th after it are run twice, and both runs must be equal. If the calling task is
    /// cancelled, the results so far are returned. If the app's code traps, the seed and how to
    /// repeat it are written to standard error before the process ends.
    ///
    /// - Parameters:
    ///   - seeds: each is a world of its own; its tempo, faults and history are drawn from it.
    ///   - clients: how many devices follow the one server; at least 1.
    ///   - steps: after how many steps the faults stop.
    ///   - faults: the faults that may occur.
    ///   - isSwarm: whether each seed draws some of them; otherwise all are on in every seed.
    ///   - plant: how the server breaks its contract; `nil`: it does not. With a plant, a run
    ///     *must* fail: tests use it to show that a bad server would be noticed.
    ///   - engine: bare clients, or the library's real driver.
    ///   - budget: the most runs to spend on making a failure small; 0: it stays as drawn.
    public static func run(
      seeds: ClosedRange<UInt64>, clients: Int = 4, steps: Int64 = 300, faults: FaultSet = .all,
      isSwarm: Bool = true, plant: Plant? = nil, engine: SimulationEngine = .value,
      shrinking budget: Int64 = 3000
    ) async -> Runs {
      let configuration = SimulationConfiguration(
        seed: seeds.lowerBound, clients: clients, steps: steps, faults: faults, isSwarm: isSwarm,
        plant: plant)
      TrapNotice.begin()
      defer { TrapNotice.end() }
      let (statistics, failing) = await statistics(of: seeds, configuration, engine)
      return Runs(
        statistics: statistics,
        failure: failing.map { failing in
          // Small runs are unusual ones, which may trap where the failing one did not.
          TrapNotice.noting(repeating(configuration)) { note in
            note(failing.seed)
            return tell(failing, configuration, engine, budget)
          }
        })
    }

    /// The app that a test names.
    private static var appName: String {
      (App.self as? any NamedWorld.Type)?.name ?? "\(App.self)"
    }

    /// What follows the seed in the notice of a trap.
    private static func repeating(_ configuration: SimulationConfiguration) -> String {
      " of \(appName), with \(configuration.clients) clients. To repeat it, run the same test with "
        + "that seed alone.\n"
    }

    /// Repeats a failure from the token in its story. `nil`: the failure no longer happens.
    ///
    /// A token is valid until the app's `nextEvent` or the simulator draws differently. So also
    /// write a test of its own for what it showed.
    public static func replay(_ token: String) throws(RunToken.Malformed) -> RunFailure? {
      failure(try RunToken(token))
    }

    // MARK: The first failure

    /// Seeds per task: enough to make the cost of starting a task negligible.
    private static var portion: UInt64 { 16 }
    /// The most concurrent tasks: enough for any machine, and few to stop when one of them fails.
    private static var tasksMaximum: UInt64 { 64 }

    /// The results of some neighbouring seeds, up to the first that fails.
    private struct Portion: Sendable {
      var number: UInt64
      var statistics = RunStatistics()
      var failing: RunResult?
    }

    /// Runs portions concurrently; they end in any order but are added in seed order. Nothing after
    /// the first failing seed is ever counted.
    private static func statistics(
      of seeds: ClosedRange<UInt64>, _ configuration: SimulationConfiguration,
      _ engine: SimulationEngine
    ) async -> (RunStatistics, RunResult?) {
      let last = (seeds.upperBound - seeds.lowerBound) / portion
      return await withTaskGroup(of: Portion.self) { group in
        var statistics = RunStatistics()
        var ended: [UInt64: Portion] = [:]
        var next: UInt64 = 0
        for number in 0...min(last, tasksMaximum - 1) {
          group.addTask { run(number, of: seeds, configuration, engine) }
        }
        var started = min(last, tasksMaximum - 1)
        while let portion = await group.next() {
          ended[portion.number] = portion
          while let portion = ended.removeValue(forKey: next) {
            statistics.add(portion.statistics)
            if let failing = portion.failing {
              group.cancelAll()
              return (statistics, failing)
            }
            next += 1
          }
          if started < last, !Task.isCancelled {
            started += 1
            let number = started
            group.addTask { run(number, of: seeds, configuration, engine) }
          }
        }
        return (statistics, nil)
      }
    }

    private static func run(
      _ number: UInt64, of seeds: ClosedRange<UInt64>, _ configuration: SimulationConfiguration,
      _ engine: SimulationEngine
    ) -> Portion {
      let first = number * portion
      let end = min(first + (portion - 1), seeds.upperBound - seeds.lowerBound)
      return TrapNotice.noting(repeating(configuration)) { note in
        var outcome = Portion(number: number)
        var configuration = configuration
        for index in first...end where !Task.isCancelled {
          configuration.seed = seeds.lowerBound + index
          note(configuration.seed)
          let result = run(configuration, engine: engine, twice: isRunTwice(index))
          outcome.statistics.add(result)
          if result.finding != nil {
            outcome.failing = result
            return outcome
          }
        }
        return outcome
      }
    }

    /// Describes a failing run. One that does not fail again is not deterministic.
    private static func tell(
      _ failing: RunResult, _ configuration: SimulationConfiguration, _ engine: SimulationEngine,
      _ budget: Int64
    ) -> RunFailure {
      var configuration = configuration
      configuration.seed = failing.seed
      if failing.finding?.oracle != .determinism,
        let failure = retold(failing, configuration, engine, budget)
      {
        return failure
      }
      return twoStories(failing, configuration, engine)
    }

    /// Runs it again, small if possible, with its conversation; `nil`: nothing was found.
    private static func retold(
      _ failing: RunResult, _ configuration: SimulationConfiguration, _ engine: SimulationEngine,
      _ budget: Int64
    ) -> RunFailure? {
      // A run of actors cannot be shrunk; but mostly bare clients fail in the same way.
      if engine == .value || run(configuration).finding?.oracle == failing.finding?.oracle {
        let shrunk = budget > 0 ? shrunk(configuration, budget: budget) : nil
        let token =
          shrunk?.token ?? RunToken(configuration, ChoiceLists(choices(of: configuration)))
        return failure(token, seed: failing.seed, shrunk)
      }
      let (result, trace) = trace(configuration, engine: engine)
      return Story(result, trace).map { story in
        RunFailure(
          seed: failing.seed, story, trace, token: nil,
          repeating: "the same test with seeds: \(failing.seed)...\(failing.seed)")
      }
    }

    private static func failure(
      _ token: RunToken, seed: UInt64? = nil, _ shrunk: Shrunk? = nil
    ) -> RunFailure? {
      let (result, trace) = traceReplay(token)
      let text = token.text
      return Story(result, trace, shrunk: shrunk).map { story in
        RunFailure(
          seed: seed, story, trace, token: text,
          repeating: "try Simulation<\(appName)>.replay(\"\(text)\")")
      }
    }

    /// Describes a seed whose two runs differed. A third run cannot decide between them, but mostly
    /// differs again and so shows where.
    private static func twoStories(
      _ failing: RunResult, _ configuration: SimulationConfiguration, _ engine: SimulationEngine
    ) -> RunFailure {
      var failing = failing
      let (again, one) = trace(configuration, engine: engine)
      if failing.finding?.oracle != .determinism { failing.compare(with: again) }
      let other = trace(configuration, engine: engine).1
      return RunFailure(twoStories: failing, one, other)
    }
  }

#endif
