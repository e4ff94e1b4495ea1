import Foundation
import Simulator
import Testing

@testable import simulate

/// Tests `--curve` and `--save FILE`, after a run that failed and after the replay of a token.
struct FailureOptionsTests {
  /// Runs a test in a folder of its own, which is removed afterwards.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("simulate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  @Test(arguments: Plant.known.filter { ($0.spoken ?? .eventQueue) == .eventQueue })
  func `--save writes a valid scenario and never overwrites a file`(plant: Plant) throws {
    try inFolder { folder in
      let file = "\(folder)/found.scenario"
      let world: LibraryWorld = plant.world ?? .directory
      let run = CommandRun(
        "run --world \(world.rawValue) --seeds 60 --clients 3 --plant \(plant.name) --save \(file)")
      #expect(run.code == .failure)
      #expect(run.errors == [])
      #expect(run.output.contains { $0.hasPrefix("Saved \(file): incarnation 1 of client ") })
      let played = CommandRun("scenario \(file)")
      #expect(played.code == .success)
      #expect(played.output == ["scenario: 1 of 1 are as written"])
      let text = try String(contentsOfFile: file, encoding: .utf8)
      var oracle = plant == .neverAnswersAgain ? Oracle.liveness : .replica
      if plant.world == .messages { oracle = .interval }
      #expect(text.hasPrefix("# Oracle \(oracle.rawValue), client "))
      #expect(text.contains("\n#   expected    ") && text.contains("\n#   found       "))

      let token = try #require(
        text.split(separator: "\n").first { $0.hasPrefix("# simulate replay ") }?.dropFirst(18))
      for typed in ["run --seeds 60 --plant \(plant.name)", "replay \(token)"] {
        let refused = CommandRun("\(typed) --save \(file)")
        #expect(refused.code == .usage)
        #expect(refused.output == [])
        #expect(refused.errors.first?.contains("\(file) exists already") == true)
      }
      let again = CommandRun("replay \(token) --save \(file).2")
      #expect(again.code == .failure)
      #expect(try String(contentsOfFile: "\(file).2", encoding: .utf8) == text)
    }
  }

  @Test func `--curve names the cause, and replay --curve says the same`() throws {
    let run = CommandRun("run --seeds 20 --plant stale-snapshot --curve")
    #expect(run.code == .failure)
    let curve = try #require(run.output.last)
    #expect(curve.hasPrefix("\nHow likely the failure was after each step: of 40 runs "))
    let lines = curve.split(separator: "\n")
    #expect(lines.last?.hasPrefix("▶ Step ") == true)
    #expect(
      lines.contains {
        $0.hasPrefix("▶ ") && $0.contains("the server will break its contract: stale-snapshot")
      })
    let story = try #require(run.output.first { $0.hasPrefix("\nSeed ") })
    let command = try #require(
      story.split(separator: "\n").first { $0.contains(" simulate replay ") })
    let replay = CommandRun("\(command.dropFirst(31)) --curve")
    #expect(replay.code == .failure)
    #expect(replay.output.last == curve)
  }

  @Test func `a run without a failure saves and measures nothing`() throws {
    try inFolder { folder in
      let file = "\(folder)/none.scenario"
      let run = CommandRun("run --seeds 2 --curve --save \(file)")
      #expect(run.code == .success)
      #expect(
        run.output.last
          == "No run failed that can be repeated: nothing to save, to draw or to measure.")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  @Test func `a file that cannot be written gives exit code 2, after the story`() {
    let run = CommandRun("run --seeds 20 --plant stale-snapshot --save /nowhere/at.scenario")
    #expect(run.code == .usage)
    #expect(run.output.contains { $0.hasPrefix("\nSeed ") })
    #expect(run.errors.count == 1)
    #expect(
      run.errors.first?.hasPrefix("simulate: /nowhere/at.scenario: cannot be written") == true)
  }

  @Test(arguments: ["--curve", "--save x.scenario"])
  func `runs of actors cannot be measured or saved`(typed: String) {
    let run = CommandRun("run --engine actor --seeds 1 \(typed)")
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains("--curve, --save and --picture need --engine value") == true)
  }

  @Test(arguments: ["--curve", "--save x.scenario"])
  func `a failure cannot be measured or saved with --shrink 0`(typed: String) {
    let run = CommandRun("run --seeds 1 --shrink 0 \(typed)")
    #expect(run.code == .usage)
    #expect(run.errors.first?.contains("cannot be combined with --shrink 0") == true)
  }

  @Test func `replay's help names its options`() {
    #expect(Simulate.replayCommand.help.contains("--curve"))
    #expect(Simulate.replayCommand.help.contains("--save FILE"))
    #expect(CommandRun("replay AQ --curve=1").code == .usage)
    #expect(CommandRun("replay AQ --save").code == .usage)
  }
}
