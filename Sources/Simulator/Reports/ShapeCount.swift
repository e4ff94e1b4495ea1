#if !hasFeature(Embedded)

  internal import SyncProtocols
  internal import UpdateMachine

  /// How many of the machine shapes in a small world are also reached by seeds.
  ///
  /// A shape says what a machine is, but no quantities (`Machine.shape(at:)`). So states of a world
  /// in ticks can be compared with states of a world in real time.
  package struct ShapeCount: Hashable, Sendable {
    /// Shapes in the small world.
    package private(set) var explored = 0
    /// Shapes in the small world that seeds reach, too.
    package private(set) var reached = 0
    /// Shapes that seeds reach and the small world does not have.
    package private(set) var beyond = 0
    /// States of the small world whose shape a seed reaches.
    package private(set) var statesReached: Int64 = 0
    /// States of the small world in which a process runs.
    package private(set) var states: Int64 = 0

    /// Compares a small world with runs. `nil`: it was stopped.
    ///
    /// - Parameters:
    ///   - world: the world whose states are all visited.
    ///   - seeds: the seeds of the runs.
    ///   - goesOn: called while states are visited, and after each run, with the number of runs so
    ///     far; `false` stops.
    package init?(
      of world: SmallWorld, in seeds: ClosedRange<UInt64>, while goesOn: (_ runs: Int) -> Bool
    ) {
      let found = Shapes()
      let explorer = Explorer(ShapedWorld(world: world, found: found))
      guard explorer.run(watch: { _ in goesOn(0) ? .goOn : .stop }).ending != .stopped else {
        return nil
      }
      var lived: [UInt64: Int64] = [:]
      for (index, seed) in seeds.enumerated() {
        ShapeCount.live(seed, &lived)
        guard goesOn(index + 1) else { return nil }
      }
      explored = found.counts.count
      for shape in lived.keys {
        if let count = found.counts[shape] {
          reached += 1
          statesReached += count
        } else {
          beyond += 1
        }
      }
      states = found.counts.values.reduce(0, +)
    }

    /// Counts the shapes of one run: before and after each of a machine's inputs.
    private static func live(_ seed: UInt64, _ lived: inout [UInt64: Int64]) {
      var configuration = SimulationConfiguration(seed: seed)
      configuration.world = LibraryWorld.drawn(by: seed)
      let (_, trace) = LibraryWorld.trace(configuration)
      var machines: [Int: (incarnation: UInt64, machine: Machine<QueueFinger>)] = [:]
      for input in trace.inputs {
        var machine =
          machines[input.client].flatMap { $0.incarnation == input.incarnation ? $0.machine : nil }
          ?? Machine(incarnation: Incarnation(input.incarnation), settings: input.settings)
        lived[machine.shape(at: input.at), default: 0] += 1
        switch input.what {
        case .restored(let finger, let terms, let age):
          machine = Machine(
            restoring: finger, terms: terms, age: age, at: input.at,
            incarnation: Incarnation(input.incarnation),
            settings: input.settings)
        case .input(let told): _ = machine.handle(told, at: input.at)
        }
        lived[machine.shape(at: input.at), default: 0] += 1
        machines[input.client] = (input.incarnation, machine)
      }
    }
  }

  /// Shapes, with the number of states of each.
  private final class Shapes {
    var counts: [UInt64: Int64] = [:]
  }

  /// A small world of one client that records the shapes of its states when they are visited.
  private struct ShapedWorld: ExplorableModel {
    let world: SmallWorld
    let found: Shapes

    var initialStates: [SmallWorld.State] { world.initialStates }

    func forEachSuccessor(
      of state: SmallWorld.State, _ visit: (SmallWorld.Step, SmallWorld.State) -> Void
    ) {
      if let shape = world.shape(of: state) { found.counts[shape, default: 0] += 1 }
      world.forEachSuccessor(of: state, visit)
    }

    func violation(of state: SmallWorld.State) -> String? { world.violation(of: state) }
    func description(of state: SmallWorld.State) -> String { world.description(of: state) }
    func description(ofStep step: SmallWorld.Step) -> String { world.description(ofStep: step) }
  }

#endif
