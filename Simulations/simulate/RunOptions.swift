import Foundation
import Simulator

/// The options of `run` and `trace`: what to simulate.
struct RunOptions {
  var configuration: SimulationConfiguration
  var engine = Engine.value
  /// `nil`: each seed draws its world; if a protocol is named, from that protocol's worlds.
  var world: LibraryWorld?
  var spoken: LibraryWorld.SpokenProtocol?
  var first: UInt64 = 1
  var seeds: UInt64 = 5000
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  var json = false
  var isVerbose = false
  /// Whether the situations that runs bring about are counted.
  var situations = false
  var untilFailure = false
  /// No run begins after this time; `nil`: there is no limit.
  var budget: Duration?
  /// How long one run may take.
  var longest = Duration.seconds(60)
  var failure = FailureOptions()
  /// The longest time for shrinking a failing run.
  var shrinking = Duration.milliseconds(1500)
  /// Whether failures are shrunk. Only bare clients can be run from a list of choices.
  var shrinks: Bool { engine == .value && shrinking > .zero }

  static let names =
    [
      "--seeds", "--first", "--seed", "--clients", "--steps", "--faults", "--jobs", "--plant",
      "--engine", "--seconds", "--longest-run", "--shrink", "--world", "--protocol",
    ] + FailureOptions.names
  /// The flags that change what happens in a run.
  static let ways = ["--no-swarm", "--no-liveness"]

  init(_ arguments: Arguments) throws(UsageError) {
    configuration = SimulationConfiguration(seed: 1)
    if let clients = try arguments.number("--clients", in: 1...1000) {
      configuration.clients = clients
    }
    if let steps = try arguments.number("--steps", in: 1...Int64(1_000_000)) {
      configuration.steps = steps
    }
    if let list = arguments.values["--faults"] {
      configuration.faults = try RunOptions.faults(list)
      configuration.isSwarm = list == "all"  // Named faults are always on.
    }
    if arguments.has("--no-swarm") { configuration.isSwarm = false }
    configuration.judgesLiveness = !arguments.has("--no-liveness")
    if let name = arguments.values["--plant"] {
      guard let plant = Plant(name: name) else {
        let known = Plant.known.map(\.name).joined(separator: ", ")
        throw UsageError(message: "unknown plant \"\(name)\". There are: \(known)")
      }
      configuration.plant = plant
    }
    if let name = arguments.values["--engine"] {
      guard let engine = Engine(rawValue: name) else {
        throw UsageError(message: "unknown engine \"\(name)\". There are: value, actor")
      }
      self.engine = engine
    }
    try setProtocol(arguments.values["--protocol"])
    try setWorld(arguments.values["--world"])
    if let number = try arguments.number("--seed", in: 0...UInt64.max) {
      guard arguments.values["--seeds"] == nil, arguments.values["--first"] == nil else {
        throw UsageError(message: "--seed names one seed. Leave out --seeds and --first")
      }
      first = number
      seeds = 1
    }
    if let number = try arguments.number("--seeds", in: 1...UInt64(1_000_000_000_000)) {
      seeds = number
    }
    if let number = try arguments.number("--first", in: 0...UInt64.max) { first = number }
    if let number = try arguments.number("--jobs", in: 1...1024) { jobs = number }
    if let number = try arguments.number("--seconds", in: 1...Int64(1_000_000)) {
      budget = .seconds(number)
    }
    // A run with more steps takes longer.
    longest = .seconds(60) * Int(max(1, configuration.steps / 300))
    if let number = try arguments.number("--longest-run", in: 1...Int64(1_000_000)) {
      longest = .seconds(number)
    }
    if let number = try arguments.number("--shrink", in: 0...Int64(1_000_000)) {
      shrinking = .milliseconds(number)
    }
    untilFailure = arguments.has("--until-failure")
    situations = arguments.has("--situations")
    configuration.countsSituations = situations
    json = arguments.has("--json")
    isVerbose = arguments.has("--verbose")
    failure = try FailureOptions(arguments)
    guard shrinks || !failure.isAsked else {
      throw UsageError(
        message: "--curve, --save and --picture need --engine value, and cannot be combined with "
          + "--shrink 0")
    }
    configuration.seed = first
  }

  private mutating func setProtocol(_ name: String?) throws(UsageError) {
    guard let name, name != "all" else { return }
    guard let spoken = LibraryWorld.SpokenProtocol(rawValue: name) else {
      let known = LibraryWorld.SpokenProtocol.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError(message: "unknown protocol \"\(name)\". There are: \(known), all")
    }
    self.spoken = spoken
  }

  private mutating func setWorld(_ name: String?) throws(UsageError) {
    if let name {
      guard spoken == nil || spoken == .eventQueue else {
        throw UsageError(message: "--world needs --protocol event-queue")
      }
      spoken = .eventQueue
      let world = LibraryWorld(rawValue: name)
      guard name == "all" || world?.spoken == .eventQueue else {
        throw UsageError(
          message: "unknown world \"\(name)\". There are: directory, messages, posts, zulip, all")
      }
      self.world = world
    }
    let worlds = LibraryWorld.named.filter { $0.spoken == spoken }
    if worlds.count == 1 { self.world = worlds[0] }
    try setWorldOfPlant()
  }

  /// Chooses the world whose server can have the plant.
  private mutating func setWorldOfPlant() throws(UsageError) {
    guard let plant = configuration.plant else { return }
    if let only = plant.world, only.spoken == .eventQueue {
      guard world == nil || world == only else {
        throw UsageError(message: "this plant needs --world \(only.rawValue)")
      }
    } else if let only = plant.spoken {
      guard spoken == nil || spoken == only else {
        throw UsageError(message: "this plant needs --protocol \(only.rawValue)")
      }
    }
    spoken = plant.spoken ?? spoken
    world = plant.world ?? world
  }

  /// The configuration for the run of one seed.
  func configuration(ofSeed seed: UInt64) -> SimulationConfiguration {
    var configuration = configuration
    configuration.seed = seed
    configuration.world = world ?? LibraryWorld.drawn(by: seed, of: spoken)
    return configuration
  }

  private static func faults(_ list: String) throws(UsageError) -> FaultSet {
    if list == "none" { return .none }
    if list == "all" { return .all }
    var set = FaultSet()
    for name in list.split(separator: ",", omittingEmptySubsequences: false) {
      guard let fault = Fault.allCases.first(where: { $0.name == name }) else {
        throw UsageError(
          message: "unknown fault \"\(name)\". There are: none, all, or some of "
            + Fault.allCases.map(\.name).joined(separator: ","))
      }
      set.insert(fault)
    }
    return set
  }

  /// The arguments that repeat the run of one seed.
  func words(forSeed seed: UInt64) -> String {
    ["--seed \(seed)", words].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// The arguments that change what happens in a run, where they are not the default.
  var words: String {
    var words = ""
    let plain = SimulationConfiguration(seed: 1)
    if configuration.clients != plain.clients { words += " --clients \(configuration.clients)" }
    if configuration.steps != plain.steps { words += " --steps \(configuration.steps)" }
    if !configuration.isSwarm, configuration.faults == .all {
      words += " --no-swarm"
    } else if !configuration.isSwarm {
      let names = configuration.faults.list.map(\.name).joined(separator: ",")
      words += " --faults \(names.isEmpty ? "none" : names)"
    }
    if !configuration.judgesLiveness { words += " --no-liveness" }
    if let world, world.spoken == .eventQueue {
      words += " --world \(world.rawValue)"
    } else if let spoken = world?.spoken ?? spoken, configuration.plant?.spoken == nil {
      words += " --protocol \(spoken.rawValue)"
    }
    if engine != .value { words += " --engine \(engine.rawValue)" }
    if let plant = configuration.plant { words += " --plant \(plant.name)" }
    return String(words.dropFirst())
  }
}
