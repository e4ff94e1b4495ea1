import TestSupport
import Testing

@testable import UpdateMachine

/// What a banner says beside its claim: when the next try is due, and that a herd's return is no
/// failure.
@Suite struct NextAttemptTests {
  /// A client that follows from a:7 since 100 s, with a waiting poll out.
  private func following() -> ClientHand<Ledger, LedgerSync> {
    var hand = ClientHand<Ledger, LedgerSync>()
    hand.put(.app(.started(foreground: true)))
    hand.put(.snapshotArrived(.of(1), [1], finger: Spot("a", 7), terms: testTerms))
    hand.put(
      .batchArrived(hand.request!, LedgerBatch(first: 8, events: [2])), after: .seconds(100))
    return hand
  }

  private func fail(
    _ hand: inout ClientHand<Ledger, LedgerSync>, _ failure: SyncFailure,
    after span: TimeSpan = .seconds(1)
  ) {
    hand.put(.failed(hand.request!, failure, hasLeft: true), after: span)
  }

  private func freshness(_ hand: ClientHand<Ledger, LedgerSync>) -> Freshness {
    hand.client.freshness(at: hand.now)
  }

  // MARK: The next attempt

  @Test func `a client that follows tells no next attempt`() {
    #expect(freshness(following()).nextAttempt == nil)
  }

  @Test func `a failed poll is tried again by the end of its wait`() {
    var hand = following()
    fail(&hand, .rateLimited(after: .seconds(60)))
    #expect(hand.client.status == .pollFailed)
    #expect(freshness(hand).nextAttempt == hand.timers[.machine]?.range.latest)
    #expect(freshness(hand).nextAttempt == .ms(101_000 + 66_000))
    hand.fire(.machine)
    #expect(freshness(hand).nextAttempt == nil, "it is out")
  }

  @Test func `a failed register is tried again by the end of its wait`() {
    var hand = ClientHand<Ledger, LedgerSync>()
    hand.put(.app(.started(foreground: true)))
    fail(&hand, .serverFault)
    #expect(hand.client.status == .registerFailed)
    #expect(freshness(hand).nextAttempt == .ms(2_000))
  }

  @Test func `in the background no attempt is due`() {
    var hand = following()
    fail(&hand, .unreachable)
    hand.put(.app(.backgrounded))
    #expect(freshness(hand).nextAttempt == nil)
  }

  /// The value knows a range; the actor draws from it.
  @Test func `a driver tells the moment that it drew`() {
    struct Early: Chance {
      func draw(from range: MomentRange) -> Moment { range.earliest }
      func newIncarnation() -> Incarnation { Incarnation(1) }
      func newSeed() -> UInt64 { 1 }
    }
    let bench = Bench()
    bench.machine = LedgerDriver(
      source: bench.source, replicas: nil, clock: bench.clock, chance: Early(),
      executor: bench.executor)
    _ = bench.run()
    bench.drain()
    bench.source.fail(.serverFault)
    bench.drain()
    #expect(bench.status == "registerFailed")
    #expect(bench.state.freshness.nextAttempt == .ms(1))
    bench.advance(.milliseconds(1))
    #expect(bench.state.freshness.nextAttempt == nil)
    #expect(bench.source.asked == ["register", "register"])
  }

  @Test func `a failed push says when it is sent again`() {
    let (bench, _) = MutationBench.following()
    #expect(bench.state.nextPush == nil)
    _ = bench.ticket(.set("a", 1))
    #expect(bench.state.nextPush == nil, "it is out")
    bench.failPush(.rateLimited(after: .seconds(60)))
    let next = bench.state.nextPush
    #expect(next == bench.read { $0.client.local?.outbox.nextPush })
    #expect(next.map { $0 - bench.state.at } == .seconds(66))
    bench.advance(.seconds(66))
    #expect(bench.state.nextPush == nil)
    #expect(bench.pushes.count == 2)
  }

  // MARK: A herd

  @Test func `the wait of a herd shows as connecting, and so does its register`() {
    var hand = following()
    fail(&hand, .expired)
    #expect(hand.client.status == .registerFailed)
    #expect(hand.timers[.machine]?.range.latest == hand.now + .seconds(5))
    let lost = hand.now
    hand.now = hand.now + .seconds(1)
    #expect(freshness(hand).claim == .connecting(since: lost))
    #expect(freshness(hand).nextAttempt == lost + .seconds(5))
    hand.fire(.machine)
    #expect(hand.client.status.description == "registering")
    #expect(freshness(hand).claim == .connecting(since: lost))
  }

  @Test func `a register that fails after the wait of a herd is a failure`() {
    var hand = following()
    fail(&hand, .expired)
    let lost = hand.now
    hand.fire(.machine)
    fail(&hand, .unreachable)
    #expect(freshness(hand).claim == .unreachable(since: lost))
  }

  @Test func `a failure before the herd's expiry is still told`() {
    var hand = following()
    fail(&hand, .unreachable)
    let lost = hand.now
    hand.fire(.machine)
    fail(&hand, .expired)
    #expect(freshness(hand).claim == .unreachable(since: lost))
  }

  @Test func `a refusal that costs the finger is a failure`() {
    var hand = following()
    fail(&hand, .rejected(.none))
    let lost = hand.now
    hand.now = hand.now + .seconds(1)
    #expect(freshness(hand).claim == .unreachable(since: lost))
  }

  @Test func `a second outage is told as itself`() {
    var hand = following()
    fail(&hand, .expired)
    hand.fire(.machine)
    hand.put(.snapshotArrived(hand.request!, [1], finger: Spot("b", 0), terms: testTerms))
    #expect(freshness(hand).claim == .connected)
    hand.now = hand.now + .seconds(100)
    fail(&hand, .unreachable)
    let lost = hand.now
    hand.now = hand.now + .seconds(1)
    #expect(freshness(hand).claim == .unreachable(since: lost))
  }
}
