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
  }
}
