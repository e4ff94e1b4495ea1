import Testing
import UpdateMachine

@testable import Simulator

struct HonestyOracleTests {
  private static let since = Moment(milliseconds: 5)
  private static let request = Outstanding(
    id: RequestID(incarnation: Incarnation(1), number: 1), sent: since, waits: true)

  private static let claims: [Freshness.Claim] = [
    .unknown, .halted(.credentials), .halted(.unsupported), .halted(.stopped), .resting, .connected,
    .connecting(since: since), .unreachable(since: since),
  ]

  // MARK: What a claim promises

  @Test func `the claim connected is refused above the bound`() {
    let bound = TimeSpan.seconds(100)
    #expect(HonestyOracle.allows(.connected, staleness: .zero, bound: bound))
    #expect(HonestyOracle.allows(.connected, staleness: bound, bound: bound))
    #expect(!HonestyOracle.allows(.connected, staleness: .milliseconds(100_001), bound: bound))
    #expect(!HonestyOracle.allows(.connected, staleness: .forever, bound: bound))
  }

  @Test(arguments: claims.filter { $0 != .connected })
  func `claims other than connected do not limit the age`(claim: Freshness.Claim) {
    #expect(HonestyOracle.allows(claim, staleness: .forever, bound: .zero))
  }

  @Test func `the bound is the sum of the machine's settings`() {
    let bound = HonestyOracle.bound(
      settings: MachineSettings(), terms: .unspoken, latency: .seconds(1))
    // In seconds: long deadline 100, write 10, two latencies 2, quick deadline 10, twice late 4,
    // debounce 0.3.
    #expect(bound == .milliseconds(126_300))
    let farther = HonestyOracle.bound(
      settings: MachineSettings(), terms: .unspoken, latency: .seconds(2))
    #expect(farther == .milliseconds(128_300))
  }

  // MARK: Claims that fit

  @Test(
    arguments: [
      (.stale, [.resting]), (.idle, [.resting]),
      (.registering(request), [.connected, .connecting(since: since), .unreachable(since: since)]),
      (.registerFailed, [.connected, .connecting(since: since), .unreachable(since: since)]),
      (
        .live(.polling(request)),
        [.connected, .connecting(since: since), .unreachable(since: since)]
      ),
      (.live(.writing), [.connected, .connecting(since: since), .unreachable(since: since)]),
      (.live(.pausing), [.connected, .connecting(since: since), .unreachable(since: since)]),
      (.pollFailed, [.connected, .connecting(since: since), .unreachable(since: since)]),
      (.halted(.credentials), [.halted(.credentials)]),
      (.halted(.unsupported), [.halted(.unsupported)]), (.halted(.stopped), [.halted(.stopped)]),
    ] as [(MachineStatus, [Freshness.Claim])])
  func `each status allows exactly its own claims`(
    status: MachineStatus, allowed: [Freshness.Claim]
  ) {
    let fitting = HonestyOracleTests.claims.filter { HonestyOracle.fits($0, status) }
    #expect(Set(fitting) == Set(allowed))
  }

  // MARK: Changes that were announced

  private func noted(_ claim: Freshness.Claim, changesAt: Int64?) -> HonestyOracle {
    var oracle = HonestyOracle()
    oracle.note(claim, changesAt: changesAt.map { Moment(milliseconds: $0) })
    return oracle
  }

  private func look(
    _ oracle: HonestyOracle, _ claim: Freshness.Claim, at moment: Int64
  ) -> String? {
    oracle.look(claim, at: Moment(milliseconds: moment))
  }

  @Test func `any claim is accepted before one is noted`() {
    #expect(look(HonestyOracle(), .connected, at: 0) == nil)
  }

  @Test func `a claim that holds until the next input is accepted`() {
    let oracle = noted(.connected, changesAt: nil)
    #expect(look(oracle, .connected, at: 1_000_000) == nil)
    #expect(look(oracle, .resting, at: 1) == "connected until the next input")
  }

  @Test func `a claim that changes at the announced moment is accepted`() {
    let oracle = noted(.connected, changesAt: 300)
    #expect(look(oracle, .connected, at: 299) == nil)
    #expect(look(oracle, .connecting(since: HonestyOracleTests.since), at: 300) == nil)
    #expect(look(oracle, .connecting(since: HonestyOracleTests.since), at: 9000) == nil)
  }

  @Test func `a claim that changes too early, or not at all, is refused`() {
    let oracle = noted(.connected, changesAt: 300)
    #expect(
      look(oracle, .connecting(since: HonestyOracleTests.since), at: 299) == "connected until 300")
    #expect(look(oracle, .connected, at: 300) == "another claim than connected since 300")
    #expect(look(oracle, .connected, at: 5000) == "another claim than connected since 300")
  }

  @Test func `only the last claim counts`() {
    var oracle = noted(.connected, changesAt: 300)
    oracle.note(.resting, changesAt: nil)
    #expect(look(oracle, .resting, at: 400) == nil)
    #expect(look(oracle, .connected, at: 400) == "resting until the next input")
  }
}
