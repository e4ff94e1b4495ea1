internal import SyncProtocols
package import UpdateMachine

/// What one protocol costs and gives, counted over one workload or the sum of several.
package struct ProtocolMeasures: Sendable {
  /// The protocol.
  package let spoken: LibraryWorld.SpokenProtocol
  /// How often its clients ask.
  package let cadence: Cadence
  /// The number of workloads.
  package private(set) var runs: Int64 = 1
  /// The changes that users made. They cannot change what they do not see.
  package internal(set) var changes: Int64 = 0
  /// Registers, polls and pushes that left a device.
  package internal(set) var requests: Int64 = 0
  /// The bodies of all requests that left a device, as JSON.
  package internal(set) var bytesUp: Int64 = 0
  /// The bodies of all answers, as JSON.
  package internal(set) var bytesDown: Int64 = 0
  /// The times from a user's change until another device showed it, for two devices that were on
  /// line when it was made. One that was replaced or deleted before is not among them.
  var delays: [TimeSpan] = []
  /// The time from the end of all trouble until the last change of what any device shows.
  package internal(set) var toConverge = TimeSpan.zero
  /// The changes that were given up, each of which its user was told: refused, overruled, or not
  /// possible off line.
  package internal(set) var lost: Int64 = 0
  /// The rows on a device's disk at the end, on average.
  package internal(set) var bytesStored: Int64 = 0
  /// What the server holds at the end of each workload: a JSON object of items by their number.
  package internal(set) var held: [String] = []
  /// What is wrong at the end; `nil`: all devices show the same, and nothing is pending.
  package internal(set) var failure: String?

  init(_ spoken: LibraryWorld.SpokenProtocol, _ cadence: Cadence) {
    self.spoken = spoken
    self.cadence = cadence
  }

  /// The median of the times from a user's change until another device showed it, for two devices
  /// that were on line when it was made.
  package var toSee: TimeSpan {
    delays.isEmpty ? .zero : delays.sorted()[delays.count / 2]
  }

  /// Adds what was counted over another workload. The longest time to converge counts.
  package mutating func add(_ other: ProtocolMeasures) {
    runs += other.runs
    changes += other.changes
    requests += other.requests
    bytesUp += other.bytesUp
    bytesDown += other.bytesDown
    delays += other.delays
    toConverge = max(toConverge, other.toConverge)
    lost += other.lost
    bytesStored += other.bytesStored
    held += other.held
    failure = failure ?? other.failure
  }
}

/// One workload over each of the five protocols, with the same faults.
package enum Comparison {
  /// The protocols that are compared: all but the library's own and etcd's.
  package static var protocols: [LibraryWorld.SpokenProtocol] {
    LibraryWorld.SpokenProtocol.allCases.filter { $0 != .changeLog && $0 != .etcd }
  }

  /// Runs the workload of a seed over one of ``protocols``.
  package static func measure(
    _ spoken: LibraryWorld.SpokenProtocol, seed: UInt64
  ) -> ProtocolMeasures {
    switch spoken {
    case .eventQueue: measure(ComparedQueue.self, seed)
    case .clientView: measure(ComparedView.self, seed)
    case .recordSync: measure(ComparedRecords.self, seed)
    case .tableSync: measure(ComparedTables.self, seed)
    case .eventStream: measure(ComparedStream.self, seed)
    case .changeLog, .etcd: preconditionFailure("\(spoken.rawValue) is not compared")
    }
  }

  /// The workload of a seed: JSON objects, one a line. `simulate compare --help` explains them.
  package static func workload(seed: UInt64) -> [String] { Workload(seed: seed).lines(seed: seed) }

  private static func measure<Compared: ComparedProtocol>(
    _ compared: Compared.Type, _ seed: UInt64
  ) -> ProtocolMeasures {
    var run = ComparedRun<Compared>(Workload(seed: seed), seed: seed)
    return run.run()
  }
}
