import Foundation
import RecordingCheck

/// The command line: finds the command, runs it, and turns what it throws into an exit code.
enum Simulate {
  /// One command.
  struct Command: Sendable {
    var name: String
    /// One line for the list of commands.
    var summary: String
    /// The whole text of `simulate NAME --help`.
    var help: String
    var run: @Sendable ([String], Console) throws -> ExitCode
  }

  static let commands: [Command] = [
    runCommand, traceCommand, replayCommand, checkCommand, conformCommand, scenarioCommand,
    sumCommand, exploreCommand, compareCommand, herdCommand, playgroundCommand, lessonCommand,
    serveCommand, zooCommand,
  ]

  static func run(_ words: [String], console: Console) -> ExitCode {
    Interrupt.watch()
    var name: String?
    do {
      guard let first = words.first else { return try runAll(console) }
      if words == ["--verbose"] { return try runAll(isVerbose: true, console) }
      if ["--help", "-h", "help"].contains(first) {
        console.out(help)
        return .success
      }
      guard let command = commands.first(where: { $0.name == first }) else {
        throw UsageError(message: "unknown command \"\(first)\"")
      }
      name = command.name
      let rest = Array(words.dropFirst())
      if rest.contains("--help") || rest.contains("-h") {
        console.out(command.help)
        return .success
      }
      return try command.run(rest, console)
    } catch let error as UsageError {
      let what = name.map { "simulate \($0)" } ?? "simulate"
      console.error("\(what): \(error.message)")
      console.error("Type: swift run -c release \(what) --help")
      return .usage
    } catch let error as FileError {
      console.error("simulate: \(error.message)")
      return .usage
    } catch let error as RecordingError {
      console.error("simulate: \(error.message)")
      return .usage
    } catch {
      console.error("simulate: \(error)")
      return .usage
    }
  }

  /// Runs `simulate` without a command: the main job. Every part runs, whatever earlier parts have
  /// found. The exit code is the first that is not 0.
  static func runAll(
    worlds plain: RunOptions? = nil, sessions: [String] = shippedSessions,
    orders: Int = Check.defaultOrders, isVerbose: Bool = false, _ console: Console
  ) throws -> ExitCode {
    let detail = isVerbose ? Detail.verbose : .brief
    var options = try plain ?? RunOptions(Arguments([]))
    options.isVerbose = isVerbose
    let parts: [(title: String, run: () throws -> ExitCode)] = [
      ("Simulated worlds (simulate run):", { try run(options, detail, console.indented) }),
      (
        "Recorded sessions with a real server (simulate check):",
        {
          try check(
            sessions, asJSON: false, orders: orders, detail, console.indented)
        }
      ),
      (
        "Recorded conversations with the machine (simulate conform):",
        { try conform([shippedConversations], console.indented) }
      ),
    ]
    var first = ExitCode.success
    for part in parts {
      console.out(part.title)
      let code = try part.run()
      if code == .interrupted { return code }
      if first == .success { first = code }
    }
    console.out("")
    console.out(first == .success ? allIsWell : "Something is wrong. Look for the failures above.")
    return first
  }

  private static let allIsWell = """
    A world passes if all its clients are up to date again after the faults. A departure is what a
    recorded client did wrong on purpose (--verbose lists them); a difference would be our error.
    Next, after swift run -c release:
      simulate trace      print what happens to one client, line by line
      simulate scenario   play conversations that are written as text
      simulate explore    visit every state of a small world
      simulate --help     list all commands
    All is well.
    """

  static var help: String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { command in
      "  " + command.name.padding(toLength: width + 2, withPad: " ", startingAt: 0)
        + command.summary
    }
    return """
      Tests the library: simulates clients and servers, and replays recordings.

      Usage: swift run -c release simulate [--verbose]
             swift run -c release simulate COMMAND [OPTIONS]

      Without a command, it does run, check and conform with all that ships with the project.
      --verbose prints everything that they find, also what is no failure.

      Commands:
      \(lines.joined(separator: "\n"))

      simulate COMMAND --help explains a command and its options.

      Exit codes:
        0    all is well
        1    something is wrong
        2    bad usage, or a file cannot be read
        130  interrupted
      """
  }
}
