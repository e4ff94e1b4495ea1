import Simulator
import Testing

/// Seeds that once found a bug, each with its story. They must stay free of findings.
@Suite struct PinnedSeedTests {
  /// The faults that existed when the seeds were pinned. Each new fault would change the runs of
  /// some seeds.
  static let faults: FaultSet = {
    var faults = FaultSet.none
    let newer: FaultSet = [
      .fullDisk, .damagedForm, .oldOutbox, .crashAtWrite, .unloadedRows, .failedRead,
      .appUpdate, .smallPushes, .undo,
    ]
    for fault in FaultSet.all.list where !newer.contains(fault) {
      faults.insert(fault)
    }
    return faults
  }()

  /// The faults with which rows are read.
  static let rowFaults: FaultSet = [
    .lostAnswer, .crash, .stopAndStart, .slowLoad, .unloadedRows, .failedRead,
  ]

  private func lived<App: SimulatedApp>(
    _ app: App.Type, _ seed: UInt64, isSwarm: Bool = false
  ) -> ToldRun {
    let (result, trace) = Simulation<App>.trace(
      SimulationConfiguration(seed: seed, faults: Self.faults, isSwarm: isSwarm))
    #expect(result.finding == nil)
    return ToldRun(trace.lines)
  }

  /// The story is told at `HonestyOracle.bound`. A sleep that ends before the poll's deadline
  /// leaves no trace, so an answer that lay in the device counts as news.
  @Test func `seed 7274: an answer that waited in a sleeping device counts as news`() {
    let life = lived(DirectoryApp.self, 7274, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("batchArrived") })
  }

  /// Like seed 7274, but a failure comes before the next good answer.
  @Test func `seed 27200: a failure proves nothing about freshness`() {
    let life = lived(DirectoryApp.self, 27200, isSwarm: true)
    #expect(life.firstWordsAfterSleep.contains { $0.hasPrefix("failed") })
  }

  /// Two clients' requests had the same number, and one exchange's index was reused for the other.
  /// So giving up the first lost the second one's answer.
  @Test func `seed 3: a client that gives up a request takes no other's answer`() {
    #expect(lived(DirectoryApp.self, 3).givesUpWhatAnotherIsAnswered)
  }

  /// A return to the foreground paid a wake for a slow wait that the oracle had forgotten. The
  /// oracle's count of slow failures restarted after a minute; the machine's restarts only after a
  /// minute plus the wait.
  @Test func `seed 33: a paid wake makes the next wait short`() {
    #expect(lived(DirectoryApp.self, 33).isSeenBetweenSlowFailures)
  }

  /// A push ran before its client's register and was answered after the register had left. So the
  /// post was in the snapshot, but its echo in no log. It stayed accepted, and was shown twice, for
  /// ever. Now a poll that leaves after the answer and brings no echo confirms the post.
  @Test func `seed 3 of posts: a push that overtook a register is confirmed`() {
    #expect(lived(PostsApp.self, 3).hasPushAroundRegister)
  }

  /// Rows at the end of the line were read, and the next read failed. The end had stayed unloaded,
  /// and was forgotten with the rest.
  @Test func `seed 1222 of messages: a failed read keeps what an earlier one read at the end`() {
    let (result, trace) = Simulation<MessagesApp>.trace(
      SimulationConfiguration(seed: 1222, faults: Self.rowFaults, isSwarm: false))
    #expect(result.finding == nil)
    let life = ToldRun(trace.lines)
    let read = life.lines.firstIndex { $0.text.hasPrefix("rowsRead storage 1, ") }
    let failed = life.lines.firstIndex { $0.text.hasPrefix("rowsFailed storage 2 failed") }
    #expect(read != nil && failed != nil && read! < failed!)
  }

  /// A page waited for rows that could not be read. In one step the rows were given up and the page
  /// was taken. The oracle took what the page brought for what had been held all the time.
  @Test func `seed 1769 of messages: a page taken in the step that gives up its rows is new`() {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: 1769))
    #expect(result.finding == nil)
    #expect(
      ToldRun(trace.lines).lines.contains {
        $0.text.hasPrefix("rowsFailed") && $0.text.contains("disarm pages")
      })
  }

  /// A process crashed while it wrote. All messages had been read by then, but the places of lists
  /// were still unloaded. The simulated disk took those places for rows that nobody had written.
  @Test func `seed 3826 of messages: a list's places may be unloaded when its messages are not`() {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: 3826))
    #expect(result.finding == nil)
    #expect(result.faults[.unloadedRows] > 0 && result.faults[.crashAtWrite] > 0)
    #expect(ToldRun(trace.lines).lines.contains { $0.text.hasPrefix("rowsRead") })
  }

  /// A checker's mistake: rows were being read when the user logged out. The erase waits for that.
  @Test func `seed 2975 of messages: an erase waits for a read`() {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: 2975))
    #expect(result.finding == nil)
    let life = ToldRun(trace.lines)
    let waiting = life.lines.contains {
      $0.text.hasPrefix("loggedOut → halted(stopped)") && !$0.text.contains("erase")
    }
    #expect(waiting)
    #expect(life.lines.contains { $0.text.hasPrefix("rows") && $0.text.contains("erase") })
  }

  /// A mistake of the world: a user logged out and in again before the erase had begun. Then an
  /// older outbox came back, and its user did not know what had been sent since.
  @Test func `seed 14352 of posts: no backup comes back after a log-out`() {
    let (result, trace) = Simulation<PostsApp>.trace(SimulationConfiguration(seed: 14352))
    #expect(result.finding == nil)
    let life = ToldRun(trace.lines).lines
    let out = life.firstIndex {
      $0.text.hasPrefix("loggedOut → halted(stopped)") && !$0.text.contains("erase")
    }
    let again = life.lastIndex { $0.text.hasPrefix("started in the foreground → registering") }
    #expect(out != nil && again != nil && out! < again!)
  }

  /// Changes that had become one were edited into something that had no effect. The undo made the
  /// inverse of the last of them, and took back what nobody had done.
  @Test func `seed 4777 of the ledger: an edited change has no inverse of another`() {
    let (result, trace) = Simulation<LedgerApp>.trace(SimulationConfiguration(seed: 4777))
    #expect(result.finding == nil)
    #expect(result.faults[.undo] > 0)
    #expect(ToldRun(trace.lines).lines.contains { $0.text.contains("the user makes reserve of") })
  }

  /// An undo was refused by a proxy and tried again. Then the server refused an earlier change,
  /// which calls back all behind it, and the undone change. The undo kept the mark that the server
  /// might have a copy, and was sent again alone.
  @Test func `seed 6769 of the ledger: a refusal leaves no copy behind it`() {
    let (result, trace) = Simulation<LedgerApp>.trace(SimulationConfiguration(seed: 6769))
    #expect(result.finding == nil)
    #expect(result.faults[.undo] > 0 && result.faults[.rejectedRequest] > 0)
    #expect(
      ToldRun(trace.lines).lines.contains { $0.text.contains("refused 18 (unlucky)") })
  }

  /// A checker's mistake: an insert was redone after others had updated the object. It keeps what
  /// its maker had seen, so it may lose against them.
  @Test func `seed 1556 of streams: what is redone unsent may lose against what came since`() {
    let (result, trace) = Simulation<StreamsApp>.trace(SimulationConfiguration(seed: 1556))
    #expect(result.finding == nil)
    #expect(
      ToldRun(trace.lines).lines.contains {
        // It was made after event 11, and is redone behind event 18.
        $0.text.hasPrefix("the user redoes") && $0.text.contains("#13 insert unsent: insert q")
          && $0.text.contains(" after 11/13")
      })
  }

  /// A checker's mistake: one answer brought a change that the law dropped when it came, and an
  /// event with an earlier place that made its object anew.
  @Test func `seed 992 of streams: what is overruled may take effect by a later event`() {
    let (result, trace) = Simulation<StreamsApp>.trace(SimulationConfiguration(seed: 992))
    #expect(result.finding == nil)
    #expect(ToldRun(trace.lines).lines.contains { $0.text.contains(", 32 events") })
  }

  /// A copy of an earlier answer came on a subscription. It brought nothing, and counted as
  /// progress: the subscription ended, and the client asked anew without a wait.
  @Test func `seed 6229 of streams: an old copy on a subscription brings nothing`() {
    let (result, trace) = Simulation<StreamsApp>.trace(SimulationConfiguration(seed: 6229))
    #expect(result.finding == nil)
    #expect(result.faults[.repeatedAnswer] > 0)
    let subscribed = ToldRun(trace.lines).lines.filter { $0.text.hasPrefix("batchArrived") }
    #expect(subscribed.contains { $0.text.contains("live.pausing") })
  }

  /// A proxy refused a push while an older copy was still on its way, and that copy was run. In one
  /// seed the changes behind the first got other IDs, and one took effect twice. In another a
  /// change that had taken effect stayed set aside. The seeds were found anew when worlds began to
  /// be subscriptions.
  @Test(arguments: [161, 180, 317] as [UInt64])
  func `seeds of the ledger: a push that was refused on its way may have been run`(seed: UInt64) {
    let run = Simulation<LedgerApp>.trace(SimulationConfiguration(seed: seed, faults: Self.faults))
    #expect(run.0.finding == nil)
    #expect(ToldRun(run.1.lines).refusesAPushOfWhichACopyIsUnderWay)
  }
}
