// Run: the room of what one run is asked and what came of it: its settings, faults and plants,
// the app, the server and the users that a world is made of, the conversation, the result.
//
// Run may use: Choices, Disk, Shrinking.

/// What is simulated.
public struct SimulationConfiguration: Hashable, Sendable {
  /// What everything is drawn from.
  public var seed: UInt64
  /// Which of the library's own worlds; an app's tests say it by its type.
  public var world = LibraryWorld.directory
  /// How many devices follow the one server; at least 1.
  public var clients: Int
  /// After how many steps the faults stop.
  public var steps: Int64
  /// The faults that there may be.
  public var faults: FaultSet
  /// Each seed draws some of them; if not, all of them are on in every seed.
  public var isSwarm: Bool
  /// How the server breaks its contract; `nil`: it does not.
  public var plant: Plant?
  /// After the faults stop, everybody must become level; if not, the run ends there.
  public var judgesLiveness: Bool

  public init(
    seed: UInt64, clients: Int = 4, steps: Int64 = 300, faults: FaultSet = .all,
    isSwarm: Bool = true, plant: Plant? = nil, judgesLiveness: Bool = true
  ) {
    precondition(clients >= 1, "a world needs a client")
    self.seed = seed
    self.clients = clients
    self.steps = steps
    self.faults = faults
    self.isSwarm = isSwarm
    self.plant = plant
    self.judgesLiveness = judgesLiveness
  }
}
