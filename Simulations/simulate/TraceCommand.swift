import Simulator

extension Simulate {
  static let traceCommand = Command(
    name: "trace",
    summary: "print what happens in one simulated world, line by line",
    help: """
      Usage: simulate trace
             simulate trace --seed S [--clients N] [--steps N] [--faults LIST] [--plant NAME]
                            [--protocol NAME] [--world NAME] [--engine NAME] [--no-swarm]
                            [--no-liveness] [--hash]

      Prints one line for each event: the simulated time, who acts, what happens, and after an
      arrow the client's new state and what it does next. The last line is the hash of the run;
      simulate run --seed S has the same.

      Without options, it shows one short run of one client without faults, which is
      simulate trace \(beginnersWords)

      With --seed, it shows the world of that seed as simulate run creates it, with several clients
      and faults. The options are those of simulate run.

        --hash   print the hash only

      In the world messages, a picture shows each list of a client when the list changes. The line
      names the range of message IDs:

        [==#==..o.--:.]   = known, . unknown, - formerly known, : partly known
                          # a message where the list is known, o where it is not
                          [ and ] the list is known up to its very end

      Exit codes:
        0    nothing is wrong
        1    a check failed
        2    bad usage
      """,
    run: { words, console in
      if words.isEmpty {
        console.out("One client without faults: time, who, what happens → new state: what it does.")
      }
      let arguments = try Arguments(
        words.isEmpty ? beginnersWords.split(separator: " ").map(String.init) : words,
        options: [
          "--seed", "--clients", "--steps", "--faults", "--plant", "--engine", "--world",
          "--protocol",
        ],
        flags: RunOptions.ways + ["--hash"])
      guard arguments.values["--seed"] != nil else {
        throw UsageError(message: "which seed? Try --seed 1")
      }
      let options = try RunOptions(arguments)
      let configuration = options.configuration(ofSeed: options.first)
      if arguments.has("--hash") {
        let result = console.showing("trace: simulating") { options.engine.run(configuration) }
        console.out("\(result.hash)")
        return result.finding == nil ? .success : .failure
      }
      let (result, trace) = console.showing("trace: simulating") {
        options.engine.trace(configuration)
      }
      for line in trace.lines { console.out(line) }
      if let finding = result.finding { console.out(RunReport.tell(finding)) }
      console.out("hash \(result.hash)")
      return result.finding == nil ? .success : .failure
    })

  /// A run that fits on one screen, with few commits and some writes.
  static let beginnersWords = "--seed 8 --world directory --clients 1 --faults none --steps 12"
}
