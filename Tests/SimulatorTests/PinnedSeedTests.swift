import Simulator
import Testing

/// Seeds that once found something, each with its story. They must stay well.
@Suite struct PinnedSeedTests {
  /// Those that there were when the seeds were pinned: each new one is another life in some of them.
  static let faults: FaultSet = {
    var faults = FaultSet.none
    let newer: FaultSet = [.fullDisk, .damagedForm, .oldOutbox, .crashAtWrite]
    for fault in FaultSet.all.list where !newer.contains(fault) {
      faults.insert(fault)
    }
    return faults
  }()

  private func lived<App: SimulatedApp>(
    _ app: App.Type, _ seed: UInt64, isSwarm: Bool = false
  ) -> ToldLife {
    let (result, trace) = Simulation<App>.trace(
      SimulationConfiguration(seed: seed, faults: Self.faults, isSwarm: isSwarm))
    #expect(result.finding == nil)
    return ToldLife(trace.lines)
  }

  /// The story is told at `HonestyOracle.bound`: a sleep that ends before the poll's deadline leaves
  /// no trace, so an answer that lay in the device is taken for news.
  @Test func `seed 7274: an answer that lay in a sleeping device`() {
    let life = lived(Chat.self, 7274, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("batchArrived") })
  }

  /// As seed 7274, with a failure that came before the next good answer.
  @Test func `seed 27200: a failure vouches for nothing`() {
    let life = lived(Chat.self, 27200, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("failed") })
  }

  /// Two clients' requests had the same number, and one's place among the exchanges had gone to the
  /// other: giving the one up lost the other's answer.
  @Test func `seed 3: who gives up a request takes nobody else's answer`() {
    #expect(lived(Chat.self, 3).givesUpWhatAnotherIsAnswered)
  }

  /// A return to the foreground paid a wake for a slow wait that the oracle had forgotten: its count
  /// of slow failures begins anew after a minute, the machine's only after a minute and the wait.
  @Test func `seed 33: a paid wake makes the next wait short, whoever knows of it`() {
    #expect(lived(Chat.self, 33).isSeenBetweenSlowFailures)
  }

  /// A push was run before its client's register, and answered after that had left: the post was in the
  /// snapshot, its echo in no log, and it was accepted, and shown twice, for ever. A poll that leaves
  /// after the answer and brings no echo now says that it is in.
  @Test func `seed 5 of posts: a push that overtook a register is confirmed all the same`() {
    #expect(lived(Posts.self, 5).hasPushAroundRegister)
  }

  /// A proxy refused a push of which an older copy was still on its way, and was run. 292: the changes
  /// behind the first got other IDs, and one was made twice. 1037: two IDs were left out, and the
  /// server waited for them for ever. 1546: one that had been made stayed set aside.
  @Test(arguments: [292, 1037, 1546] as [UInt64])
  func `seeds of the ledger: a push that was refused on its way may have been run`(seed: UInt64) {
    let run = Simulation<Ledger>.trace(SimulationConfiguration(seed: seed, faults: Self.faults))
    #expect(run.0.finding == nil)
    #expect(run.0.faults[.rejectedRequest] > 0)
  }
}
