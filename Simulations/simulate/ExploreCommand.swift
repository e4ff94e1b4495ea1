import Simulator

extension Simulate {
  static let exploreCommand = Command(
    name: "explore",
    summary: "visit every state of a small world, breadth first",
    help: """
      Usage: simulate explore [OPTIONS]

      Visits every reachable state of a small world once. It checks each state, and checks that from
      each state, if nothing more goes wrong, every client becomes up to date. If something is wrong,
      it prints a shortest path to it.

      What to explore:
        --model NAME      event-queue: clients and a server (default)
                          two-phase-commit: Gray and Lamport's TwoPhase, whose number of states
                          is known
        --protocol NAME   event-queue, as above
                          client-view: one client that makes changes by Replicache's protocol,
                          with its outbox and its data layer
        --world NAME      messages: a window on a list, and one page that is on its way while
                          other things happen

      How large it is:
        --clients N       clients in event-queue, 1 to 3 (1); they are interchangeable
        --by-client       closes several clients: visits all that one of them can be, and then all
                          that they come to together when nothing goes wrong any more
        --no-symmetry     states that differ only in the order of the clients are not one
        --queue-length N  events that the server holds for a client, 1 to 3 (1)
        --changes N       changes that the user makes in client-view, 1 to 3 (1), or changes in
                          messages, 0 to 4 (2)
        --refusals N      changes that the server refuses in client-view, 0 to 2 (1)
        --signals         in client-view, the app also stops and goes to the background
        --participants N  resource managers in two-phase-commit, 1 to 15 (3)
        --votes N         votes after which the manager commits (all); with fewer it is wrong
        --depth N         states on the longest path, with the first one (no limit)
        --memory MB       memory that it may use (2048)

      What to print:
        --seeds N         also simulate the seeds 1 to N, as simulate run does, and print how many
                          of event-queue's states they reach; numbers in a state do not count
        --share SECONDS   also walk through the world at random for so long, and print which share of
                          the states the walks came to; then as many steps that prefer what was
                          visited least, and go on from walks that came to something new
        --walks N         the same with N walks: equal numbers give equal figures
        --json            print one JSON object as the last line

      Time is abstract. It passes in ticks: a timer fires at any tick of its range, and an answer
      takes any number of ticks. One client with one event takes seconds. Two clients have more
      than 10^11 states, which no memory holds, so give a --depth, or --by-client.

      --by-client: in each step of several clients, each takes a step of its own, or none. So each is
      what one client alone can be, and a rule that holds of one holds of all. What is checked
      beside is that all come to be up to date together.

      "states generated" counts as TLC does: the initial state, and every successor of every state,
      also if it was visited before; statesPerSecond is of these. bytesPerState is the greatest
      memory used, divided by the number of distinct states.

      States are told apart by 64-bit fingerprints. For two-phase-commit, and for several clients,
      different states have different ones. For others, two of n states may have the same one, and
      what only the second leads to is missed; the probability is at most n² / 2^65: 5 in 100
      million for the 1.3 million states of one client with one event.

      Exit codes:
        0    nothing is wrong
        1    something is wrong
        2    bad usage, or out of memory
        130  interrupted; the results so far are printed
      """,
    run: { words, console in
      let arguments = try Arguments(
        words, options: ExploreOptions.names, flags: ExploreOptions.flags)
      let options = try ExploreOptions(arguments)
      switch options.subject {
      case .eventQueue(let model): return explore(model, options, console)
      case .crowd(let model) where options.byClient:
        return explore(model, clientByClient: options, console)
      case .crowd(let model): return explore(model, options, console) { model.bytes }
      case .clientView(let model): return explore(model, options, console)
      case .messages(let changes):
        return explore(SmallMessages(changes: changes), options, console)
      case .twoPhaseCommit(let model): return explore(model, options, console)
      }
    })

  private static func explore<Model: ExplorableModel>(
    _ model: Model, _ options: ExploreOptions, _ console: Console,
    memoryOfModel: @escaping () -> UInt64 = { 0 }
  ) -> ExitCode {
    let start = ContinuousClock.now
    let exploration = run(model, options, console, since: start, memoryOfModel: memoryOfModel)
    let report = ExploreReport(
      options: options, exploration, seconds: ExploreReport.seconds(ContinuousClock.now - start))
    console.out(report.table)
    for line in report.counterexample { console.out(line) }
    if let count = options.shapes(console) { console.out(ExploreReport.line(of: count, options)) }
    let share = exploration.ending == .closed ? WalkReport(model, options, report, console) : nil
    if exploration.ending != .closed, options.walks != nil || options.share != nil {
      console.out("No walks: the world was not explored to its end.")
    }
    if options.json { console.out(report.json(with: share)) }
    return exitCode(exploration.ending, waiting: exploration.counts.waiting, options, console)
  }

  /// Visits each client of a crowd alone, and then what clients come to together when all is calm.
  private static func explore(
    _ crowd: SmallCrowd, clientByClient options: ExploreOptions, _ console: Console
  ) -> ExitCode {
    let start = ContinuousClock.now
    let alone = run(crowd.alone, options, console, since: start) { crowd.bytes }
    var ending = alone.ending
    var report = ExploreReport(
      options: options, alone, seconds: ExploreReport.seconds(ContinuousClock.now - start))
    if ending == .closed {
      let calm = SmallCalmCrowd(of: crowd)
      var together = run(calm, options, console, since: start) { crowd.bytes }
      let found = ExploreReport.Together(
        clients: calm.recurringCount, crowds: together.counts.distinct)
      together.counts = alone.counts
      together.coverage = alone.coverage
      together.memory = max(alone.memory, together.memory)
      ending = together.ending
      report = ExploreReport(
        options: options, together,
        seconds: ExploreReport.seconds(ContinuousClock.now - start), found)
    }
    console.out(report.table)
    for line in report.counterexample { console.out(line) }
    if options.json { console.out(report.json(with: nil)) }
    return exitCode(ending, waiting: alone.counts.waiting, options, console)
  }

  /// Explores a model, and shows its progress meanwhile.
  private static func run<Model: ExplorableModel>(
    _ model: Model, _ options: ExploreOptions, _ console: Console,
    since start: ContinuousClock.Instant, memoryOfModel: @escaping () -> UInt64
  ) -> Exploration<Model> {
    Interrupt.watch()
    var shown = start
    var explorer = Explorer(
      model, memoryLimit: options.megabytes << 20, depthLimit: options.depth)
    explorer.memoryOfModel = memoryOfModel
    defer { console.progress(nil) }
    return explorer.run { progress in
      if Interrupt.wasAsked { return .stop }
      let now = ContinuousClock.now
      if now - shown >= .milliseconds(500) {
        shown = now
        console.progress(ExploreReport.progressLine(progress, after: now - start))
      }
      return .goOn
    }
  }

  private static func exitCode(
    _ ending: ExplorationEnding, waiting: Int64, _ options: ExploreOptions, _ console: Console
  ) -> ExitCode {
    switch ending {
    case .closed, .depthLimit: return Interrupt.wasAsked ? .interrupted : .success
    case .violated: return .failure
    case .stopped: return .interrupted
    case .memoryLimit:
      console.error(
        "simulate explore: \(options.megabytes) MB are full, and "
          + "\(waiting) states are not visited yet. "
          + "Allow more with --memory, limit the depth with --depth, or choose a smaller world")
      return .usage
    }
  }
}
