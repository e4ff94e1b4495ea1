// Article example begins: imports
import Foundation
import Simulator
import SyncProtocols
import Testing
import UpdateMachine

// Article example ends

/// The tests that an app would write. The to-do list stands in for the app, and the documentation's
/// article quotes them.
@Suite struct ToDoTests {
  // Article example begins: test
  @Test func `every device ends up with the same list`() async {
    let runs = await Simulation<ToDoApp>.run(seeds: 1...300, clients: 3)
    if let failure = runs.failure {
      Issue.record("\(failure)")
      Attachment.record(failure.trace.text, named: "trace.txt")
    }
  }
  // Article example ends

  // Article example begins: token
  @Test func `completing a thing twice completes it`() throws {
    let failure = try Simulation<ToDoApp>.replay("BAEE______8BAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    #expect(failure == nil)
  }
  // Article example ends

  // Article example begins: actor
  @Test func `every device with a real driver ends up with the same list`() async {
    let runs = await Simulation<ToDoApp>.run(seeds: 1...20, clients: 3, engine: .actor)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }
  // Article example ends

  // Article example begins: plants
  @Test(arguments: Plant.all)
  func `a server that breaks its contract would be noticed`(plant: Plant) async {
    let runs = await Simulation<ToDoApp>.run(seeds: 1...200, plant: plant, shrinking: 0)
    #expect(runs.failure != nil)
  }
  // Article example ends

  /// The process is gone, and with it the story.
  @Test func `a model that traps leaves its seed behind`() async throws {
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = await Simulation<MistakenApp<TrapsAtDeletion>>.run(seeds: 7...7, clients: 2)
    }
    let words = String(decoding: try #require(ended).standardErrorContent, as: UTF8.self)
    #expect(
      words.contains(
        "The process trapped in seed 7 of MistakenApp<TrapsAtDeletion>, with 2 clients. To repeat it, "
          + "run the same test with that seed alone."), "\(words)")
    #expect(words.contains("nothing is ever deleted"), "whoever handled it before still does")
  }

  static let mistaken: [any SimulatedApp.Type] = [
    MistakenApp<TogglesCompleted>.self, MistakenApp<KeepsDeleted>.self,
    MistakenApp<AddsTwice>.self, MistakenApp<ForgetsLabels>.self,
    MistakenApp<RelabelsByTitle>.self,
  ]

  /// The few lines of such a test, for any app.
  private func expectRight<App: SimulatedApp>(_: App.Type, seeds: ClosedRange<UInt64>) async {
    let runs = await Simulation<App>.run(seeds: seeds, clients: 3, shrinking: 500)
    if let failure = runs.failure {
      Issue.record("\(failure)")
      Attachment.record(failure.trace.text, named: "trace.txt")
    }
  }

  @Test(arguments: mistaken)
  func `a mistake in the model fails the test, with its story`(app: any SimulatedApp.Type) async {
    await withKnownIssue {
      await expectRight(app, seeds: 1...50)
    } matching: { issue in
      let story = issue.comments.map(\.rawValue).joined()
      return ["Oracle A replica", "  expected  ", "  difference  ", "server    commit"]
        .allSatisfy { story.contains($0) }
        && story.contains("try Simulation<\(app)>.replay(\"")
        && story.split(separator: "\n").count <= 24
    }
  }

  @Test(arguments: mistaken)
  func `a mistake's token repeats it, and finds nothing in a correct app`(
    app: any SimulatedApp.Type
  ) async throws {
    try await repeats(app)
  }

  private func repeats<App: SimulatedApp>(_: App.Type) async throws {
    let failure = try #require(await Simulation<App>.run(seeds: 1...50, clients: 3).failure)
    let token = try #require(failure.token)
    let again = try #require(try Simulation<App>.replay(token))
    #expect(again.finding == failure.finding)
    #expect(again.trace.lines == failure.trace.lines)
    #expect(again.trace.lines.count < 60, "the run is small enough to read")
    #expect(try Simulation<ToDoApp>.replay(token) == nil)
  }
}
