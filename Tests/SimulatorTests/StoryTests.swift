import Simulator
import SyncProtocols
import Testing
import UpdateMachine

/// Tests what a story says of a failing run: the finding, the difference, the events that matter,
/// and what is left.
@Suite struct StoryTests {
  /// The first failing run with a plant.
  private func failure(_ plant: Plant) throws -> (RunResult, Trace) {
    for seed in UInt64(1)...200 {
      let configuration = SimulationConfiguration(seed: seed, plant: plant)
      guard Simulation<DirectoryApp>.run(configuration).finding != nil else { continue }
      return Simulation<DirectoryApp>.trace(configuration)
    }
    throw NotFound()
  }

  private struct NotFound: Error {}

  @Test(arguments: Plant.all)
  func `a story fits on a screen, and ends with what to type`(plant: Plant) throws {
    let (result, trace) = try failure(plant)
    let story = try #require(Story(result, trace))
    for count in [8, 12, Story.linesMaximum] {
      let lines = story.lines(atMost: count, repeating: ["Repeat it:", "  so"])
      #expect(lines.count <= count)
      #expect(lines.allSatisfy { $0.count <= 160 && !$0.contains("\n") })
      #expect(lines.suffix(2) == ["Repeat it:", "  so"])
    }
    #expect(story.lines(atMost: 0).count == Story.told(story.finding, story.difference).count + 1)
  }

  @Test func `a run without a failure has no story`() {
    let (result, trace) = Simulation<DirectoryApp>.trace(SimulationConfiguration(seed: 1))
    #expect(Story(result, trace) == nil)
  }

  @Test(arguments: Plant.all)
  func `a story shows what concerns the client, and counts the rest`(plant: Plant) throws {
    let (result, trace) = try failure(plant)
    let story = try #require(Story(result, trace))
    let client = try #require(story.finding.client)
    #expect(story.events.allSatisfy { $0.client == nil || $0.client == client })
    #expect(story.events.count + story.othersCount == trace.events.count)
    #expect(story.othersCount > 0)
    let lines = story.lines(atMost: 1000)
    #expect(lines.contains { $0.contains("\(story.othersCount) lines of other clients left out") })
    #expect(lines.contains { $0.contains("  client \(client)  ") })
    #expect(!lines.contains { $0.contains("  client \(client == 0 ? 1 : 0)  ") })
    #expect(lines.contains { $0.contains("  plant  ") })
  }

  @Test func `a story counts the lines that it leaves out`() throws {
    let (result, trace) = try failure(.breach(.wrongFinger))
    let drawn = try #require(Story(result, trace)).left
    #expect(drawn.hasPrefix("In all: choices \(result.choices), steps \(result.steps), "))
    let configuration = SimulationConfiguration(seed: result.seed, plant: .breach(.wrongFinger))
    let shrunk = try #require(Simulation<DirectoryApp>.shrunk(configuration, budget: 3000))
    let (small, smallTrace) = Simulation<DirectoryApp>.traceReplay(shrunk.token)
    let left = try #require(Story(small, smallTrace, shrunk: shrunk)).left
    #expect(left.hasPrefix("Left: choices \(shrunk.choicesLeft) of \(shrunk.choicesBefore), "))
    #expect(left.contains(", user actions 0, faults 0; made small in \(shrunk.runs) runs"))
  }

  @Test func `user actions and faults are counted, and the faults named`() throws {
    var faults = FaultSet.none
    for fault in [Fault.background, .networkChanges] { faults.insert(fault) }
    let configuration = SimulationConfiguration(
      seed: 3, faults: faults, isSwarm: false, plant: .neverAnswersAgain)
    let (result, trace) = Simulation<DirectoryApp>.trace(configuration)
    let signals = ["backgrounded →", "foregrounded →", "networkChanged →"]
    let count = trace.events.filter { event in signals.contains { event.what.hasPrefix($0) } }.count
    #expect(count > 2)
    #expect(result.userActions == Int64(count))
    let left = try #require(Story(result, trace)).left
    #expect(left.contains("user actions \(count), faults "))
    #expect(left.contains("background \(result.faults[.background]), network-changes "))
  }

  @Test func `a user's changes and decisions are counted, and told by name`() throws {
    var faults = FaultSet.none
    for fault in [Fault.background, .lostAnswer] { faults.insert(fault) }
    let configuration = SimulationConfiguration(
      seed: 3, faults: faults, isSwarm: false, plant: .neverAnswersAgain)
    let (result, trace) = Simulation<LedgerApp>.trace(configuration)
    let acts = trace.events.filter { $0.what.hasPrefix("the user ") }
    let signals = ["backgrounded →", "foregrounded →", "networkChanged →", "retryRequested →"]
    let told = trace.events.filter { event in signals.contains { event.what.hasPrefix($0) } }
    #expect(acts.contains { $0.what.hasPrefix("the user mutates add, who now has ") })
    #expect(acts.contains { $0.what.hasPrefix("the user mutates transfer, who now has ") })
    #expect(acts.contains { $0.what.hasPrefix("the user discards #") })
    #expect(result.userActions == Int64(acts.count + told.count))
    let story = try #require(Story(result, trace))
    #expect(story.left.contains("user actions \(acts.count + told.count) ("))
    func count(_ word: String) -> Int {
      acts.filter { $0.what.hasPrefix("the user \(word)") }.count
    }
    #expect(story.left.contains("add \(count("mutates add,")), "))
    #expect(story.left.contains("transfer \(count("mutates transfer,"))"))
    #expect(story.left.contains("discard \(count("discards"))"))
  }

  @Test func `a real driver's user is counted like that of a bare client`() {
    let configuration = SimulationConfiguration(seed: 3, faults: .none, isSwarm: false)
    let run = Simulation<LedgerApp>.run(configuration)
    #expect(run.userActions > 10)
    #expect(run.userActions == Simulation<LedgerApp>.runActors(configuration).result.userActions)
  }

  @Test func `an event without a description is told by what it holds`() throws {
    let (_, trace) = Simulation<Plain>.trace(SimulationConfiguration(seed: 1))
    let commits = trace.events.filter { $0.who == "server" && $0.what.hasPrefix("commit ") }
    #expect(commits.contains { $0.what.hasSuffix(": add(3)") })
    #expect(commits.allSatisfy { $0.what.contains(": add(") })
  }

  /// The least that an app says of itself.
  private enum Plain: SimulatedApp {
    enum Event: Hashable, Sendable { case add(Int) }

    struct Sum: SyncModel, CustomStringConvertible {
      typealias Refusal = Never
      var sum: Int
      var description: String { "\(sum)" }
      init(snapshot: Int) { sum = snapshot }
      mutating func apply(_ event: Event) { if case .add(let number) = event { sum += number } }
    }

    struct Total: ServerTruth, CustomStringConvertible {
      var snapshot = 0
      var description: String { "\(snapshot)" }
      static func isDeletion(_ event: Event) -> Bool { false }
      mutating func apply(_ event: Event) {
        if case .add(let number) = event { snapshot += number }
      }
    }

    typealias Model = Sum

    static func beginning(_ choices: inout Choices) -> Total { Total() }

    static func nextEvent(_ truth: Total, _ choices: inout Choices) -> Event {
      .add(Int(choices.draw(.workload, in: 1...3)))
    }
  }

  @Test func `a story tells what the network does to a message`() throws {
    var faults = FaultSet.none
    faults.insert(.lostRequest)
    let (result, trace) = Simulation<DirectoryApp>.trace(
      SimulationConfiguration(seed: 3, faults: faults, isSwarm: false))
    let told = trace.events.filter { event in
      event.who == "fault" && event.what.hasPrefix("lost-request, client ")
    }
    #expect(told.count > 2)
    #expect(Int64(told.count) == result.faults[.lostRequest])
  }

  @Test func `a trace says for each step how many choices there were`() {
    let configuration = SimulationConfiguration(seed: 5)
    let (result, trace) = Simulation<DirectoryApp>.trace(configuration)
    #expect(Int64(trace.choices.count) == result.steps + 1)
    #expect(zip(trace.choices, trace.choices.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(trace.choices.last == result.choices)
    #expect(trace.events.allSatisfy { (1...result.steps + 1).contains($0.step) })
  }

  // MARK: The difference

  @Test(arguments: [
    (
      "at q1:1 1:24 2:47+1 3:63 · 0 147481 0 0", "at q1:1 1:24 2:47 3:63 · 0 0 0 0",
      "2:47+1 → 2:47, 147481 → 0"
    ),
    ("1:0 2:0 5:0 · 0", "1:0 2:0 · 0", "5:0 → nothing"),
    ("1:0 2:0 · 0", "8:0 1:0 2:0 · 0", "nothing → 8:0"),
    ("a  b\nc", "a x y c", "b → x y"),
    ("a b c d", "b c d a", "a → nothing, nothing → a"),
    ("same words", "same words", nil),
    ("something pending", "registering request 4 finger none timer 7", nil),
    ("", "", nil),
  ])
  func `a story names the words that differ`(expected: String, found: String, told: String?) {
    #expect(WordDifference(from: expected, to: found)?.description == told)
  }
}
