import Testing

@testable import Simulator

/// The tests that an app whose users change things would write. The board stands in for the app,
/// and the documentation's article quotes them.
@Suite struct BoardTests {
  // Article example begins: boardTest
  @Test func `every change is made once, or its user hears why not`() async {
    let runs = await Simulation<BoardApp>.run(seeds: 1...300, clients: 3)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }
  // Article example ends

  @Test func `so it is where everything goes wrong in every seed`() async {
    let runs = await Simulation<BoardApp>.run(seeds: 1...30, clients: 4, isSwarm: false)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }

  @Test func `so it is with a real driver`() async {
    let runs = await Simulation<BoardApp>.run(seeds: 1...20, clients: 3, engine: .actor)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }

  /// A change made while stopped was written at the next start, and dated then. So a state looked
  /// an hour younger than it was.
  @Test func `what is made while stopped is as old as it is`() async {
    let runs = await Simulation<BoardApp>.run(
      seeds: 2249...2249, clients: 3, engine: .actor, shrinking: 0)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }

  @Test func `users make changes, some of them are refused, and most faults strike`() async {
    let statistics = await Simulation<BoardApp>.run(seeds: 1...100, clients: 3).statistics
    #expect(statistics.changes.made > 1000)
    #expect(statistics.changes.refused > 100)
    // These need a model that refuses something, holds a part, or is never changed; or changes that
    // can be undone; or a server that names its clients.
    let others = [
      "refused-snapshot", "refused-event", "old-backup", "silent-change", "old-cache",
      "unloaded-rows", "undo", "forgotten-name",
    ]
    #expect(statistics.missingFaults == others)
  }

  @Test(arguments: Plant.all)
  func `a server that breaks its contract would be noticed`(plant: Plant) async {
    let runs = await Simulation<BoardApp>.run(seeds: 1...200, plant: plant, shrinking: 0)
    #expect(runs.failure != nil)
  }

  // MARK: An own protocol

  /// Its server does not count: a second copy does no harm there.
  @Test(arguments: SimulationEngine.allCases)
  func `an own protocol with pushes runs in a world`(engine: SimulationEngine) async {
    let runs = await Simulation<TickApp>.run(
      seeds: 1...(engine == .value ? 80 : 30), clients: 3, engine: engine)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
    #expect(runs.statistics.changes.made > 500)
  }

  // Article example begins: laws
  @Test func `our feed breaks no law`() {
    let laws = ProtocolLaws<OwnFeed<Int>>(
      entries: 8, place: { OwnFeed.Place(log: 1, number: Int64($0)) },
      batch: { entries in
        OwnFeed.Answer(
          log: 1, after: Int64(entries.lowerBound), through: Int64(entries.upperBound),
          hasMore: false, events: entries.map { (Int64($0) + 1, $0) })
      })
    #expect(laws.objection(inOtherLog: OwnFeed.Place(log: 2, number: 0)) == nil)
  }
  // Article example ends

  // Article example begins: feedTest
  @Test func `every change is made once over our own feed, too`() async {
    let runs = await Simulation<FeedBoardApp>.run(seeds: 1...300, clients: 3)
    #expect(runs.failure == nil, "\(runs.failure?.story ?? "")")
  }
  // Article example ends

  // MARK: Mistakes

  /// A mistake, the oracle that objects, and words that it says.
  struct Found: Sendable, CustomTestStringConvertible {
    var app: any SimulatedOfflineApp.Type
    var oracle: Oracle
    var words: String

    var testDescription: String { "\(app)" }
  }

  static let mistakes = [
    Found(
      app: MistakenBoardApp<ForgetsTheLimit>.self, oracle: .app,
      words: "3 cards are in the column that has room for two"),
    Found(
      app: MistakenBoardApp<AddsAgain>.self, oracle: .input,
      words: "the client comes to 1:open 1:open"),
    Found(
      app: MistakenBoardApp<ServerToggles>.self, oracle: .input,
      words: "client and server make the same of #"),
    Found(
      app: MistakenBoardApp<ForgetsMutationIDs>.self, oracle: .input,
      words: "the changes of client 1 are confirmed as the server has told: through 1"),
    Found(
      app: MistakenBoardApp<TakesOthersConfirmation>.self, oracle: .input,
      words: "are confirmed as the server has told: through 0"),
    Found(
      app: MistakenBoardApp<ForgetsRefusals>.self, oracle: .input,
      words: "are confirmed as the server has told: through 3, refused 3 ("),
  ]

  @Test(arguments: mistakes)
  func `a mistake is found, told with what users did, and repeated`(found: Found) async throws {
    try await check(found.app, found)
  }

  private func check<App: SimulatedOfflineApp>(_: App.Type, _ found: Found) async throws {
    let runs = await Simulation<App>.run(seeds: 1...50, clients: 3, shrinking: 600)
    let failure = try #require(runs.failure)
    #expect(failure.finding.oracle == found.oracle)
    #expect(failure.story.contains(found.words), "\(failure.story)")
    let left = try #require(failure.story.split(separator: "\n").first { $0.hasPrefix("Left: ") })
    #expect(left.contains("user actions ") && !left.contains("user actions 0"))
    #expect(["(add", "(move", "(delete"].contains { left.contains($0) }, "\(left)")
    let token = try #require(failure.token)
    #expect(failure.story.contains("try Simulation<\(App.self)>.replay(\"\(token)\")"))
    let again = try #require(try Simulation<App>.replay(token))
    #expect(again.finding == failure.finding)
    #expect(again.trace.lines == failure.trace.lines)
    #expect(try Simulation<MistakenBoardApp<NoMistakeAtAll>>.replay(token) == nil)
  }
}
