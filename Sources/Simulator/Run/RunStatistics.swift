public import UpdateMachine

/// The results of many runs. Adding is commutative, so it does not matter which job ran which seed.
public struct RunStatistics: Sendable {
  /// The number of runs.
  public private(set) var seeds: Int64 = 0
  /// The number of steps of all worlds.
  public private(set) var steps: Int64 = 0
  /// The number of registers and polls that all clients sent.
  public private(set) var requests: Int64 = 0
  /// How often oracles checked something.
  package private(set) var checks: Int64 = 0
  /// The virtual time that passed in all runs.
  public private(set) var simulatedMilliseconds: Int64 = 0
  /// The longest time from the end of the faults until every client was up to date.
  public private(set) var longestConvergence: TimeSpan = .zero
  /// How often each fault struck.
  public private(set) var faults = FaultCounts()
  /// The statuses reached, one bit each (`MachineStatus.code`).
  package private(set) var statuses: UInt64 = 0
  /// Which rows of the failure table were reached, and how often.
  package private(set) var rows = FailureRows()
  /// How often a server broke its contract.
  public private(set) var breaches: Int64 = 0
  /// How often pages contradicted what clients held, and how that ended.
  package private(set) var audits = AuditCounts()
  /// What became of the users' changes.
  package private(set) var changes = ChangeCounts()
  /// How many runs brought each situation about, and how often, if they were counted.
  package private(set) var situations = SituationCounts()
  /// The number of runs in which an oracle objected.
  public private(set) var failures: Int64 = 0
  /// The failing run with the fewest steps; among equals, the one with the smallest seed.
  package private(set) var shortestFailure: RunResult?
  /// The sum of the hashes of all runs; for a single run, its hash.
  package private(set) var traceHash: UInt64 = 0

  package init() {}

  /// Adds one run.
  package mutating func add(_ result: RunResult) {
    seeds += 1
    steps += result.steps
    requests += result.requests
    checks += result.checks
    simulatedMilliseconds += result.simulated.milliseconds
    longestConvergence = max(longestConvergence, result.convergence)
    faults.add(result.faults)
    statuses |= result.statuses
    rows.add(result.rows)
    breaches += result.breaches
    audits.add(result.audits)
    changes.add(result.changes)
    situations.add(result.situations)
    traceHash &+= result.hash.value
    guard result.finding != nil else { return }
    failures += 1
    noteFailure(result)
  }

  /// Adds the statistics of another job.
  package mutating func add(_ other: RunStatistics) {
    seeds += other.seeds
    steps += other.steps
    requests += other.requests
    checks += other.checks
    simulatedMilliseconds += other.simulatedMilliseconds
    longestConvergence = max(longestConvergence, other.longestConvergence)
    faults.add(other.faults)
    statuses |= other.statuses
    rows.add(other.rows)
    breaches += other.breaches
    audits.add(other.audits)
    changes.add(other.changes)
    situations.add(other.situations)
    traceHash &+= other.traceHash
    failures += other.failures
    if let failure = other.shortestFailure { noteFailure(failure) }
  }

  /// The statuses that no run reached, by name.
  public var missingStatuses: [String] {
    MachineStatus.names.indices.filter { statuses & 1 << UInt64($0) == 0 }
      .map { MachineStatus.names[$0] }
  }

  /// The rows of the failure table that no run reached, each like "expired, registering".
  public var missingRows: [String] {
    var missing: [String] = []
    for (row, name) in FailureRows.names.enumerated() {
      if rows.registering[row] == 0 { missing.append("\(name), registering") }
      if rows.polling[row] == 0 { missing.append("\(name), polling") }
    }
    if rows.storeFailures == 0 { missing.append("store") }
    return missing
  }

  /// The faults that never struck, by name.
  public var missingFaults: [String] {
    Fault.allCases.filter { faults[$0] == 0 }.map { $0.name }
  }

  private mutating func noteFailure(_ result: RunResult) {
    if let best = shortestFailure,
      (best.steps, best.seed) <= (result.steps, result.seed)
    {
      return
    }
    shortestFailure = result
  }
}
