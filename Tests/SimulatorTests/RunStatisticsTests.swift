import SyncProtocols
import Testing
import UpdateMachine

@testable import Simulator

struct RunStatisticsTests {
  private func added(_ results: [RunResult]) -> RunStatistics {
    var statistics = RunStatistics()
    for result in results { statistics.add(result) }
    return statistics
  }

  /// Real results, with failures among them.
  private func results() -> [RunResult] {
    (UInt64(1)...24).map { seed in
      let plant: Plant? = seed % 3 == 0 ? .breach(.lostEvent) : nil
      return Simulation<DirectoryApp>.run(
        SimulationConfiguration(seed: seed, clients: 2, plant: plant))
    }
  }

  @Test func `the order of the results does not change their sum`() {
    let results = results()
    let sum = added(results)
    #expect(sum.failures > 0 && sum.failures < 24)
    #expect("\(added(results.reversed()))" == "\(sum)")
    var choices = Choices(seed: 1)
    for _ in 0..<10 {
      var shuffled = results
      choices.shuffle(.users, &shuffled)
      #expect("\(added(shuffled))" == "\(sum)")
    }
  }

  @Test func `sums of parts add up to the whole, whichever comes first`() {
    let results = results()
    let sum = added(results)
    for cut in [0, 1, 7, 23, 24] {
      var front = added(Array(results.prefix(cut)))
      var back = added(Array(results.dropFirst(cut)))
      let onlyBack = back
      back.add(front)
      front.add(onlyBack)
      #expect("\(front)" == "\(sum)")
      #expect("\(back)" == "\(sum)")
    }
  }

  @Test func `counts are added, and the longest convergence is kept`() {
    var one = RunResult(seed: 1)
    one.steps = 10
    one.requests = 3
    one.checks = 20
    one.simulated = .seconds(5)
    one.convergence = .seconds(2)
    one.faults[.crash] = 1
    one.statuses = 0b11
    one.rows.note(.expired, isRegistering: false)
    one.breaches = 1
    one.audits.suspects = 3
    one.audits.readings = 2
    one.changes.made = 7
    one.changes.overruled = 1
    var other = RunResult(seed: 2)
    other.steps = 5
    other.convergence = .seconds(1)
    other.faults[.crash] = 2
    other.statuses = 0b110
    other.audits.suspects = 1
    other.audits.repairs = 1
    other.changes.made = 2
    other.changes.refused = 3
    other.changes.conflicts = 4
    other.rows.note(.expired, isRegistering: true)
    let sum = added([one, other])
    #expect(sum.seeds == 2)
    #expect(sum.steps == 15)
    #expect(sum.requests == 3)
    #expect(sum.checks == 20)
    #expect(sum.simulatedMilliseconds == 5000)
    #expect(sum.longestConvergence == .seconds(2))
    #expect(sum.faults[.crash] == 3)
    #expect(sum.statuses == 0b111)
    #expect(sum.rows.polling[6] == 1 && sum.rows.registering[6] == 1)
    #expect(sum.breaches == 1)
    #expect(sum.audits.suspects == 4 && sum.audits.readings == 2 && sum.audits.repairs == 1)
    #expect(sum.changes.made == 9 && sum.changes.refused == 3)
    #expect(sum.changes.conflicts == 4 && sum.changes.overruled == 1)
    #expect(sum.failures == 0 && sum.shortestFailure == nil)
  }

  @Test func `the shortest failure has the fewest steps, then the least seed`() {
    func failing(_ seed: UInt64, steps: Int64) -> RunResult {
      var result = RunResult(seed: seed)
      result.steps = steps
      result.finding = Finding(
        .budget, client: nil, at: Moment(milliseconds: 0), expected: "", found: "")
      return result
    }
    let results = [failing(9, steps: 50), failing(7, steps: 40), failing(3, steps: 40)]
    #expect(added(results).shortestFailure?.seed == 3)
    #expect(added(results.reversed()).shortestFailure?.seed == 3)
    #expect(added([results[0], RunResult(seed: 1)]).shortestFailure?.seed == 9)
    #expect(added(results).failures == 3)
  }

  @Test func `the trace hash of several runs is the sum of theirs`() {
    var one = RunResult(seed: 1)
    one.hash.fold(Int64(5))
    let other = RunResult(seed: 2)
    #expect(added([one]).traceHash == one.hash.value)
    #expect(added([one, other]).traceHash == one.hash.value &+ other.hash.value)
    #expect(other.hash != RunResult(seed: 3).hash)
  }

  @Test func `statuses, rows and faults that were never reached are listed`() {
    let nothing = RunStatistics()
    #expect(nothing.missingStatuses == MachineStatus.names)
    #expect(nothing.missingRows.count == FailureRows.names.count * 2 + 1)
    #expect(nothing.missingFaults == Fault.allCases.map(\.name))
    var result = RunResult(seed: 1)
    result.statuses = 1
    result.rows.note(.unreachable, isRegistering: true)
    result.rows.storeFailures = 1
    result.faults[.slowNetwork] = 1
    let some = added([result])
    #expect(some.missingStatuses == Array(MachineStatus.names.dropFirst()))
    #expect(some.missingRows.first == "unreachable, polling")
    #expect(some.missingRows.last == "modelRefused, polling")
    #expect(some.missingFaults.first == "lost-request")
  }

  @Test func `every failure has a row of its own in the table`() {
    let failures: [SyncFailure] = [
      .unreachable, .timedOut, .serverFault, .rateLimited(after: nil), .unauthorized, .unsupported,
      .expired, .rejected(.none), .malformed, .modelRefused,
    ]
    for (row, failure) in failures.enumerated() {
      var rows = FailureRows()
      rows.note(failure, isRegistering: true)
      #expect(rows.registering.firstIndex(of: 1) == row)
      #expect(rows.polling.allSatisfy { $0 == 0 })
      #expect(failure.description.hasPrefix(FailureRows.names[row]))
    }
  }
}
