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
    exploreCommand, zooCommand,
  ]

  static func run(_ words: [String], console: Console) -> ExitCode {
    Interrupt.watch()
    var name: String?
    do {
      guard let first = words.first else { return try runAll(console) }
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

  /// `simulate` alone: the main job. Everything that ships with the project is tried, whatever the
  /// part before it said; the exit code is the first that is not 0.
  static func runAll(_ console: Console) throws -> ExitCode {
    var first = ExitCode.success
    for (index, command) in [runCommand, checkCommand, conformCommand].enumerated() {
      if index > 0 { console.out("") }
      let code = try command.run([], console)
      if code == .interrupted { return code }
      if first == .success { first = code }
    }
    return first
  }

  static var help: String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { command in
      "  " + command.name.padding(toLength: width + 2, withPad: " ", startingAt: 0)
        + command.summary
    }
    return """
      Keeps clients level with a server, in a simulated world, and checks that they are.

      Usage: swift run -c release simulate [COMMAND] [OPTIONS]

      Without a command: 5,000 seeds, then the recordings and the conversations that ship with
      the project.

      Commands:
      \(lines.joined(separator: "\n"))

      simulate COMMAND --help tells more. Exit codes: 0 all is well, 1 something is wrong,
      2 bad usage or an unreadable file, 130 interrupted.
      """
  }
}
