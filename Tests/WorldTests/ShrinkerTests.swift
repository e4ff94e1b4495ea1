import Simulator
import SyncProtocols
import Testing

/// Tests that a failing run becomes small, stays a failure of the same kind, and can be repeated
/// from a token.
@Suite struct ShrinkerTests {
  /// The first seed in which a plant is found.
  private func failure(_ plant: Plant) throws -> (SimulationConfiguration, Oracle) {
    for seed in UInt64(1)...200 {
      let configuration = SimulationConfiguration(seed: seed, plant: plant)
      if let finding = Simulation<DirectoryApp>.run(configuration).finding {
        return (configuration, finding.oracle)
      }
    }
    throw NotFound()
  }

  private struct NotFound: Error {}

  @Test(arguments: Plant.all)
  func `a plant shrinks to few choices, and the same oracle objects`(plant: Plant) throws {
    let (configuration, oracle) = try failure(plant)
    let shrunk = try #require(Simulation<DirectoryApp>.shrunk(configuration, budget: 3000))
    #expect(shrunk.choicesLeft < shrunk.choicesBefore)
    #expect(shrunk.choicesLeft <= 40)
    let (result, trace) = Simulation<DirectoryApp>.traceReplay(shrunk.token)
    #expect(result.finding?.oracle == oracle)
    #expect(!trace.lines.isEmpty)
  }

  @Test func `an unnecessary fault is removed`() throws {
    let (configuration, _) = try failure(.breach(.wrongFinger))
    let shrunk = try #require(Simulation<DirectoryApp>.shrunk(configuration, budget: 3000))
    let (result, _) = Simulation<DirectoryApp>.traceReplay(shrunk.token)
    #expect(Fault.allCases.allSatisfy { result.faults[$0] == 0 })
    #expect(shrunk.choicesLeft <= 6)
  }

  @Test(arguments: [Plant.breach(.lostEvent), .breach(.staleSnapshot), .neverAnswersAgain])
  func `unnecessary clients and steps are removed`(plant: Plant) throws {
    let (configuration, _) = try failure(plant)
    let shrunk = try #require(Simulation<DirectoryApp>.shrunk(configuration, budget: 3000))
    #expect(shrunk.token.configuration.clients == 1)
    #expect(shrunk.token.configuration.steps <= 5)
    #expect(shrunk.choicesLeft == 1)
  }

  @Test func `a run without a failure cannot be shrunk`() {
    #expect(Simulation<DirectoryApp>.shrunk(SimulationConfiguration(seed: 1)) == nil)
  }

  @Test func `the budget limits the runs`() throws {
    let (configuration, _) = try failure(.breach(.lostEvent))
    #expect(try #require(Simulation<DirectoryApp>.shrunk(configuration, budget: 10)).runs <= 10)
  }

  @Test func `the caller can stop shrinking after every run`() throws {
    let (configuration, _) = try failure(.breach(.lostEvent))
    let shrunk = Simulation<DirectoryApp>.shrunk(configuration) { $0.runs < 5 }
    #expect(try #require(shrunk).runs == 5)
  }

  /// The failure is made up: a 7 somewhere in one stream after a 3 in another.
  @Test func `unnecessary choices are removed, and the values of others lowered`() {
    var choices = Choices(seed: 9)
    for _ in 0..<200 {
      _ = choices.draw(.network, below: 1000)
      _ = choices.draw(.users, below: 10)
    }
    let fails: ([Choices.Choice]) -> Bool = { record in
      record.contains { $0.stream == .network && $0.value >= 700 }
        && record.contains { $0.stream == .users && $0.value == 3 }
    }
    var shrinker = Shrinker(choices.record, budget: 100_000)
    shrinker.shrink(fails: fails)
    #expect(
      shrinker.best.record == [
        Choices.Choice(stream: .network, value: 700), Choices.Choice(stream: .users, value: 3),
      ])
  }

  /// The failure is made up: the waits must add up to a given sum.
  @Test func `many short waits become one long one`() {
    var record: [Choices.Choice] = []
    for _ in 0..<40 {
      for value: UInt64 in [0, 0, 25] {
        record.append(Choices.Choice(stream: .workload, value: value))
      }
    }
    var shrinker = Shrinker(record, budget: 100_000)
    shrinker.shrink { record in record.reduce(0) { $0 + $1.value } >= 700 }
    #expect(shrinker.best.record == [Choices.Choice(stream: .workload, value: 700)])
  }

  // MARK: Tokens

  @Test(arguments: Plant.all)
  func `a token's text contains the whole token`(plant: Plant) throws {
    let (configuration, _) = try failure(plant)
    let lists = ChoiceLists(Simulation<DirectoryApp>.choices(of: configuration))
    let token = RunToken(configuration, lists)
    let read = try RunToken(token.text)
    #expect(read.choices == lists)
    #expect(read.text == token.text)
    #expect(read.configuration.plant == plant)
    #expect(read.configuration.faults == configuration.faults)
    #expect(
      token.text.utf8.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      })
    var unseeded = configuration
    unseeded.seed = 0  // A token needs no seed.
    let replayed = Simulation<DirectoryApp>.replay(lists.record, unseeded)
    #expect(Simulation<DirectoryApp>.traceReplay(read).0.hash == replayed.hash)
  }

  @Test(arguments: ["", "A", "!!", "AQ", "____", "AgQ", "AQAAAAAA", "AQRL______8BAw", "ä"])
  func `an invalid token is refused`(text: String) {
    #expect(throws: RunToken.Malformed.self) { try RunToken(text) }
  }

  @Test func `no text makes the token parser trap`() {
    var choices = Choices(seed: 4)
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    for _ in 0..<5000 {
      var text = "AQ"
      for _ in 0..<choices.draw(.users, below: 60) { text.append(choices.pick(.users, alphabet)) }
      do throws(RunToken.Malformed) { _ = try RunToken(text) } catch {}
    }
  }
}
