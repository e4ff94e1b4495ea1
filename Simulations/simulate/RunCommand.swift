import Simulator

extension Simulate {
  static let runCommand = Command(
    name: "run",
    summary: "simulate many worlds under faults, each from its seed",
    help: """
      Usage: simulate run [OPTIONS]

      Simulates worlds of clients and a server. One seed determines everything in a world. At first,
      all kinds of faults strike. Then the faults stop, and every client must be up to date again
      within a bound. Checks called oracles run after every step.

        --seeds N       how many seeds (5000)
        --first S       the first seed (1)
        --seed S        this seed only
        --clients N     clients in each world (4)
        --steps N       steps until the faults stop (300)
        --faults LIST   all: each seed draws some faults; none; or names joined by commas: every
                        seed has all of these (all)
        --plant NAME    the server breaks its contract in this way, and an oracle must notice
        --protocol NAME event-queue: Zulip's; client-view: Replicache's, where users make changes;
                        record-sync: WatermelonDB's, where they change records; table-sync: NextApp's,
                        where they change rows of tables; event-stream: Layer's, where they change
                        objects; change-log: the library's own, where they change a list of tasks;
                        etcd: EtcdSync's, where they change keys of a cluster; all: each seed draws
                        one of the others (all)
        --world NAME    a world of event-queue (all):
                          directory  clients hold everything
                          messages   clients hold a part, and fetch pages
                          posts      users post, and the server does not recognise a post sent twice
                          zulip      clients hold accounts of ZulipSync, of the server that serve
                                     runs; no seed draws it
                          all        each seed draws one of the others
        --engine NAME   value: clients without their drivers; actor: real drivers, scheduled by the
                        simulation (value)
        --no-swarm      all faults are on in every seed
        --no-liveness   end each run when the faults stop; clients need not become up to date
        --until-failure stop at the first failure
        --seconds N     start no run after N seconds
        --longest-run N
                        a run that takes longer than N seconds has failed: it counts as one that
                        never ends (60; more with more --steps)
        --shrink MS     spend at most so many milliseconds on making a failure smaller (1500);
                        0: do not try
        --jobs N        threads (one for each core)
        --curve         print how likely the failure was after each step; it rises at the cause
        --save FILE     save what the failing client did since its last start, as a scenario
        --picture FILE  save the failed run as a diagram: .svg, .html, .mmd, .json or .txt
        --situations    also print which situations came about, the rare ones first: "a refusal
                        arrives while the retry of its push is out"; slower
        --verbose       also print how often each fault struck
        --json          print one JSON object as the last line
        --list-faults, --list-plants
                        print their names, one a line

      If runs fail, it prints the one with the fewest steps, made as small as possible, and the
      command that repeats it.

      Exit codes:
        0    no run failed
        1    a run failed
        2    bad usage
        130  interrupted; the results so far are printed
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: RunOptions.names,
        flags: RunOptions.ways
          + [
            "--curve", "--json", "--until-failure", "--list-faults", "--list-plants",
            "--situations",
            "--verbose",
          ])
      if arguments.has("--list-faults") {
        for fault in Fault.allCases { console.out(fault.name) }
        return .success
      }
      if arguments.has("--list-plants") {
        for plant in Plant.known { console.out(plant.name) }
        return .success
      }
      return try run(try RunOptions(arguments), .usual, console)
    })

  static func run(
    _ options: RunOptions, _ detail: Detail = .usual, _ console: Console
  ) throws(FileError) -> ExitCode {
    let runner = Runner(
      configuration: options.configuration, engine: options.engine, first: options.first,
      seeds: options.seeds,
      jobs: options.jobs, untilFailure: options.untilFailure, budget: options.budget,
      longest: options.longest, world: options.world, spoken: options.spoken)
    let outcome = runner.run(console)
    var report = RunReport(options: options, outcome: outcome)
    console.out(detail == .brief ? report.summary : report.table)
    if options.situations { console.out(SituationReport(outcome.statistics).table) }
    if let failure = report.firstWord { console.out(failure) }
    let shrunk = report.shrunk(while: goesOn(for: options.shrinking, console))
    if let story = report.story(shrunk) { console.out(story) }
    console.progress(nil)
    try options.failure.tell(shrunk?.token, console)
    if outcome.wasInterrupted { console.out("Interrupted. These are the results so far.") }
    if options.json { console.out(report.json) }
    if outcome.wasInterrupted { return .interrupted }
    return outcome.statistics.failures == 0 ? .success : .failure
  }

  /// Returns a function that says whether shrinking goes on: until `time` has passed or Ctrl-C is
  /// pressed. It also shows the progress.
  private static func goesOn(for time: Duration, _ console: Console) -> (Shrinker) -> Bool {
    let clock = ContinuousClock()
    let start = clock.now
    return { shrinker in
      if shrinker.runs % 200 == 0 {
        console.progress(
          "run: shrinking the failure, \(shrinker.runs) runs, \(shrinker.best.choicesLeft) choices")
      }
      return !Interrupt.wasAsked && start.duration(to: clock.now) < time
    }
  }
}
