import Foundation
import UpdateMachine

/// The command line.
enum Soak {
  static let help = """
    Usage: Tests/etcd [OPTIONS]

    Starts real members of etcd on this computer, and eight clients, each a process with all its
    state in an SQLite file. The clients change things throughout, and are killed (SIGKILL) at
    random. Meanwhile members are killed or ended and started again, stopped for longer than an election
    takes, and throw old history away; with three or more, the leader is killed, most or all of them
    are, and one loses its disk and joins anew. In the end each change that was on a client's disk
    must be in the cluster once, after those that its client made before, or its user was told that
    it has no effect; all clients must hold what the cluster holds; and no state may have been shown
    as up to date that was older than is promised. The cluster must name exactly those clients as
    present that live then.

      --members N    how many members (3; 1 to 7, but not 2)
      --minutes N    how long things go wrong (2); the end, at most a minute, comes on top
      --seconds N    the same in seconds
      --seed S       seed of the faults and of the changes (1); the system's scheduling still varies
      --restore      once the whole cluster goes back to a backup: what was confirmed since is lost,
                     nothing else is, and the clients must notice
      --measure      changes nothing of that, and measures instead: changes a second, the time from
                     a commit to another client's observer, memory
      --json         no figures in words; the last line is a JSON object in any case
      --help         this text

    Progress goes to standard error. All processes are ended and all files removed, also when it is
    interrupted.

    Exit code: 0 all is well, 1 something was lost or wrong, 2 bad usage, 3 there is no etcd here,
    130 interrupted, 143 ended.
    """

  struct Options: Sendable {
    var members = 3
    var seconds = 120
    var seed: UInt64 = 1
    var restores = false
    var measures = false
    var json = false
  }

  static func say(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data("soak: \(text)\n".utf8))
  }

  static func run(_ words: [String]) async -> Int32 {
    signal(SIGPIPE, SIG_IGN)  // A killed client reads nothing more.
    if let orders = Child.orders(words) {
      do {
        try await Child.run(orders)
        return 0
      } catch {
        say("client \(orders.client): \(error)")
        return 1
      }
    }
    if words.contains("--help") || words.contains("-h") {
      print(help)
      return 0
    }
    guard let options = parse(words) else { return 2 }
    guard Member.program != nil else {
      print("etcd: not checked, because there is no etcd here (Debian: etcd-server)")
      return 3
    }
    return await perform(options)
  }

  private static func perform(_ options: Options) async -> Int32 {
    let present = PresentProcesses()
    let interrupts = [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)].map { number, code in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: DispatchQueue(label: "interrupt"))
      source.setEventHandler {
        present.endAll()
        _exit(Int32(code))
      }
      source.resume()
      return source
    }
    defer { for interrupt in interrupts { interrupt.cancel() } }
    let limit = (options.seconds + 200) * attempts
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(limit)) {
      say("not over after \(limit) s")
      present.endAll()
      _exit(1)
    }
    defer { present.endAll() }
    if options.measures { return await Measure(options.members, present.renewed()).run() }
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let tally = judged(options, present)
        tell(tally, options)
        continuation.resume(returning: tally.wrong.isEmpty ? 0 : 1)
      }
    }
  }

  /// How often a run is tried whose members of etcd differ in the end.
  private static let attempts = 3

  /// Runs until a cluster's members agree in the end: one whose members do not says nothing of its
  /// clients.
  private static func judged(_ options: Options, _ present: PresentProcesses) -> Tally {
    var options = options
    for _ in 1..<attempts {
      let tally = SoakRun(options, present.renewed()).run()
      guard let disagreement = tally.disagreement else { return tally }
      say("etcd's own members differ: \(disagreement). This says nothing of clients: once more")
      options.seed &+= 1000
    }
    return SoakRun(options, present.renewed()).run()
  }

  private static func tell(_ tally: Tally, _ options: Options) {
    for wrong in tally.wrong.prefix(20) { say("wrong: \(wrong)") }
    if !options.json {
      print(
        "\(tally.kills) members killed, \(tally.pauses) stopped, \(tally.wipes) wiped; "
          + "\(tally.compactions) compactions; \(tally.clientKills) clients killed")
      print(
        "\(tally.changes) changes: \(tally.lost) lost, \(tally.doubled) doubled, "
          + "\(tally.misordered) out of order; \(tally.setAside) set aside")
      print(
        "\(tally.converged) of \(tally.clients) clients equal to the cluster after "
          + "\(tally.secondsToConverge) s; the oldest of \(tally.reads) states shown as up to date "
          + "was \(tally.stalestMilliseconds) ms old")
      print(
        "\(tally.present) of \(tally.clients) clients named as present; half of them were killed, "
          + "and named no more after \(tally.secondsUntilGone) s")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if let data = try? encoder.encode(tally) { print(String(decoding: data, as: UTF8.self)) }
  }

  // MARK: Options

  /// Returns `nil` for bad usage, after a message that says what is wrong.
  static func parse(_ words: [String]) -> Options? {
    var options = Options()
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--json": options.json = true
      case "--restore": options.restores = true
      case "--measure": options.measures = true
      case "--members", "--minutes", "--seconds", "--seed":
        guard let value = rest.popFirst() else { return refuse("\(word) needs a value") }
        guard take(word, value, into: &options) else {
          return refuse("\(word) cannot be \"\(value)\"")
        }
      default: return refuse("there is no option \(word)")
      }
    }
    return options
  }

  private static func refuse(_ text: String) -> Options? {
    say("\(text). Try --help")
    return nil
  }

  private static func take(_ word: String, _ value: String, into options: inout Options) -> Bool {
    if word == "--seed" {
      guard let seed = UInt64(value) else { return false }
      options.seed = seed
      return true
    }
    guard let number = Int(value) else { return false }
    switch word {
    // Of two, neither may fail.
    case "--members" where (1...7).contains(number) && number != 2: options.members = number
    case "--minutes" where (1...1440).contains(number): options.seconds = number * 60
    case "--seconds" where (1...86_400).contains(number): options.seconds = number
    default: return false
    }
    return true
  }
}
