import SyncProtocols
import Testing

@testable import Simulator

/// Tests that a failing run of several clients is made as small as one of a single client.
@Suite struct ClientRemovalTests {
  /// The first failing seeds with three clients, made small.
  private func small<App: SimulatedApp>(
    _: App.Type, _ count: Int, plant: Plant? = nil
  ) -> [(shrunk: Shrunk, result: RunResult)] {
    (UInt64(1)...1000).lazy.compactMap { seed in
      let configuration = SimulationConfiguration(seed: seed, clients: 3, plant: plant)
      return Simulation<App>.shrunk(configuration, budget: 3000)
    }.prefix(count).map { ($0, Simulation<App>.traceReplay($0.token).0) }
  }

  @Test func `clients that a failure does not need are removed, though all draw together`() {
    // Each of these kept all three clients, and 38 to 45 steps, as long as clients were only
    // counted down.
    let runs = small(LedgerApp.self, 3, plant: .view(.skipsAMutation))
    #expect(runs.map(\.shrunk.token.configuration.clients) == [1, 1, 1])
    #expect(runs.allSatisfy { $0.result.steps < 38 && $0.result.finding != nil })
  }

  @Test func `a mistake in an app's model is shown with one of three clients`() {
    // The last of these kept three clients.
    let runs = small(MistakenApp<KeepsDeleted>.self, 5)
    #expect(runs.map(\.shrunk.token.configuration.clients) == [1, 1, 1, 1, 1])
  }

  @Test func `a record without a client has the others' draws, in their order`() {
    var drawing = Choices(seed: 1)
    for _ in 0..<12 { _ = drawing.draw(.network, below: 1000) }
    var choices = Choices(replaying: drawing.record, notingOwners: true)
    for index in 0..<12 {
      choices.owner = index % 4 == 3 ? nil : index % 4
      _ = choices.draw(.network, below: 1000)
    }
    #expect(choices.record == drawing.record, "owners change no draw")
    let without = choices.record(without: 1)
    #expect(without == drawing.record.enumerated().filter { $0.offset % 4 != 1 }.map(\.element))
    #expect(choices.record(without: 7) == choices.record)
  }

  @Test func `a world notes for whom it draws`() {
    let configuration = SimulationConfiguration(seed: 1, clients: 3)
    let record = Simulation<LedgerApp>.choices(of: configuration)
    let choices = Simulation<LedgerApp>.live(
      configuration, Choices(replaying: record, notingOwners: true), nil
    ).choices
    #expect(choices.record == record)
    let counts = (0..<3).map { record.count - choices.record(without: $0).count }
    #expect(counts.allSatisfy { $0 > 100 })
    #expect(counts.reduce(0, +) < record.count, "the world draws, too")
  }
}
