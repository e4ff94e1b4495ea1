import TestSupport
import Testing

@testable import UpdateMachine

/// How old the state is, told across a restart: a moment of one process means nothing to the next,
/// so the saved form holds spans.
@Suite struct RestoredAgeTests {
  /// A client that registered at 0, was answered at 50, and has saved what came.
  private func registered() -> ClientHand<Ledger, LedgerSync> {
    var hand = ClientHand<Ledger, LedgerSync>()
    hand.put(.app(.started(foreground: true)))
    hand.put(
      .snapshotArrived(.of(1), [1], finger: Spot("a", 7), terms: testTerms),
      after: .milliseconds(50))
    return hand
  }

  /// A client that reads a form of this age at 1,000 ms of its own clock.
  private func restarted(
    _ saved: LedgerClient.Saved?, age: TimeSpan?, starts: Bool = true
  ) -> ClientHand<Ledger, LedgerSync> {
    var hand = ClientHand<Ledger, LedgerSync>(incarnation: 2, store: nil)
    hand.put(.app(.started(foreground: true)))
    if !starts { hand.put(.app(.stopped)) }
    hand.put(.loaded(saved, age: age), after: .seconds(1))
    return hand
  }

  private func level<Model, Sync>(_ hand: ClientHand<Model, Sync>) -> Moment? {
    hand.client.freshness(at: hand.now).upToDateAsOf
  }

  @Test func `a saved form says how long before the write its state was up to date`() {
    var hand = registered()
    #expect(hand.client.saved?.upToDateAge == .milliseconds(50))
    hand.put(.app(.backgrounded), after: .seconds(9))
    #expect(hand.client.saved?.upToDateAge == .milliseconds(9_050))
  }

  @Test func `a restored state is as old as its form and its age at the write together`() {
    let saved = registered().client.saved
    let hand = restarted(saved, age: .seconds(1_200))
    #expect(level(hand) == .ms(1_000 - 1_200_000 - 50))
    #expect(hand.client.freshness(at: hand.now).claim == .connecting(since: .ms(1_000)))
    let stopped = restarted(saved, age: .seconds(5), starts: false)
    #expect(level(stopped) == .ms(1_000 - 5_000 - 50))
  }

  @Test func `a form of unknown age, or without one at the write, says nothing`() {
    var saved = registered().client.saved
    #expect(level(restarted(saved, age: nil)) == nil)
    saved?.upToDateAge = nil
    #expect(level(restarted(saved, age: .seconds(5))) == nil)
    #expect(level(restarted(nil, age: nil)) == nil)
  }

  @Test func `the age goes on through a second restart without an answer`() {
    var hand = restarted(registered().client.saved, age: .seconds(60))
    hand.put(.app(.stopped), after: .seconds(2))
    let again = restarted(hand.client.saved, age: .seconds(30))
    #expect(level(again) == .ms(1_000 - 30_000 - 2_000 - 60_000 - 50))
  }

  @Test func `a snapshot that is not all there is ends the restored age`() {
    var hand = restarted(registered().client.saved, age: .seconds(60))
    hand.put(.failed(hand.request!, .expired, hasLeft: true))
    while hand.request == nil { hand.fire(.machine) }
    hand.put(
      .snapshotArrived(
        hand.request!, [0], finger: Spot("b", 1), terms: testTerms, isComplete: false))
    #expect(level(hand) == nil)
    #expect(hand.client.saved?.upToDateAge == nil)
  }

  @Test func `an up-to-date answer takes the place of the restored age`() {
    var hand = restarted(registered().client.saved, age: .seconds(60))
    hand.put(
      .batchArrived(hand.request!, LedgerBatch(first: 8, events: [])), after: .milliseconds(50))
    #expect(level(hand) == .ms(1_000))
  }

  @Test func `a log-out forgets the restored age`() {
    var hand = restarted(registered().client.saved, age: .seconds(60))
    hand.put(.app(.loggedOut))
    #expect(level(hand) == nil)
  }

  /// The rules of the machine trust only what it has seen itself: a wall clock cannot excuse an
  /// outage, nor keep a dead finger alive.
  @Test func `the machine itself knows nothing of the restored age`() {
    let hand = restarted(registered().client.saved, age: .seconds(5))
    #expect(hand.client.machine.freshness(at: hand.now).upToDateAsOf == nil)
    #expect(hand.client.freshness(at: hand.now).claim == .connecting(since: .ms(1_000)))
    let old = restarted(registered().client.saved, age: .seconds(761))
    #expect(old.client.status.description == "registering")
  }

  @Test func `a driver restores the age with the state`() {
    var saved = Bench.saved
    saved.upToDateAge = .seconds(7)
    let bench = Bench(store: ScriptedStore(saved, writtenAt: 940_000))
    _ = bench.run()
    bench.drain()
    #expect(bench.state.freshness.upToDateAsOf == .ms(-67_000))
  }
}
