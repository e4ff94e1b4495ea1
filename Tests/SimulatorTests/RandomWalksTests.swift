import Testing
import UpdateMachine

@testable import Simulator

/// Random walks through a world whose states are known.
struct RandomWalksTests {
  private let model = TwoPhaseCommit(participants: 3)

  private func walks(
    _ way: RandomWalks<TwoPhaseCommit>.Way, steps: Int64, seed: UInt64 = 1
  ) -> RandomWalks<TwoPhaseCommit> {
    let walks = RandomWalks(model, way, length: 22, seed: seed)
    while walks.steps < steps { walks.walk() }
    return walks
  }

  @Test(arguments: RandomWalks<TwoPhaseCommit>.Way.allCases)
  func `equal seeds give equal walks`(way: RandomWalks<TwoPhaseCommit>.Way) {
    let (first, second) = (walks(way, steps: 3000), walks(way, steps: 3000))
    #expect(first.reached == second.reached && first.walks == second.walks)
    #expect(first.steps == second.steps && first.repeated == second.repeated)
    let other = walks(way, steps: 3000, seed: 2)
    #expect((first.reached, first.walks, first.steps) != (other.reached, other.walks, other.steps))
  }

  @Test func `walks that look for news come to more states with as many steps`() {
    let uniform = walks(.uniform, steps: 4000)
    let novelty = walks(.novelty, steps: 4000)
    #expect(uniform.repeated == 0)
    #expect(novelty.repeated > 0 && novelty.repeated < novelty.steps)
    #expect(novelty.reached > uniform.reached * 5 / 4)
  }

  @Test func `walks come to all states in the end, and to no others`() {
    let distinct = Explorer(model).run().counts.distinct
    #expect(walks(.novelty, steps: 20_000).reached == distinct)
    #expect(walks(.uniform, steps: 20_000).reached < distinct)
  }
}
