public import UpdateMachine

/// What came of one run.
public struct RunResult: Sendable {
  /// What the run was drawn from; 0 for one that was replayed from a list.
  public var seed: UInt64
  /// How many steps the world took.
  public var steps: Int64 = 0
  /// How many registers and polls the clients sent.
  public var requests: Int64 = 0
  /// How often an oracle looked.
  public var checks: Int64 = 0
  /// How much virtual time passed.
  public var simulated: TimeSpan = .zero
  /// How long it took after the faults had stopped until everybody was level.
  public var convergence: TimeSpan = .zero
  /// How often each fault struck.
  public var faults = FaultCounts()
  /// How often a user or a system said something to an app that was running: stopped, logged out,
  /// to the background and back, another network, try again.
  public var userActions: Int64 = 0
  /// The statuses that were reached, a bit each (`MachineStatus.code`).
  public var statuses: UInt64 = 0
  /// Which rows of the failure table were reached, and how often.
  public var rows = FailureRows()
  /// How often the server broke its contract.
  public var breaches: Int64 = 0
  /// How often pages contradicted what clients held, and what came of it.
  public var audits = AuditCounts()
  /// How many draws the run took.
  public var choices: Int64 = 0
  /// Finger, status and the model's checksum at every step.
  public var hash = Digest()
  /// What was wrong; `nil`: nothing.
  public var finding: Finding?

  init(seed: UInt64) {
    self.seed = seed
    hash.fold(seed)
  }

  /// Holds the same run, done once more, against this one. If they differ, that is what was found:
  /// nothing else that is said of them can be trusted.
  mutating func compare(with again: RunResult) {
    guard hash != again.hash || steps != again.steps || choices != again.choices else { return }
    finding = Finding(
      .determinism, client: nil, at: Moment(milliseconds: 0) + max(simulated, again.simulated),
      expected: "seed \(seed) tells one story: hash \(hash), \(steps) steps, \(choices) choices",
      found: "seed \(seed) told two stories: hash \(hash) and \(again.hash), "
        + "\(steps) and \(again.steps) steps, \(choices) and \(again.choices) choices")
  }
}

/// How often pages contradicted what clients held of messages (KNOWLEDGE.md, R13).
public struct AuditCounts: Hashable, Sendable {
  /// Messages that were suspect; in a world whose server keeps its contract there are none.
  public var suspects: Int64 = 0
  /// Fetches that read one of them once more.
  public var readings: Int64 = 0
  /// Messages that were wrong, and were mended.
  public var repairs: Int64 = 0

  public init() {}

  /// Adds what was counted elsewhere.
  public mutating func add(_ other: AuditCounts) {
    suspects += other.suspects
    readings += other.readings
    repairs += other.repairs
  }
}

/// The rows of the failure table (MACHINE §5) that were reached, in both columns.
public struct FailureRows: Hashable, Sendable {
  /// How often each row was reached while registering, in the order of ``names``.
  public private(set) var registering: [Int64]
  /// How often each row was reached while polling, in the order of ``names``.
  public private(set) var polling: [Int64]
  /// Writes that failed.
  public internal(set) var storeFailures: Int64 = 0

  /// The names of the rows, in the table's order.
  public static var names: [String] {
    [
      "unreachable", "timedOut", "serverFault", "rateLimited", "unauthorized", "unsupported",
      "expired", "rejected", "malformed", "modelRefused",
    ]
  }

  public init() {
    registering = Array(repeating: 0, count: FailureRows.names.count)
    polling = registering
  }

  mutating func note(_ failure: SyncFailure, isRegistering: Bool) {
    let row = FailureRows.row(of: failure)
    if isRegistering { registering[row] += 1 } else { polling[row] += 1 }
  }

  /// The place of a failure's row in ``names``.
  static func row(of failure: SyncFailure) -> Int {
    switch failure {
    case .unreachable: 0
    case .timedOut: 1
    case .serverFault: 2
    case .rateLimited: 3
    case .unauthorized: 4
    case .unsupported: 5
    case .expired: 6
    case .rejected: 7
    case .malformed: 8
    case .modelRefused: 9
    }
  }

  /// Adds what another run reached.
  public mutating func add(_ other: FailureRows) {
    for row in registering.indices {
      registering[row] += other.registering[row]
      polling[row] += other.polling[row]
    }
    storeFailures += other.storeFailures
  }
}
