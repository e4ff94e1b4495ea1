import Foundation
import Simulator
import UpdateMachine

/// What `run` and `trace` are asked to simulate.
struct RunOptions {
  var configuration: SimulationConfiguration
  var engine = Engine.value
  /// `nil`: each seed draws its world, of those of a protocol if one is named.
  var world: LibraryWorld?
  var spoken: LibraryWorld.SpokenProtocol?
  var first: UInt64 = 1
  var seeds: UInt64 = 5000
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  var json = false
  var untilFailure = false
  /// After so long no run is begun; `nil`: all of them are.
  var budget: Duration?
  var failure = FailureOptions()
  /// For how long a failing run is made small, at most.
  var shrinking = Duration.milliseconds(1500)
  /// Only bare clients can be run from a list of choices.
  var shrinks: Bool { engine == .value && shrinking > .zero }

  static let names = [
    "--seeds", "--first", "--seed", "--clients", "--steps", "--faults", "--jobs", "--plant",
    "--engine", "--seconds", "--shrink", "--save", "--world", "--protocol",
  ]
  /// Flags that change what happens in a run.
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
      configuration.isSwarm = list == "all"  // Who names a fault means it.
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
        throw UsageError(message: "--seed is one seed; it goes with neither --seeds nor --first")
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
    if let number = try arguments.number("--shrink", in: 0...Int64(1_000_000)) {
      shrinking = .milliseconds(number)
    }
    untilFailure = arguments.has("--until-failure")
    json = arguments.has("--json")
    failure = try FailureOptions(arguments)
    guard shrinks || !failure.isAsked else {
      throw UsageError(
        message: "--curve and --save go with the engine \"value\" only, and not with --shrink 0")
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
      guard spoken != .clientView else {
        throw UsageError(message: "--world goes with the protocol event-queue only")
      }
      spoken = .eventQueue
      let world = LibraryWorld(rawValue: name)
      guard name == "all" || world?.spoken == .eventQueue else {
        throw UsageError(
          message: "unknown world \"\(name)\". There are: directory, messages, posts, all")
      }
      self.world = world
    }
    if spoken == .clientView { world = .ledger }
    try setWorldOfPlant()
  }

  /// A plant is in the world whose server can have it.
  private mutating func setWorldOfPlant() throws(UsageError) {
    switch configuration.plant {
    case .page:
      guard world == nil || world == .messages else {
        throw UsageError(message: "that plant is in the world messages only")
      }
      world = .messages
    case .view:
      guard spoken != .eventQueue else {
        throw UsageError(message: "that plant goes with the protocol client-view only")
      }
      world = .ledger
    case .breach:
      guard world != .ledger else {
        throw UsageError(message: "that plant goes with the protocol event-queue only")
      }
      spoken = .eventQueue
    case .neverAnswersAgain, nil: break
    }
  }

  /// What is simulated in the run of one seed.
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

  /// Whether a plant says already which protocol it is.
  private var isSaidByPlant: Bool {
    switch configuration.plant {
    case .breach, .view: true
    case .page, .neverAnswersAgain, nil: false
    }
  }

  /// The words that repeat a run of one seed.
  func words(forSeed seed: UInt64) -> String {
    var words = "--seed \(seed)"
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
    } else if let spoken = world?.spoken ?? spoken, !isSaidByPlant {
      words += " --protocol \(spoken.rawValue)"
    }
    if engine != .value { words += " --engine \(engine.rawValue)" }
    if let plant = configuration.plant { words += " --plant \(plant.name)" }
    return words
  }
}

extension Simulate {
  static let runCommand = Command(
    name: "run",
    summary: "live many lives under faults, each from its seed",
    help: """
      Usage: simulate run [OPTIONS]

      Runs whole worlds, each from one seed: clients, a server, and everything that can go wrong
      between them. Then the faults stop, and every client must be live and level within a bound.
      Oracles look after every step.

        --seeds N       how many seeds (5000)
        --first S       the first of them (1)
        --seed S        one seed only
        --clients N     devices in each world (4)
        --steps N       steps until the faults stop (300)
        --faults LIST   all (each seed draws some of them), none, or names joined by commas (each
                        seed has all of these)
        --plant NAME    the server breaks its contract: an oracle must notice
        --protocol NAME event-queue: Zulip's; client-view: Replicache's, and users change things;
                        all: each seed draws one (all)
        --world NAME    of event-queue: directory: clients hold everything; messages: they hold a
                        part, and fetch pages; posts: users post, and the server knows no post
                        again; all: each seed draws one (all)
        --engine NAME   value: bare clients; actor: real drivers, on the world's executor (value)
        --no-swarm      all faults are on in every seed
        --no-liveness   a run ends when the faults stop: nobody must become level again
        --until-failure stop at the first run that fails, and make it small
        --seconds N     begin no run after so long
        --shrink MS     make a failing run small for so many milliseconds; 0: leave it (1500)
        --jobs N        threads (one a core)
        --curve         how likely the failure was after each step: where it jumps, the cause is
        --save FILE     the life of the client that failed, as a scenario that can be checked in
        --json          one JSON object on the last line
        --list-faults, --list-plants
                        their names, one a line

      Exit codes: 0 all is well; 1 a run failed: the failing run of fewest steps is told, with the
      command that repeats it; 2 bad usage; 130 interrupted, with what was done so far.
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: RunOptions.names,
        flags: RunOptions.ways
          + ["--curve", "--json", "--until-failure", "--list-faults", "--list-plants"])
      if arguments.has("--list-faults") {
        for fault in Fault.allCases { console.out(fault.name) }
        return .success
      }
      if arguments.has("--list-plants") {
        for plant in Plant.known { console.out(plant.name) }
        return .success
      }
      return try run(try RunOptions(arguments), console)
    })

  static func run(_ options: RunOptions, _ console: Console) throws(FileError) -> ExitCode {
    let runner = Runner(
      configuration: options.configuration, engine: options.engine, first: options.first,
      seeds: options.seeds,
      jobs: options.jobs, untilFailure: options.untilFailure, budget: options.budget,
      world: options.world, spoken: options.spoken)
    let outcome = runner.run(console)
    var report = RunReport(options: options, outcome: outcome)
    console.out(report.table)
    if let failure = report.firstWord { console.out(failure) }
    let shrunk = report.shrunk(while: goesOn(for: options.shrinking, console))
    if let story = report.story(shrunk) { console.out(story) }
    console.progress(nil)
    try options.failure.tell(shrunk?.token, console)
    if outcome.wasInterrupted { console.out("Interrupted: this is what was done so far.") }
    if options.json { console.out(report.json) }
    if outcome.wasInterrupted { return .interrupted }
    return outcome.statistics.failures == 0 ? .success : .failure
  }

  /// Whether a failing run is made smaller still.
  private static func goesOn(for time: Duration, _ console: Console) -> (Shrinker) -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    return { shrinker in
      if shrinker.runs % 200 == 0 {
        console.progress(
          "making it small: \(shrinker.runs) runs, \(shrinker.best.choicesLeft) choices left")
      }
      return !Interrupt.wasAsked && start.duration(to: clock.now) < time
    }
  }

  static let traceCommand = Command(
    name: "trace",
    summary: "show the conversation of one seed, one line an event",
    help: """
      Usage: simulate trace --seed S [--clients N] [--steps N] [--faults LIST] [--plant NAME]
                            [--protocol NAME] [--world NAME] [--engine NAME] [--no-swarm]
                            [--no-liveness]

      Prints one line an event: virtual time, who, what it was told, and what came of it; then the
      hash of the run, which is that of `simulate run --seed S`. In the world messages each list of
      a client is shown when it has changed, over the range of IDs that the line names:

        [==#==..o.--:.]   = known, . unknown, - known formerly, : known in part, # a message where
                          the list is known, o where it is not; [ and ] known to the very ends

        --hash          only the hash

      Exit codes: 0 all is well, 1 an oracle found something, 2 bad usage.
      """,
    run: { words, console in
      let arguments = try Arguments(
        words,
        options: [
          "--seed", "--clients", "--steps", "--faults", "--plant", "--engine", "--world",
          "--protocol",
        ],
        flags: RunOptions.ways + ["--hash"])
      guard arguments.values["--seed"] != nil else {
        throw UsageError(message: "which seed? Try --seed 1")
      }
      let options = try RunOptions(arguments)
      if arguments.has("--hash") {
        let result = options.engine.run(options.configuration(ofSeed: options.first))
        console.out("\(result.hash)")
        return result.finding == nil ? .success : .failure
      }
      let (result, trace) = options.engine.trace(options.configuration(ofSeed: options.first))
      for line in trace.lines { console.out(line) }
      if let finding = result.finding { console.out(RunReport.tell(finding)) }
      console.out("hash \(result.hash)")
      return result.finding == nil ? .success : .failure
    })
}
