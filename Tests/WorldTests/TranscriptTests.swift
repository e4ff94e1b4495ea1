import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

/// Tests the scenario of a client's run. It must be a valid scenario, and the machine must do in it
/// what it did in the run.
@Suite struct TranscriptTests {
  /// The status that the machine is in after each input.
  private func statuses(of scenario: String) -> [String] {
    scenario.split(separator: "\n").filter { $0.hasPrefix("  ") && $0.contains(" · ") }
      .map { String($0.split(separator: " ")[1]) }
  }

  /// The same according to the run, from the moment at which the transcript begins.
  private func statuses(of transcript: Transcript, _ trace: Trace) -> [String] {
    let own = trace.events.filter { $0.client == transcript.client }
    let first = own.lastIndex { $0.what == "begins incarnation \(transcript.incarnation)" } ?? 0
    let told = own[first...].filter { $0.who == "client \(transcript.client)" }
    return told.compactMap { event in
      guard let arrow = event.what.firstRange(of: " → ") else { return nil }
      return String(event.what[arrow.upperBound...].prefix { $0 != ":" })
    }
  }

  @Test(arguments: Plant.all)
  func `a scenario from a failing run repeats what its machine did`(plant: Plant) throws {
    var lives: Set<UInt64> = []
    for seed in UInt64(1)...25 {
      let configuration = SimulationConfiguration(seed: seed, plant: plant)
      let (result, trace) = Simulation<DirectoryApp>.trace(configuration)
      guard let client = result.finding?.client else { continue }
      let transcript = try #require(Transcript(of: client, trace))
      let scenario = try transcript.scenario(["What it is.", ""])
      #expect(try Scenario.rewritten(scenario) == scenario)
      #expect(
        scenario.hasPrefix(
          "# What it is.\n#\n# Incarnation \(transcript.incarnation) of client \(client)"))
      #expect(transcript.unsaidCount == 0)
      // What the run showed before the saved form was read is not the machine's. And if the app was
      // stopped meanwhile, its new machine is stale until it hears of that.
      let told = statuses(of: transcript, trace)
      let played = Array(statuses(of: scenario).drop { $0 == "stale" })
      #expect(!played.isEmpty)
      #expect(Array(told.suffix(played.count)) == played, "seed \(seed)")
      lives.insert(transcript.incarnation)
    }
    #expect(lives.contains(1))
  }

  @Test func `the transcript has the saved form with its age and terms, and the settings`() throws {
    var found: [String] = []
    for seed in UInt64(1)...80 {
      let (_, trace) = Simulation<DirectoryApp>.trace(
        SimulationConfiguration(seed: seed, steps: 120))
      for client in 0..<4 {
        guard let transcript = Transcript(of: client, trace) else { continue }
        found.append(try transcript.scenario([]))
      }
    }
    for words in [
      "\nrestored q", " age ", "\nterms longDeadline=100s lifetime=45s\n", "\nmachine durable=no\n",
      "\nmachine refreshPeriod=1min\n", "; 0 is ", " rateLimited -5s\n", " of incarnation 0 ",
      "restored q",
      " started in background\n", " loggedOut\n", " failed modelRefused\n", " failed malformed\n",
    ] {
      #expect(found.contains { $0.contains(words) }, "\(words)")
    }
  }

  @Test func `the transcript says what it leaves out`() throws {
    var trace = Trace()
    func hear(_ what: MachineInput.What, at milliseconds: Int64) {
      trace.noteInput(
        MachineInput(
          at: Moment(milliseconds: milliseconds), client: 2, incarnation: 3,
          settings: MachineSettings(),
          what: what))
    }
    hear(.input(.started(foreground: true)), at: 60_000)
    let id = RequestID(incarnation: Incarnation(3), number: 1)
    hear(.input(.failed(id, .rejected(RejectionCode("two words")))), at: 60_100)
    hear(.input(.failed(id, .rejected(RejectionCode("ONE")))), at: 61_000)
    let transcript = try #require(Transcript(of: 2, trace))
    #expect(transcript.unsaidCount == 1)
    let directives = try transcript.scenario([]).split(separator: "\n").filter {
      !$0.hasPrefix("  ")
    }
    #expect(
      directives == [
        "# Incarnation 3 of client 2; moments are the run's.",
        "at 1min started",
        "# Left out, since the language has no words for it: at 60100ms failed 1 rejected",
        "at 61s failed 1 rejected ONE",
      ])
    #expect(Transcript(of: 0, trace) == nil)
  }
}
