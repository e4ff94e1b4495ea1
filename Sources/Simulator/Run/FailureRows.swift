internal import UpdateMachine

/// How often the rows of the failure table (TheMachine §5) were reached, in both columns.
package struct FailureRows: Hashable, Sendable {
  /// How often each row was reached while registering, in the order of ``names``.
  package private(set) var registering: [Int64]
  /// How often each row was reached while polling, in the order of ``names``.
  package private(set) var polling: [Int64]
  /// Writes that failed.
  package internal(set) var storeFailures: Int64 = 0

  /// The names of the rows, in the table's order.
  package static var names: [String] {
    [
      "unreachable", "timedOut", "serverFault", "rateLimited", "unauthorized", "unsupported",
      "expired", "rejected", "malformed", "modelRefused",
    ]
  }

  package init() {
    registering = Array(repeating: 0, count: FailureRows.names.count)
    polling = registering
  }

  mutating func note(_ failure: SyncFailure, isRegistering: Bool) {
    let row = FailureRows.row(of: failure)
    if isRegistering { registering[row] += 1 } else { polling[row] += 1 }
  }

  /// The index of a failure's row in ``names``.
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

  /// Adds the counts of another run.
  package mutating func add(_ other: FailureRows) {
    for row in registering.indices {
      registering[row] += other.registering[row]
      polling[row] += other.polling[row]
    }
    storeFailures += other.storeFailures
  }
}
