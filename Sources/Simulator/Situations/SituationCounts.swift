/// How often each situation came about: in one run, or in many.
///
/// The counts of a run that was not watched are empty, and cost nothing.
package struct SituationCounts: Hashable, Sendable {
  /// How many runs brought each about, and how often; by raw value. Empty: nothing was counted.
  private var runs: [Int64] = []
  private var occurrences: [Int64] = []
  /// The worlds in which each came about, one bit each.
  private var worlds: [UInt64] = []

  package init() {}

  /// How many runs brought the situation about.
  package func runs(of situation: Situation) -> Int64 {
    runs.isEmpty ? 0 : runs[Int(situation.rawValue)]
  }

  /// How often the situation came about.
  package func occurrences(of situation: Situation) -> Int64 {
    occurrences.isEmpty ? 0 : occurrences[Int(situation.rawValue)]
  }

  /// The numbers of the worlds in which the situation came about.
  package func worlds(of situation: Situation) -> [Int] {
    guard !worlds.isEmpty else { return [] }
    let bits = worlds[Int(situation.rawValue)]
    return (0..<64).filter { bits & 1 << UInt64($0) != 0 }
  }

  /// Notes that the situation came about in this world, in the counts of one run.
  mutating func note(_ situation: Situation, in world: Int) {
    makeRoom()
    worlds[Int(situation.rawValue)] |= 1 << UInt64(world)
    runs[Int(situation.rawValue)] = 1
    occurrences[Int(situation.rawValue)] += 1
  }

  /// Adds the counts of other runs.
  package mutating func add(_ other: SituationCounts) {
    guard !other.runs.isEmpty else { return }
    makeRoom()
    for index in runs.indices {
      runs[index] += other.runs[index]
      occurrences[index] += other.occurrences[index]
      worlds[index] |= other.worlds[index]
    }
  }

  private mutating func makeRoom() {
    guard runs.isEmpty else { return }
    runs = Array(repeating: 0, count: Situation.words.count)
    occurrences = runs
    worlds = Array(repeating: 0, count: runs.count)
  }

  /// All situations, those of the fewest runs first.
  package var rareFirst: [Situation] {
    Situation.allCases.sorted {
      (runs(of: $0), occurrences(of: $0), $0.rawValue)
        < (runs(of: $1), occurrences(of: $1), $1.rawValue)
    }
  }

  /// How many of 10,000 runs must bring a situation about.
  package static let enough: Int64 = 10

  /// Whether too few of so many runs brought the situation about: fewer than ``enough`` in 10,000.
  package func isRare(_ situation: Situation, in seeds: Int64) -> Bool {
    runs(of: situation) * 10_000 < SituationCounts.enough * seeds || runs(of: situation) == 0
  }
}
