import Testing
import UpdateMachine

@testable import Simulator

/// The named situations: their words, and that counting them changes nothing.
struct SituationTests {
  private func run(
    _ seed: UInt64, faults: FaultSet = .all, isSwarm: Bool = true, counts: Bool = true
  ) -> RunResult {
    var configuration = SimulationConfiguration(
      seed: seed, clients: 2, steps: 200, faults: faults, isSwarm: isSwarm,
      judgesLiveness: false)
    configuration.world = LibraryWorld.drawn(by: seed)
    configuration.countsSituations = counts
    return LibraryWorld.run(configuration)
  }

  @Test func `each situation has a name and a sentence of its own`() {
    let words = Situation.words
    #expect(words.map(\.situation) == Situation.allCases)
    #expect(Set(words.map(\.name)).count == words.count)
    #expect(Set(words.map(\.sentence)).count == words.count)
    for (_, name, sentence) in words {
      #expect(name.allSatisfy { $0 == "-" || $0.isLowercase }, "\(name)")
      #expect(sentence.hasSuffix(".") && sentence.count < 90, "\(sentence)")
    }
  }

  @Test func `counting situations changes nothing else, with both engines`() throws {
    for seed: UInt64 in 1...8 {
      let plain = run(seed, counts: false)
      let counted = run(seed)
      #expect(counted.hash == plain.hash && counted.choices == plain.choices)
      #expect(plain.situations == SituationCounts())
    }
    var configuration = SimulationConfiguration(
      seed: 3, clients: 2, steps: 150, judgesLiveness: false)
    let plain = Simulation<PostsApp>.runActors(configuration).result
    configuration.countsSituations = true
    let counted = Simulation<PostsApp>.runActors(configuration).result
    #expect(counted.hash == plain.hash && counted.choices == plain.choices)
    #expect(Situation.allCases.contains { counted.situations.runs(of: $0) > 0 })
  }

  @Test func `a few seeds bring many situations about, each counted once for its run`() {
    var sum = SituationCounts()
    for seed: UInt64 in 1...24 {
      let counts = run(seed).situations
      for situation in Situation.allCases {
        let times = counts.occurrences(of: situation)
        #expect(counts.runs(of: situation) == (times > 0 ? 1 : 0))
        #expect(counts.worlds(of: situation).count == (times > 0 ? 1 : 0))
      }
      sum.add(counts)
    }
    #expect(Situation.allCases.count { sum.runs(of: $0) > 0 } > 25)
    let order = sum.rareFirst
    #expect(Set(order).count == Situation.allCases.count)
    for (rarer, other) in zip(order, order.dropFirst()) {
      #expect(sum.runs(of: rarer) <= sum.runs(of: other))
    }
  }

  @Test func `without faults nothing comes about that needs one`() {
    var sum = SituationCounts()
    for seed: UInt64 in 1...12 { sum.add(run(seed, faults: .none).situations) }
    let needFaults: [Situation] = [
      .lateFailureWhileRetryOut, .secondBatch, .networkChangeDuringBackoff,
      .backgroundWhileRegistering, .expiryFoundByQuickPoll, .rateLimitTwice, .deadlineOverslept,
      .secondPushAnswer, .pushAfterCrash, .logOutWhilePushOut, .crashAfterSave, .saveFailsAgain,
      .undoOfUnsentChange, .pageWaitsForRows, .olderOutboxBack, .snapshotAfterLogOut,
    ]
    for situation in needFaults { #expect(sum.runs(of: situation) == 0, "\(situation.name)") }
    #expect(sum.runs(of: .changeWhileSaving) > 0)
  }

  @Test(arguments: [
    (Fault.crashAtWrite, [Situation.crashAfterSave, .crashTearsSave]),
    (.repeatedAnswer, [.secondBatch, .secondSnapshot]),
    (.queueExpiry, [.expiryOfWaitingPoll]),
    (.slowLoad, [.stopWhileLoading, .backgroundWhileLoading]),
    (.undo, [.undoOfUnsentChange]),
  ])
  func `a fault brings about the situations that it is for`(
    fault: Fault, situations: [Situation]
  ) {
    var sum = SituationCounts()
    for seed: UInt64 in 1...12 {
      sum.add(run(seed, faults: [fault], isSwarm: false).situations)
    }
    for situation in situations { #expect(sum.runs(of: situation) > 0, "\(situation.name)") }
  }

  @Test func `a situation is rare if fewer than ten of ten thousand runs brought it about`() {
    var nine = SituationCounts()
    for _ in 0..<9 {
      var run = SituationCounts()
      run.note(.secondBatch, in: 3)
      run.note(.secondBatch, in: 3)
      nine.add(run)
    }
    #expect(nine.runs(of: .secondBatch) == 9 && nine.occurrences(of: .secondBatch) == 18)
    #expect(nine.worlds(of: .secondBatch) == [3])
    #expect(nine.isRare(.secondBatch, in: 10_000))
    #expect(!nine.isRare(.secondBatch, in: 9000))
    #expect(nine.isRare(.secondSnapshot, in: 10))
    #expect(nine.rareFirst.last == .secondBatch)
  }
}
