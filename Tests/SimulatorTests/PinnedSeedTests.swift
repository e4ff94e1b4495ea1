import Simulator
import Testing

/// Seeds that once found something, each with its story. They must stay well.
@Suite struct PinnedSeedTests {
  /// The faults that existed when the seeds were pinned: each new one changes the runs of some
  /// seeds.
  static let faults: FaultSet = {
    var faults = FaultSet.none
    let newer: FaultSet = [
      .fullDisk, .damagedForm, .oldOutbox, .crashAtWrite, .unloadedRows, .failedRead,
    ]
    for fault in FaultSet.all.list where !newer.contains(fault) {
      faults.insert(fault)
    }
    return faults
  }()

  /// Those under which rows are read.
  static let rowFaults: FaultSet = [
    .lostAnswer, .crash, .stopAndStart, .slowLoad, .unloadedRows, .failedRead,
  ]

  private func lived<App: SimulatedApp>(
    _ app: App.Type, _ seed: UInt64, isSwarm: Bool = false
  ) -> ToldLife {
    let (result, trace) = Simulation<App>.trace(
      SimulationConfiguration(seed: seed, faults: Self.faults, isSwarm: isSwarm))
    #expect(result.finding == nil)
    return ToldLife(trace.lines)
  }

  /// The story is told at `HonestyOracle.bound`: a sleep that ends before the poll's deadline
  /// leaves no trace, so an answer that lay in the device is taken for news.
  @Test func `seed 7274: an answer that waited in a sleeping device`() {
    let life = lived(DirectoryApp.self, 7274, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("batchArrived") })
  }

  /// As seed 7274, with a failure that came before the next good answer.
  @Test func `seed 27200: a failure proves nothing about freshness`() {
    let life = lived(DirectoryApp.self, 27200, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("failed") })
  }

  /// Two clients' requests had the same number, and one's place among the exchanges had gone to the
  /// other: giving the one up lost the other's answer.
  @Test func `seed 3: a client that gives up a request takes no other's answer`() {
    #expect(lived(DirectoryApp.self, 3).givesUpWhatAnotherIsAnswered)
  }

  /// A return to the foreground paid a wake for a slow wait that the oracle had forgotten: its
  /// count of slow failures begins anew after a minute, the machine's only after a minute and the
  /// wait.
  @Test func `seed 33: a paid wake makes the next wait short`() {
    #expect(lived(DirectoryApp.self, 33).isSeenBetweenSlowFailures)
  }

  /// A push was run before its client's register, and answered after that had left: the post was in
  /// the snapshot, its echo in no log, and it was accepted, and shown twice, for ever. A poll that
  /// leaves after the answer and brings no echo now says that it is in.
  @Test func `seed 3 of posts: a push that overtook a register is confirmed`() {
    #expect(lived(PostsApp.self, 3).hasPushAroundRegister)
  }

  /// Rows at the end of the line were read, and the next reading failed. The end had stayed
  /// unloaded, and was forgotten with the rest.
  @Test func `seed 1222 of messages: a read fails after one at the end of the line`() {
    let (result, trace) = Simulation<MessagesApp>.trace(
      SimulationConfiguration(seed: 1222, faults: Self.rowFaults, isSwarm: false))
    #expect(result.finding == nil)
    let life = ToldLife(trace.lines)
    let read = life.lines.firstIndex { $0.text.hasPrefix("rowsRead storage 1, ") }
    let failed = life.lines.firstIndex { $0.text.hasPrefix("rowsFailed storage 2 failed") }
    #expect(read != nil && failed != nil && read! < failed!)
  }

  /// A page waited for rows, which could not be read: they were given up, and the page was taken,
  /// in one step. The oracle took what the page brought for what had been held all the time.
  @Test func `seed 1769 of messages: a page given up and fetched in one step is new`() {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: 1769))
    #expect(result.finding == nil)
    #expect(
      ToldLife(trace.lines).lines.contains {
        $0.text.hasPrefix("rowsFailed") && $0.text.contains("disarm pages")
      })
  }

  /// All messages had been read, and the places of lists still lay on the disk, when a process
  /// crashed as it wrote. The disk took those places for rows that nobody had written.
  @Test func `seed 3826 of messages: a list whose places are unloaded when its messages are not`() {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: 3826))
    #expect(result.finding == nil)
    #expect(result.faults[.unloadedRows] > 0 && result.faults[.crashAtWrite] > 0)
    #expect(ToldLife(trace.lines).lines.contains { $0.text.hasPrefix("rowsRead") })
  }

  /// A proxy refused a push of which an older copy was still on its way, and was run. 292: the
  /// changes behind the first got other IDs, and one was made twice. 1546: one that had been made
  /// stayed set aside.
  @Test(arguments: [84, 292, 1546] as [UInt64])
  func `seeds of the ledger: a push that was refused on its way may have been run`(seed: UInt64) {
    let run = Simulation<LedgerApp>.trace(SimulationConfiguration(seed: seed, faults: Self.faults))
    #expect(run.0.finding == nil)
    #expect(ToldLife(run.1.lines).refusesAPushOfWhichACopyIsUnderWay)
  }
}
