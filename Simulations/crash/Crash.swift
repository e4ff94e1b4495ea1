import Foundation
import UpdateMachine

/// The command line.
enum Crash {
  static let help = """
    Usage: crash [OPTIONS]

    Starts a process that follows a server and makes changes at full speed, with all its state in an
    SQLite file, and kills it (SIGKILL) at random moments, round after round. About a third of the
    processes are first frozen (SIGSTOP), as a suspended app is. If a frozen process has its file
    open, a second process must be refused it. About half of the frozen ones go on for a moment
    before they are killed. After each kill the next start must find a state that really existed, at
    least as new as the last durable one, with every stored mutation. The last process is not killed
    and must become up to date, with each mutation at the server once and in order. Power loss is
    not tested.

      --rounds N     how many processes are killed (100)
      --seed S       seed for the moments of the kills (1); the system's scheduling still varies
      --folder DIR   where the file is, and stays; by default a new one, deleted if all is well
      --json         the figures as one JSON object
      --help         this text

    Exit code: 0 all is well, 1 something was lost or wrong, 2 bad usage, 130 interrupted.
    """

  struct Options {
    var rounds = 100
    var seed: UInt64 = 1
    var folder: URL?
    var json = false
  }

  static func run(_ words: [String]) async -> Int32 {
    if words.first == "--child", words.count == 2 {
      do {
        try await Child.run(file: words[1])
        return 0
      } catch {
        complain("child: \(error)")
        return 1
      }
    }
    if words.first == "--second", words.count == 2 { return await Second.run(file: words[1]) }
    if words.contains("--help") {
      print(help)
      return 0
    }
    guard let options = parse(words) else { return 2 }
    return kill(options)
  }

  private static func complain(_ text: String) {
    FileHandle.standardError.write(Data("crash: \(text)\n".utf8))
  }

  /// Returns `nil` for bad usage, after a message that says what is wrong.
  static func parse(_ words: [String]) -> Options? {
    var options = Options()
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--json": options.json = true
      case "--rounds", "--seed", "--folder":
        guard let value = rest.popFirst() else {
          complain("\(word) needs a value. Try --help")
          return nil
        }
        switch word {
        case "--rounds":
          guard let rounds = Int(value), (1...1_000_000).contains(rounds) else {
            complain("--rounds needs a whole number from 1 to 1000000, found \"\(value)\"")
            return nil
          }
          options.rounds = rounds
        case "--seed":
          guard let seed = UInt64(value) else {
            complain("--seed needs a whole number, found \"\(value)\"")
            return nil
          }
          options.seed = seed
        default: options.folder = URL(filePath: value)
        }
      default:
        complain("unknown option \(word). Try --help")
        return nil
      }
    }
    return options
  }

  private static func kill(_ options: Options) -> Int32 {
    signal(SIGPIPE, SIG_IGN)  // A killed child reads nothing more.
    signal(SIGINT) { _ in _exit(130) }
    let clock = SystemClock()
    let begun = clock.now
    let folder =
      options.folder
      ?? FileManager.default.temporaryDirectory.appending(path: "crash-\(UUID().uuidString)")
    let parent = Parent(folder: folder, seed: options.seed)
    var wrong: String?
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for round in 1...options.rounds {
        try parent.round()
        if !options.json, round % 50 == 0 { print("\(round) of \(options.rounds) rounds") }
      }
      try parent.conclude()
      if options.folder == nil { try FileManager.default.removeItem(at: folder) }
    } catch {
      wrong = "\(error)"
    }
    parent.finish(after: Double((clock.now - begun).milliseconds) / 1000)
    tell(parent.tally, options)
    guard let wrong else { return 0 }
    complain("\(wrong). The file is in \(folder.path)")
    return 1
  }

  private static func tell(_ tally: Tally, _ options: Options) {
    if options.json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
      if let data = try? encoder.encode(tally) { print(String(decoding: data, as: UTF8.self)) }
      return
    }
    print(
      "\(tally.rounds) rounds in \(String(format: "%.1f", tally.seconds)) s: "
        + "\(tally.made) mutations made, \(tally.stored) told to be stored, "
        + "\(tally.pushes) pushes, \(tally.pulls) pulls")
    print(
      "frozen first \(tally.frozen), of which \(tally.resumed) went on; "
        + "\(tally.refused) second processes refused")
    print("kills by phase:")
    for phase in Phase.allCases {
      print("  \(tally.kills["\(phase)"] ?? 0)\t\(phase)")
    }
    print(
      "durable progress in \(tally.durableProgress) rounds, nothing found in \(tally.empty), "
        + "lost \(tally.lost), not converged \(tally.notConverged)")
  }
}
