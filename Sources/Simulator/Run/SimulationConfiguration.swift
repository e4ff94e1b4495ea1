// Run: the room of a run's settings and its result: faults and plants, the app, the server and the
// users of a world, the conversation.
//
// Run may use: Choices, Disk, Pictures, Shrinking, Situations.

/// The settings of one run.
public struct SimulationConfiguration: Hashable, Sendable {
  /// The seed of every draw.
  public var seed: UInt64
  /// The library's own world; an app's tests choose by type.
  package var world = LibraryWorld.directory
  /// The number of devices that follow the one server; at least 1.
  public var clients: Int
  /// The step after which the faults stop.
  public var steps: Int64
  /// The faults that may occur.
  public var faults: FaultSet
  /// Whether each seed draws some of the faults; otherwise all of them are on in every seed.
  public var isSwarm: Bool
  /// How the server breaks its contract; `nil`: it does not.
  public var plant: Plant?
  /// Whether all clients must become up to date after the faults stop; otherwise the run ends
  /// there.
  public var judgesLiveness: Bool
  /// Whether situations are counted. It changes nothing else.
  package var countsSituations = false

  /// Creates settings. The defaults are four clients, 300 steps, and in each seed some of all
  /// faults.
  ///
  /// - Precondition: `clients` is at least 1.
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
