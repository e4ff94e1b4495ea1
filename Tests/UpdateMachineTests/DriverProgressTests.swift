import TestSupport
import Testing

@testable import UpdateMachine

/// A server whose snapshot comes in three parts. The next one comes when somebody has heard of the
/// one before.
private final class SlowSource: SyncSource {
  typealias Model = Ledger
  typealias Sync = LedgerSync

  let parts: AsyncStream<Void>
  let next: AsyncStream<Void>.Continuation
  /// What it reports.
  let reports: [Double]

  init(reports: [Double]) {
    (parts, next) = AsyncStream.makeStream()
    self.reports = reports
  }

  func register(as client: ClientID) async throws(SyncFailure) -> Registered<Ledger.Snapshot, Spot>
  {
    var parts = parts.makeAsyncIterator()
    for report in reports {
      await SyncProgress.report(report)
      await parts.next()
    }
    return Registered(snapshot: [1], finger: Spot("a", 1), terms: testTerms)
  }

  func poll(after finger: Spot, waits: Bool) async throws(SyncFailure) -> LedgerBatch {
    await SyncProgress.report(0.9)
    return LedgerBatch(first: finger.index + 1, events: [])
  }

  func release(_ log: Spot.Log) async {}
}

/// How far a first sync has got.
@Suite struct DriverProgressTests {
  @Test(.timeLimit(.minutes(5)))
  func `the app sees what the source tells, until it is up to date`() async {
    let source = SlowSource(reports: [0.25, 0.5, 7])
    // Time stands still: a machine that is busy elsewhere does not make the claim lapse.
    let machine = UpdateMachine(source: source, clock: HandClock())
    let states = await machine.states()
    async let running: Void = machine.run()
    var seen: [Double] = []
    for await state in states {
      if state.freshness.claim == .connected {
        #expect(state.progress == nil, "a poll of a client that is up to date tells nothing")
        break
      }
      guard let progress = state.progress, progress != seen.last else { continue }
      #expect(state.model == nil)
      seen.append(progress)
      source.next.yield()
    }
    #expect(seen == [0.25, 0.5, 1])
    await machine.stop()
    await running
    #expect(await machine.state.progress == nil)
  }

  @Test func `outside of a call it does nothing`() async {
    await SyncProgress.report(0.5)
  }
}
