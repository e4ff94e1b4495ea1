import Foundation
import Simulator
import UpdateMachine

/// What `run --json` tells, in a form that can be added: the report of one process, or a sum of
/// reports.
struct Figures: Codable, Equatable, Sendable {
  /// The seeds that were asked for: all from the first to the last.
  struct Range: Codable, Equatable, Sendable {
    var first: UInt64
    var last: UInt64
  }

  struct Audits: Codable, Equatable, Sendable {
    var suspects: Int64
    var fetches: Int64
    var repairs: Int64
  }

  struct Changes: Codable, Equatable, Sendable {
    var made: Int64
    var refused: Int64
    var conflicts: Int64
    var overruled: Int64
  }

  /// A hash of the executable.
  var build: String
  /// The arguments of `run` that change what happens in a run.
  var options: String
  var clients: Int
  /// In order, without overlaps; neighbours are joined.
  var ranges: [Range]
  /// How many runs there were. Fewer than was asked for, if a process stopped early.
  var seeds: Int64
  var steps: Int64
  var requests: Int64
  var checks: Int64
  var simulatedMilliseconds: Int64
  /// In milliseconds.
  var longestConvergence: Int64
  var breaches: Int64
  var audits: Audits
  var changes: Changes
  /// How often each fault struck, by name.
  var faults: [String: Int64]
  /// The statuses reached, in the order of `MachineStatus.names`.
  var statuses: [String]
  /// How often each row of the failure table was reached, by name.
  var rows: [String: Int64]
  var failures: Int64
  /// The failures, those that were found most often first.
  var stories: [FailureStory]
  var traceHash: String
  /// The real time that the processes took, one after the other.
  var seconds: Double

  init(options: RunOptions, outcome: Runner.Outcome, build: String) {
    let statistics = outcome.statistics
    self.build = build
    self.options = options.words
    clients = options.configuration.clients
    ranges = [Range(first: options.first, last: options.first &+ (options.seeds - 1))]
    seeds = statistics.seeds
    steps = statistics.steps
    requests = statistics.requests
    checks = statistics.checks
    simulatedMilliseconds = statistics.simulatedMilliseconds
    longestConvergence = statistics.longestConvergence.milliseconds
    breaches = statistics.breaches
    let (audits, changes) = (statistics.audits, statistics.changes)
    self.audits = Audits(
      suspects: audits.suspects, fetches: audits.readings, repairs: audits.repairs)
    self.changes = Changes(
      made: changes.made, refused: changes.refused, conflicts: changes.conflicts,
      overruled: changes.overruled)
    faults = [:]
    for fault in Fault.allCases { faults[fault.name] = statistics.faults[fault] }
    statuses = MachineStatus.names.filter { !statistics.missingStatuses.contains($0) }
    rows = Figures.rows(statistics.rows)
    failures = statistics.failures
    stories = outcome.stories.sorted
    traceHash = "\(StateDigest(value: statistics.traceHash))"
    seconds = (outcome.seconds * 1000).rounded() / 1000
  }

  private static func rows(_ rows: FailureRows) -> [String: Int64] {
    var counts = ["store": rows.storeFailures]
    for (row, name) in FailureRows.names.enumerated() {
      counts["\(name), registering"] = rows.registering[row]
      counts["\(name), polling"] = rows.polling[row]
    }
    return counts
  }

  /// Adds another report of the same build and options. Its ranges overlap none of these.
  mutating func add(_ other: Figures) {
    ranges = Figures.joined(ranges + other.ranges)
    seeds = sum(seeds, other.seeds)
    steps = sum(steps, other.steps)
    requests = sum(requests, other.requests)
    checks = sum(checks, other.checks)
    simulatedMilliseconds = sum(simulatedMilliseconds, other.simulatedMilliseconds)
    longestConvergence = max(longestConvergence, other.longestConvergence)
    breaches = sum(breaches, other.breaches)
    audits.suspects = sum(audits.suspects, other.audits.suspects)
    audits.fetches = sum(audits.fetches, other.audits.fetches)
    audits.repairs = sum(audits.repairs, other.audits.repairs)
    changes.made = sum(changes.made, other.changes.made)
    changes.refused = sum(changes.refused, other.changes.refused)
    changes.conflicts = sum(changes.conflicts, other.changes.conflicts)
    changes.overruled = sum(changes.overruled, other.changes.overruled)
    faults.merge(other.faults, uniquingKeysWith: sum)
    rows.merge(other.rows, uniquingKeysWith: sum)
    statuses = MachineStatus.names.filter { statuses.contains($0) || other.statuses.contains($0) }
    failures = sum(failures, other.failures)
    var told = FailureStories()
    for story in stories + other.stories { told.add(story) }
    stories = told.sorted
    let hashes = [traceHash, other.traceHash].map { UInt64($0, radix: 16) ?? 0 }
    traceHash = "\(StateDigest(value: hashes[0] &+ hashes[1]))"
    seconds += other.seconds
  }

  private static func joined(_ ranges: [Range]) -> [Range] {
    var joined: [Range] = []
    for range in ranges.sorted(by: { $0.first < $1.first }) {
      if let previous = joined.last, previous.last < .max, previous.last + 1 == range.first {
        joined[joined.count - 1].last = range.last
      } else {
        joined.append(range)
      }
    }
    return joined
  }

  /// How many seeds were asked for.
  var asked: UInt64 {
    ranges.reduce(0) { $0 &+ ($1.last - $1.first) &+ 1 }
  }

  /// One JSON object, on one line, whose names are in alphabetical order.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(self) else {
      preconditionFailure("strings and finite numbers can be encoded")
    }
    return String(decoding: data, as: UTF8.self)
  }
}
