import Foundation
import Simulator
import UpdateMachine

extension Simulate {
  static let zooCommand = Command(
    name: "zoo",
    summary: "put known bugs into the sources, and check that they are found",
    help: """
      Usage: simulate zoo [OPTIONS]

      Hunts mutants: small changes of the sources, each of which is a bug that somebody once had. It
      copies the package and builds the copy with all mutants; each process turns one of them on.
      It hunts each mutant with simulate run, until a check fails or the seeds are used up. Then
      simulate explore hunts the survivors, except for those in the driver. A mutant that crashes
      counts as found, and so does a run that never ends. Of a survivor it also says whether its
      world enters the changed code, and whether conform, scenario or check find it.

        --only NAME,…   hunt these mutants only
        --seeds N       runs for each mutant (20000)
        --seconds N     the longest time for each mutant (600); a hunt that it cuts short is marked
        --shrink MS     milliseconds to make each failure smaller (1500); 0: do not try
        --jobs N        mutants at the same time (one for each core)
        --technique T   default
                        no-swarm: all faults in every seed
                        no-liveness: clients need not become up to date after the faults
                        explorer: every state of a small world
        --compare       use all techniques, and print a row for each
        --list          only list the mutants: name, bug, oracles expected, change
        --json          print one JSON object as the last line
        --from FOLDER   where the mutants are (Simulations/Zoo)
        --package-path FOLDER
                        the package, or a folder in it (the working directory)
        --scratch FOLDER
                        where the copy goes (.build/zoo)

      Generated mutants, which nobody chose:
        --generate N    make N mutants, and hunt them instead of the folder's: an operator negates a
                        condition, moves a bound, leaves out a statement, takes a wrong name, swaps
                        two statements … Each is hunted with every world and engine that enters the
                        changed function, with the explorer, with planted servers and with killed
                        processes, and then with recorded conversations. A hundred take an hour of
                        two cores. equivalent.txt beside the folder's mutants names those that are
                        argued to be no bugs
        --known         hunt the folder's, too; one build has all
        --seed S        which are drawn (1); fewer are the first of more
        --in PATH,…     only those in these folders of Sources, such as UpdateMachine/Machine
        --core-seconds N
                        the budget for each in simulation (60); a fixed table makes it a number of
                        seeds, so that the result is the same on any machine
        --unit-tests    ask the library's unit tests about what nothing else finds: a build of ten
                        minutes, and about a minute for each
        --at-least P    exit code 1 if simulation finds less than P percent of those reached
        --list, --json, --jobs, --from, --package-path and --scratch, as above

      Exit codes:
        0    every mutant of the folder was found; of the generated ones, enough
        1    one of the folder survived; or fewer than --at-least were found, or one that is argued
             to be no bug
        2    bad usage, or a mutant does not apply or does not compile
        130  interrupted; the results so far are printed
      """,
    run: { words, console in
      let arguments = try Arguments(words, options: ZooOptions.names, flags: ZooOptions.flags)
      return try zoo(try ZooOptions(arguments), console)
    })

  static func zoo(_ options: ZooOptions, _ console: Console) throws -> ExitCode {
    var package = ScratchPackage(original: options.root, copy: options.scratch)
    package.hasTests = options.asksUnitTests
    let files = try package.read()
    let generation = try options.generated.map { _ in try Generation(files) }
    let mutants = try options.mutants()
    let equivalents = try Equivalents(options.from)
    let numbers = Set(mutants.map { Schemata.number(of: $0.name) })
    let drawn = generation?.drawn(
      options.generated ?? 0, seed: options.seed, in: options.rooms, besides: numbers)
    if let drawn, drawn.isEmpty {
      throw UsageError(
        message: "nothing can be changed in \(options.rooms.joined(separator: ",")). "
          + "--in needs folders of Sources, such as UpdateMachine/Machine")
    }
    let chosen = options.huntsFolder ? try options.chosen(mutants) : []
    if options.listsOnly {
      for mutant in chosen { console.out(listed(mutant)) }
      for mutant in drawn ?? [] { console.out("\(mutant.name)\n\(mutant.difference)\n") }
      return .success
    }
    try requireRelease()
    let copy = try CompiledBugs(drawn ?? [], mutants, equivalents, files, package, console)
    if Interrupt.wasAsked { return .interrupted }
    var code = ExitCode.success
    if options.huntsFolder { code = try huntFolder(chosen, copy, options, console) }
    if code == .interrupted { return code }
    if let drawn, let generation {
      let hunt = Hunt(
        executable: package.executable("simulate").path, technique: .noSwarm,
        budget: options.budget, shrinking: 0, jobs: options.jobs)
      if !options.huntsFolder, let complaint = zooComplaint(hunt) {
        throw FileError(message: complaint)
      }
      let sites = generation.sites.count
      let other = try huntGenerated(drawn, of: sites, copy, options, console)
      if other != .success { code = other }
    }
    return code
  }

  /// Traces are compared with the copy's, which is built in release. There the optimiser leaves out
  /// jobs of real actors.
  private static func requireRelease() throws(UsageError) {
    #if DEBUG
      throw UsageError(message: "built in debug. Type: swift run -c release simulate zoo")
    #endif
  }

  private static func listed(_ mutant: Mutant) -> String {
    "\(mutant.name)  bug \(mutant.bug)  \(mutant.oracles.joined(separator: " "))\n"
      + "  \(mutant.sentence)"
  }

  /// Hunts the mutants of the folder.
  private static func huntFolder(
    _ chosen: [Mutant], _ copy: CompiledBugs, _ options: ZooOptions, _ console: Console
  ) throws -> ExitCode {
    var totals: [ZooTotals] = []
    for technique in options.techniques where !Interrupt.wasAsked {
      let hunt = Hunt(
        executable: copy.package.executable("simulate").path, technique: technique,
        budget: options.budget, shrinking: options.shrinking, jobs: options.jobs)
      if let complaint = zooComplaint(hunt) {
        guard options.techniques.count > 1, technique == .explorer else {
          throw FileError(message: complaint)
        }
        console.out("\(technique.rawValue) is left out: \(complaint)")
        continue
      }
      var catches = hunt.hunt(chosen, console)
      for (index, result) in catches.enumerated() where !result.isFound && !Interrupt.wasAsked {
        console.progress("zoo: asking about \(result.mutant.name), which survived")
        catches[index] = try hunt.questioned(result, copy.bodies, in: copy.package)
      }
      console.progress(nil)
      totals.append(ZooTotals(technique: technique, catches: catches))
    }
    guard let first = totals.first else { return .interrupted }
    console.out(first.table)
    if options.techniques.count > 1 { console.out("\n" + ZooTotals.comparison(totals)) }
    if Interrupt.wasAsked { console.out("Interrupted. These are the results so far.") }
    if options.json {
      console.out(try first.json(compared: options.techniques.count > 1 ? totals : []))
    }
    if Interrupt.wasAsked { return .interrupted }
    return first.survivors.isEmpty ? .success : .failure
  }

  /// Checks that without a mutant the copy finds nothing and has the original's traces. Describes
  /// what is wrong; `nil`: nothing.
  private static func zooComplaint(_ hunt: Hunt) -> String? {
    // By default the explorer is used, too.
    if [.default, .explorer].contains(hunt.technique) {
      let end = hunt.run(0, Technique.explorer.words(budget: hunt.budget, shrinking: 0))
      guard end.succeeded || end.isOverdue else {
        return "simulate explore fails without any mutant:\n\(end.output.prefix(500))"
      }
      if hunt.technique == .explorer { return nil }
    }
    for (engine, seeds) in [(Engine.value, UInt64(200)), (.actor, 50)] {
      let words = ["run", "--json", "--jobs", "1", "--seeds", "\(seeds)", "--engine", "\(engine)"]
      let end = hunt.run(0, words)
      let runner = Runner(
        configuration: SimulationConfiguration(seed: 1), engine: engine, first: 1, seeds: seeds,
        jobs: 1, world: nil)
      let hash = "\(StateDigest(value: runner.run(.silent).statistics.traceHash))"
      guard let answer = RunAnswer(end.output), answer.failures == 0, answer.traceHash == hash
      else {
        return "the copy without any mutant has another trace than this command: "
          + "expected trace hash \(hash) and no failure, found "
          + (RunAnswer(end.output).map { "\($0.traceHash) and \($0.failures) failures" }
            ?? "exit code \(end.code ?? -1)")
          + ". If the sources changed after this command was built, build it anew"
      }
    }
    return nil
  }
}
