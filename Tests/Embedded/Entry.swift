// The program that is run on both sides of the walls: natively, and as Embedded Swift for
// WebAssembly (`Tests/walls`). It prints one line for each seed, and a few more; all must be equal.

internal import Simulator
internal import UpdateMachine

/// Prints each seed with the hash of its world's life, and what the explorer finds in a small world.
@main
struct Entry {
  /// As many as CI compares.
  static let seeds: ClosedRange<UInt64> = 1...20

  static func main() {
    for seed in seeds {
      print("seed \(seed) \(Simulation<Chat>.run(SimulationConfiguration(seed: seed)).hash)")
    }
    for votes in 2...3 {
      let explored = Explorer(TwoPhaseCommit(participants: 3, votesNeeded: votes)).run()
      print("explored \(explored.counts.generated), \(explored.counts.distinct) distinct")
      for line in explored.counterexample?.lines ?? [] { print(line) }
    }
    let small = Explorer(SmallWorld(clients: 2, queueLength: 2), depthLimit: 7).run()
    print("small world \(small.counts.generated), \(small.counts.distinct), \(small.coverage)")
    knowledge()
    print(lifeOfMap())
    print(lifeOfClientView())
  }

  /// Prints a digest of what a long history of inserts and removals leaves known.
  static func knowledge() {
    var known = Knowledge()
    var digest = Digest()
    for step in 0..<3000 as Range<UInt64> {
      let chance = Digest.mixed(step)
      let low = Int64(chance % 2000)
      let span = Interval(from: MessageID(low), to: MessageID(low + Int64(chance >> 32 & 3)))
      if chance >> 40 & 3 == 0 { known.remove(span) } else { known.insert(span) }
      let gap = known.gap(atOrBelow: span.upperEnd)
      digest.fold(gap?.lowerEnd.id?.number ?? 0)
      if step == 5 { print("knowledge \(known)") }
    }
    for interval in known.intervals { digest.fold(interval.upperEnd.id?.number ?? 0) }
    print("knowledge \(digest), \(known.count) intervals, \(known.gaps().count) gaps")
  }

  /// A map and its forks, changed in all the ways that there are; what is in them at the end.
  static func lifeOfMap() -> String {
    var choices = Choices(seed: 1)
    var map = ChecksummedMap<Int64, String>()
    var forks: [ChecksummedMap<Int64, String>] = []
    for step in 0..<5000 as Range<Int64> {
      let key = choices.draw(.workload, in: 0...1500)
      switch choices.draw(.workload, below: 100) {
      case 0: forks.append(map)
      case 1: map.removeAll(in: key...(key + 50))
      case 2..<40: map[key] = nil
      default: map[key] = "\(step)"
      }
    }
    var changes = 0
    for fork in forks {
      let difference = map.map.difference(from: fork.map)
      changes += difference.changes.count
      var applied = fork
      applied.apply(difference)
      precondition(applied == map && applied.checksum == map.checksum, "a difference leads there")
    }
    let scanned = VersionedMap(sorted: map.map).checksum == map.checksum
    return "map \(map.count), \(map.checksum), \(forks.count) forks, \(changes) changes, \(scanned)"
  }
}
