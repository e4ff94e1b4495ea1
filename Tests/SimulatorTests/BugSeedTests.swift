import Simulator
import SyncProtocols
import Testing

/// Bugs of other projects that a history triggers, each as a pinned seed with that history.
///
/// A seed says nothing by itself, because a change to the world draws another history from it. So
/// each test first makes sure that the trigger is there, in the fault's count and in the
/// conversation. If it is gone, find another seed with `simulate trace`. The oracles say that all
/// is well; the last of them demands that all clients are live and up to date after the faults.
@Suite struct BugSeedTests {
  /// One run with only these faults.
  struct History {
    let result: RunResult
    let lines: [String]

    init(seed: UInt64, steps: Int64 = 250, faults: FaultSet, plant: Plant? = nil) {
      let (result, trace) = Simulation<DirectoryApp>.trace(
        SimulationConfiguration(
          seed: seed, clients: 2, steps: steps, faults: faults, plant: plant))
      self.result = result
      lines = trace.lines
    }

    /// The lines in which all of these parts occur, in this order.
    func lines(_ parts: String...) -> [String] {
      lines.filter { line in
        var rest = Substring(line)
        for part in parts {
          guard let range = rest.firstRange(of: part) else { return false }
          rest = rest[range.upperBound...]
        }
        return true
      }
    }

    /// The numbers of the clients that have a line with `first` and no later line with `second`.
    func clientsLeftWith(_ first: String, without second: String) -> [Int] {
      (0..<2).filter { client in
        let own = lines.filter { $0.contains("  client \(client)  ") }
        guard let last = own.lastIndex(where: { $0.contains(first) }) else { return false }
        return !own[last...].contains { $0.contains(second) }
      }
    }
  }

  @Test func `bug 1 in a seed: registers fail repeatedly, and each client tries again`() {
    let history = History(seed: 36, faults: [.killedServer, .serverError])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.killedServer] > 10)
    #expect(history.result.rows.registering[2] > 1)  // serverFault
    #expect(history.lines("failed ", "serverFault → registerFailed", "arm ").count > 1)
    #expect(history.clientsLeftWith("→ registerFailed", without: "→ live.polling") == [])
  }

  @Test func `bug 8: a request lost in a half-open connection ends at our own deadline`() {
    let history = History(seed: 7, faults: [.halfOpen])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.halfOpen] > 3)
    #expect(!history.lines("fired ", "→ pollFailed: cancel ").isEmpty)
    #expect(!history.lines("fired ", "→ registerFailed: cancel ").isEmpty)
    #expect(history.clientsLeftWith("→ pollFailed: cancel ", without: "→ live.polling") == [])
  }

  @Test func `bug 12: a deadline that was slept through is no failure`() {
    let history = History(seed: 24, faults: [.suspension, .halfOpen])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.suspension] > 3)
    #expect(history.result.faults[.halfOpen] > 0)
    #expect(!history.lines("fired ", "→ live.polling: cancel ", "poll ", ", quick").isEmpty)
  }

  @Test func `bug 13 in a seed: no client asks before the server's retry-after is over`() {
    let history = History(seed: 4, faults: [.rateLimit])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.rateLimit] > 3)
    #expect(history.result.rows.polling[3] + history.result.rows.registering[3] > 3)
    #expect(!history.lines("rateLimited(after ", "→ ", "arm ", " in [").isEmpty)
  }

  @Test func `bug 14 in a seed: a revoked key halts a client, and new credentials resume it`() {
    let history = History(seed: 15, faults: [.revokedCredentials])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.revokedCredentials] > 3)
    #expect(!history.lines("unauthorized → halted(credentials)").isEmpty)
    #expect(history.lines("unauthorized → halted(credentials)", ", arm ").isEmpty)
    #expect(!history.lines("credentialsChanged → live.polling").isEmpty)
  }

  @Test func `bug 17: a client that lost its queue gets another, whatever comes between`() {
    let history = History(seed: 36, faults: [.killedServer, .background])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.killedServer] > 10)
    #expect(history.result.faults[.background] > 10)
    #expect(history.lines("expired → ").count > 3)
    #expect(history.clientsLeftWith("expired → ", without: "snapshotArrived") == [])
  }

  @Test func `bug 33: every client waits for something after a pause`() {
    let history = History(seed: 24, faults: [.background, .suspension, .lateAnswer])
    #expect(history.result.finding == nil)
    #expect(history.result.faults[.background] > 3)
    #expect(history.result.faults[.suspension] > 3)
    #expect(!history.lines("backgrounded → idle: cancel ").isEmpty)
    #expect(!history.lines("batchArrived ", "→ idle").isEmpty)  // Late: nobody awaits it.
    #expect(history.lines("foregrounded → ").count > 1)
    #expect(history.lines("foregrounded → idle").isEmpty)
    #expect(history.lines("foregrounded → stale").isEmpty)
  }

  @Test(arguments: [QueueBreach.staleSnapshot, .wrongFinger, .reorderedEvents])
  func `bugs 26, 32 and 35 are found when the server has them`(breach: QueueBreach) throws {
    let plant = Plant.breach(breach)
    for seed in 1...200 as ClosedRange<UInt64> {
      let history = History(seed: seed, faults: [.killedServer], plant: plant)
      guard history.result.breaches > 0, let finding = history.result.finding else { continue }
      #expect(finding.oracle == .replica)
      return
    }
    Issue.record("no seed in which \(plant.name) was seen")
  }
}
