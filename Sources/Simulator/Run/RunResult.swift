public import UpdateMachine

/// The result of one run.
public struct RunResult: Sendable {
  /// The run's seed; 0 for a run replayed from a list.
  public var seed: UInt64
  /// The number of the world's steps.
  public var steps: Int64 = 0
  /// The number of registers and polls that the clients sent.
  public var requests: Int64 = 0
  /// How often oracles checked something.
  package var checks: Int64 = 0
  /// The virtual time that passed.
  public var simulated: TimeSpan = .zero
  /// The time from the end of the faults until every client was up to date.
  public var convergence: TimeSpan = .zero
  /// How often each fault struck.
  public var faults = FaultCounts()
  /// How often a user or the system acted on a running app: made a change or decided about one,
  /// opened or moved a window; stopped it, logged out, went to the background and back, changed the
  /// network, tried again.
  package var userActions: Int64 = 0
  /// The statuses reached, one bit each (`MachineStatus.code`).
  package var statuses: UInt64 = 0
  /// Which rows of the failure table were reached, and how often.
  package var rows = FailureRows()
  /// How often the server broke its contract.
  package var breaches: Int64 = 0
  /// How often pages contradicted what clients held, and how that ended.
  package var audits = AuditCounts()
  /// What became of the users' changes.
  package var changes = ChangeCounts()
  /// Which situations came about, if they were counted.
  package var situations = SituationCounts()
  /// The number of draws in the run.
  package var choices: Int64 = 0
  /// A hash of finger, status and the model's checksum at every step.
  public var hash = StateDigest()
  /// The objection that ended the run; `nil`: none.
  public var finding: Finding?

  package init(seed: UInt64) {
    self.seed = seed
    hash.fold(seed)
  }

  /// Compares this run with a second run of the same seed. If they differ, that becomes the
  /// finding: nothing else that was found can be trusted.
  mutating func compare(with again: RunResult) {
    guard hash != again.hash || steps != again.steps || choices != again.choices else { return }
    finding = Finding(
      .determinism, client: nil, at: Moment(milliseconds: 0) + max(simulated, again.simulated),
      expected: "seed \(seed) gives one trace: hash \(hash), \(steps) steps, \(choices) choices",
      found: "seed \(seed) gave two traces: hash \(hash) and \(again.hash), "
        + "\(steps) and \(again.steps) steps, \(choices) and \(again.choices) choices")
  }
}

/// What became of the users' changes.
package struct ChangeCounts: Hashable, Sendable {
  /// Changes that users made.
  package var made: Int64 = 0
  /// Pushes that the server refused a change of.
  package var refused: Int64 = 0
  /// Pushes that the server did nothing or only a part of, because of what others had done.
  package var conflicts: Int64 = 0
  /// Changes that the confirmed state made pointless (`MutationState.overruled`). Those that were
  /// coalesced count as one.
  package var overruled: Int64 = 0

  package init() {}

  /// Adds the counts of `other`.
  package mutating func add(_ other: ChangeCounts) {
    made += other.made
    refused += other.refused
    conflicts += other.conflicts
    overruled += other.overruled
  }
}

/// How often pages contradicted what clients held of messages (PartialKnowledge R13).
public struct AuditCounts: Hashable, Sendable {
  /// How often a message became suspect. Where the server keeps its contract, only a message that
  /// became visible again without an event can.
  package var suspects: Int64 = 0
  /// Fetches that read a suspect message once more.
  package var readings: Int64 = 0
  /// Messages that were wrong and were repaired.
  package var repairs: Int64 = 0

  package init() {}

  /// Adds the counts of `other`.
  package mutating func add(_ other: AuditCounts) {
    suspects += other.suspects
    readings += other.readings
    repairs += other.repairs
  }
}
