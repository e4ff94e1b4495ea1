import Foundation
import RecordingCheck
import Simulator
import UpdateMachine

extension Simulate {
  static let traceCommand = Command(
    name: "trace",
    summary: "show what happens in one simulated world, line by line or as a picture",
    help: """
      Usage: simulate trace [--format NAME] [--output FILE]
             simulate trace --seed S [--clients N] [--steps N] [--faults LIST] [--plant NAME]
                            [--protocol NAME] [--world NAME] [--engine NAME] [--no-swarm]
                            [--no-liveness] [--hash] [--format NAME] [--output FILE]
             simulate trace TOKEN|FILE [--format NAME] [--output FILE]

      Prints one line for each event: the simulated time, who acts, what happens, and after an
      arrow the client's new state and what it does next. Of a seed or a token, the last line is the
      hash of the run; simulate run --seed S has the same.

      Without options, it shows one short run of one client without faults, which is
      simulate trace \(beginnersWords)

      With --seed, it shows the world of that seed as simulate run creates it, with several clients
      and faults. The options are those of simulate run. With the token of a failed run it shows that
      run; with a .scenario file, its clients; with a recording (.jsonl), the requests in it. The
      other options need --seed.

        --format NAME  text; or a space-time diagram: svg; html, with the same as text; mermaid; or
                       json (text)
        --output FILE  write it to FILE, and choose the format by its name: .txt, .svg, .html, .mmd
                       or .json
        --hash         print the hash only

      In the diagram time runs down. Each client and the server has a lane, whose line and shapes show
      the machine's status. An arrow is a message; one that ends in a cross is lost. Bars are the logs
      of the server, with what they retain, and the pending changes of a client.

      In the world messages, a picture shows each list of a client when the list changes. The line
      names the range of message IDs:

        [==#==..o.--:.]   = known, . unknown, - formerly known, : partly known
                          # a message where the list is known, o where it is not
                          [ and ] the list is known up to its very end

      Exit codes:
        0    nothing is wrong
        1    a check failed
        2    bad usage, or a file cannot be read or written
        130  interrupted
      """,
    run: { words, console in
      let arguments = try Arguments(
        words,
        options: [
          "--seed", "--clients", "--steps", "--faults", "--plant", "--engine", "--world",
          "--protocol",
        ] + PictureOptions.names,
        flags: RunOptions.ways + ["--hash"], takesFiles: true)
      let options = try PictureOptions(arguments)
      try requireSeed(for: arguments)
      if !console.isReplaced { Interrupt.endsProcess() }
      let told: Told
      if let target = arguments.files.first {
        guard arguments.files.count == 1 else {
          throw UsageError(message: "show one thing at a time: a seed, a token, or a file")
        }
        told = try show(target, console)
      } else {
        if arguments.has("--hash") { return try hash(ofSeed: arguments, console) }
        told = try showSeed(arguments, options, console)
      }
      if options.format == .text, options.output == nil {
        for line in told.lines { console.out(line) }
      } else if options.format == .text {
        try options.write(told.lines.joined(separator: "\n"), told.title, console)
      } else {
        try options.write(told.picture(), console)
      }
      return told.exitCode
    })

  /// The options of a simulated world need a seed. Without one they would be ignored.
  private static func requireSeed(for arguments: Arguments) throws(UsageError) {
    if arguments.has("--hash"), !PictureOptions.names.allSatisfy({ arguments.values[$0] == nil }) {
      throw UsageError(message: "--hash prints the hash only. Leave out --format and --output")
    }
    guard !arguments.files.isEmpty else { return }
    let ofSeeds =
      arguments.values.keys.filter { !PictureOptions.names.contains($0) } + arguments.flags
    guard let word = ofSeeds.min() else { return }
    throw UsageError(message: "\(word) is not for a token or a file, only for a seed")
  }

  /// A run that fits on one screen, with few commits and some writes.
  static let beginnersWords = "--seed 8 --world directory --clients 1 --faults none --steps 12"

  /// What is shown: as lines and as a picture.
  struct Told {
    var title: String
    var lines: [String]
    var picture: () -> SpaceTime
    var exitCode = ExitCode.success

    /// A file that nothing is said of but what its picture says.
    init(_ picture: SpaceTime) {
      title = picture.title
      self.picture = { picture }
      lines = picture.text.split(separator: "\n").map(String.init)
    }

    /// The run of a token.
    init(token: RunToken) {
      let run = EveryWorld.traceReplay(token)
      let found = run.0.finding.map { "oracle \($0.oracle.rawValue)" } ?? "nothing was found"
      self.init(
        run, title: "\(token.configuration.world.rawValue), a run from its token: \(found)",
        clients: token.configuration.clients)
    }

    init(_ run: (result: RunResult, trace: Trace), title: String, clients: Int) {
      let (result, trace) = run
      self.title = title
      lines = trace.lines
      if let finding = result.finding {
        lines.append(RunReport.tell(finding))
        exitCode = .failure
      }
      lines.append("hash \(result.hash)")
      picture = {
        trace.picture(
          title, clients: clients, finding: result.finding,
          evidence: Story(result, trace).map { $0.lines(atMost: 60) } ?? [])
      }
    }
  }

  private static func hash(
    ofSeed arguments: Arguments, _ console: Console
  ) throws(UsageError) -> ExitCode {
    guard arguments.values["--seed"] != nil else {
      throw UsageError(message: "which seed? Try --seed 1")
    }
    let options = try RunOptions(arguments)
    let configuration = options.configuration(ofSeed: options.first)
    let result = console.showing("trace: simulating") { options.engine.run(configuration) }
    console.out("\(result.hash)")
    return result.finding == nil ? .success : .failure
  }

  private static func showSeed(
    _ arguments: Arguments, _ picture: PictureOptions, _ console: Console
  ) throws(UsageError) -> Told {
    let isPlain =
      arguments.flags.isEmpty && arguments.values.keys.allSatisfy(PictureOptions.names.contains)
    if isPlain, picture.format == .text, picture.output == nil {
      console.out("One client without faults: time, who, what happens → new state: what it does.")
    }
    let options = try RunOptions(
      isPlain
        ? Arguments(
          beginnersWords.split(separator: " ").map(String.init), options: RunOptions.names)
        : arguments)
    guard isPlain || arguments.values["--seed"] != nil else {
      throw UsageError(message: "which seed? Try --seed 1")
    }
    let configuration = options.configuration(ofSeed: options.first)
    let run = console.showing("trace: simulating") { options.engine.trace(configuration) }
    return Told(
      run, title: "simulate trace \(options.words(forSeed: options.first))",
      clients: configuration.clients)
  }

  /// A token, or a file by its name.
  private static func show(_ target: String, _ console: Console) throws -> Told {
    if target.hasSuffix(".scenario") {
      let text = try scenarioText(of: target)
      do throws(ScenarioError) {
        return Told(try Scenario.picture(of: text, title: target))
      } catch {
        throw FileError(
          message: "\(target):\(error.line): expected \(error.expected), found \(error.found)")
      }
    }
    if target.hasSuffix(".jsonl") {
      return Told(try picture(ofRecording: target, console))
    }
    do throws(RunToken.Malformed) {
      let token = try RunToken(target)
      return console.showing("trace: simulating") { Told(token: token) }
    } catch {
      throw UsageError(
        message: "\"\(target)\" is no token of this version, no .scenario file and no recording "
          + "(.jsonl)")
    }
  }

  private static func picture(
    ofRecording file: String, _ console: Console
  ) throws(RecordingError) -> SpaceTime {
    let progress = Progress(console)
    let recording = try Recording(file: file) { done, of in
      progress.show("trace: \(done) of \(of) lines read")
    }
    console.progress(nil)
    let talks = recording.conversation
    var lanes: [String] = []
    for talk in talks where !lanes.contains(talk.client) { lanes.append(talk.client) }
    let server = lanes.count
    var picture = SpaceTime(title: file, lanes: lanes + ["server"])
    for (number, talk) in talks.enumerated() {
      let lane = lanes.firstIndex(of: talk.client) ?? 0
      let key = SpaceTime.Key(.request, lane, UInt64(number))
      picture.mark(talk.sent, lane, talk.asks)
      picture.send(key, from: lane, to: server, talk.asks, at: talk.sent)
      guard talk.isAnswered else {
        picture.lose(key, at: talk.ended)
        picture.mark(talk.ended, lane, "\(talk.asks): \(talk.answer)", .fault)
        continue
      }
      picture.arrive(key, at: talk.sent)
      let answer = SpaceTime.Key(.answer, lane, UInt64(number))
      picture.send(answer, from: server, to: lane, talk.answer, at: talk.ended)
      picture.arrive(answer, at: talk.ended)
      picture.mark(
        talk.ended, lane, "\(talk.asks): \(talk.answer)", talk.isSnapshot ? .seam : .plain)
    }
    return picture
  }
}
