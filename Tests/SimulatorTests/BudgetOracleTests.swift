import Testing
import UpdateMachine

@testable import Simulator

struct BudgetOracleTests {
  private static func at(_ milliseconds: Int64) -> Moment { Moment(milliseconds: milliseconds) }

  /// What the oracle says of the first of these requests to which it objects.
  private func objection(
    to moments: [Int64], _ oracle: BudgetOracle = BudgetOracle(settings: MachineSettings())
  ) -> String? {
    var oracle = oracle
    for moment in moments {
      if let objection = oracle.noteRequest(at: BudgetOracleTests.at(moment)) {
        return "\(moment): \(objection)"
      }
    }
    return nil
  }

  // MARK: The window

  @Test func `the pace allows eleven requests at once, then one per interval`() {
    let burst = [Int64](repeating: 0, count: 11)
    #expect(objection(to: burst) == nil)
    #expect(objection(to: burst + (1...200).map { $0 * 400 }) == nil)
  }

  @Test func `a twelfth request at once is refused`() {
    #expect(
      objection(to: [Int64](repeating: 7, count: 12)) == "7: at most 11 requests in 0 ms, found 12")
  }

  @Test func `one more request is allowed after the interval, not before`() {
    let burst = [Int64](repeating: 0, count: 11)
    #expect(objection(to: burst + [400]) == nil)
    #expect(objection(to: burst + [399]) == "399: at most 11 requests in 399 ms, found 12")
    #expect(objection(to: burst + [400, 799]) == "799: at most 12 requests in 799 ms, found 13")
  }

  @Test func `a burst after a long time at the full pace is found`() {
    let paced = (0..<300).map { Int64($0) * 400 }
    #expect(objection(to: paced) == nil)
    let last = paced[299]
    #expect(objection(to: paced + [Int64](repeating: last, count: 10)) == nil)
    #expect(
      objection(to: paced + [Int64](repeating: last, count: 11))
        == "\(last): at most 11 requests in 0 ms, found 12")
  }

  @Test func `a pace that is slightly too fast is found in time`() {
    let hasty = (0..<300).map { Int64($0) * 250 }
    #expect(objection(to: hasty) != nil)
  }

  // MARK: Retry-after

  @Test(
    arguments: [
      (asked: nil, kept: 100), (.zero, 100), (.seconds(-5), 100), (.milliseconds(99), 100),
      (.milliseconds(180), 180), (.milliseconds(54_370), 54_370), (.minutes(10), 600_000),
      (.seconds(3600), 600_000), (.forever, 600_000),
    ] as [(asked: TimeSpan?, kept: Int64)])
  func `a request before the end of a clamped retry-after is refused`(
    asked: TimeSpan?, kept: Int64
  ) {
    var oracle = BudgetOracle(settings: MachineSettings())
    oracle.noteRateLimit(after: asked, at: BudgetOracleTests.at(1000))
    #expect(
      objection(to: [999 + kept], oracle)
        == "\(999 + kept): no request before \(1000 + kept), as the server asked")
    #expect(objection(to: [1000 + kept], oracle) == nil)
  }

  // MARK: Escalation

  /// What the oracle says of failures in a row, by default a second apart, each with the longest
  /// wait that followed.
  private func objection(isSlow: Bool, waits: [Int64], apart: Int64 = 1000) -> String? {
    var oracle = BudgetOracle(settings: MachineSettings())
    for (index, wait) in waits.enumerated() {
      let now = BudgetOracleTests.at(Int64(index) * apart)
      if let objection = oracle.noteFailure(
        isSlow: isSlow, asks: false, wait: .milliseconds(wait), at: now)
      {
        return objection
      }
    }
    return nil
  }

  @Test func `waits that double up to the cap are accepted`() {
    let transient: [Int64] = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000]
    #expect(objection(isSlow: false, waits: transient) == nil)
    let slow: [Int64] = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]
    #expect(objection(isSlow: true, waits: slow) == nil)
  }

  @Test func `a wait that did not double is refused`() {
    #expect(
      objection(isSlow: false, waits: [100, 100])
        == "a wait of up to 0.2 s after 2 failures in a row, found 0.1 s")
    #expect(
      objection(isSlow: true, waits: [1000, 2000, 3999])
        == "a wait of up to 4 s after 3 failures in a row, found 3.999 s")
    #expect(objection(isSlow: false, waits: [99]) != nil)
    #expect(objection(isSlow: true, waits: [999]) != nil)
  }

  @Test func `a request at the moment of a failure is refused, even after the first one`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    let now = BudgetOracleTests.at(0)
    #expect(
      oracle.noteFailure(isSlow: false, asks: true, wait: nil, at: now)
        == "a wait after a failure")
    #expect(
      oracle.noteFailure(isSlow: true, asks: true, wait: .seconds(99), at: now)
        == "a wait after a failure")
  }

  @Test func `a client that rests after a failure need not wait`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    #expect(
      oracle.noteFailure(isSlow: false, asks: false, wait: nil, at: BudgetOracleTests.at(0)) == nil)
  }

  @Test func `each kind of failure has its own backoff`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    let now = BudgetOracleTests.at(0)
    func fail(isSlow: Bool, _ wait: Int64) -> String? {
      oracle.noteFailure(isSlow: isSlow, asks: false, wait: .milliseconds(wait), at: now)
    }
    #expect(fail(isSlow: false, 100) == nil)
    #expect(fail(isSlow: true, 1000) == nil)
    #expect(fail(isSlow: false, 200) == nil)
    #expect(fail(isSlow: true, 2000) == nil)
    #expect(fail(isSlow: false, 200) != nil)
  }

  @Test func `progress makes the next transient wait short again, and no slow one`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    let now = BudgetOracleTests.at(0)
    func fail(isSlow: Bool, _ wait: Int64) -> String? {
      oracle.noteFailure(isSlow: isSlow, asks: false, wait: .milliseconds(wait), at: now)
    }
    #expect(fail(isSlow: false, 100) == nil)
    #expect(fail(isSlow: true, 1000) == nil)
    oracle.noteProgress()
    #expect(fail(isSlow: false, 100) == nil)
    #expect(fail(isSlow: true, 1000) != nil)
    oracle.noteSnapshot(at: now)
    #expect(fail(isSlow: false, 100) == nil)
    #expect(fail(isSlow: true, 1000) != nil)
  }

  @Test func `the oracle allows three wakes at once, then one per ten seconds`() {
    func objection(_ moments: [Int64]) -> String? {
      var oracle = BudgetOracle(settings: MachineSettings())
      for moment in moments {
        if let said = oracle.noteWake(at: BudgetOracleTests.at(moment)) { return said }
      }
      return nil
    }
    #expect(objection([0, 0, 0]) == nil)
    #expect(objection([0, 0, 0, 10_000, 20_000]) == nil)
    #expect(objection([0, 0, 0, 0]) == "at most 3 wake-ups in 0 s, found 4")
    #expect(objection([0, 0, 0, 9999]) != nil)
    #expect(objection([0, 0, 0, 10_000, 19_999]) != nil)
  }

  @Test func `deadlines grow with timeouts, up to the cap, until an answer`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    func register(_ seconds: Int64) -> String? {
      oracle.noteDeadline(.seconds(seconds), isRegister: true, waits: false, long: .seconds(100))
    }
    #expect(register(60) == nil)
    oracle.noteTimeout()
    #expect(register(60) == "a deadline of 120 s after 1 timeouts, found 60 s")
    #expect(register(120) == nil)
    for _ in 0..<5 { oracle.noteTimeout() }
    #expect(register(300) == nil && register(299) != nil)
    func quick(_ seconds: Int64) -> String? {
      oracle.noteDeadline(.seconds(seconds), isRegister: false, waits: false, long: .seconds(100))
    }
    #expect(quick(100) == nil && quick(99) != nil)
    oracle.noteAnswer()
    #expect(quick(10) == nil && quick(9) != nil && register(60) == nil)
  }

  @Test func `a slow wait lasts as long as its range, and longer with each failure`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    #expect(!oracle.isSlowWaitOn(at: BudgetOracleTests.at(0)))
    for wait in [1000, 2000] as [Int64] {
      _ = oracle.noteFailure(
        isSlow: true, asks: false, wait: .milliseconds(wait), at: BudgetOracleTests.at(0))
      #expect(oracle.isSlowWaitOn(at: BudgetOracleTests.at(wait - 1)))
      #expect(!oracle.isSlowWaitOn(at: BudgetOracleTests.at(wait)))
    }
  }

  @Test func `a finger that is less than a minute old is young`() {
    var oracle = BudgetOracle(settings: MachineSettings())
    #expect(!oracle.isYoung(at: BudgetOracleTests.at(0)))
    oracle.noteSnapshot(at: BudgetOracleTests.at(5))
    #expect(oracle.isYoung(at: BudgetOracleTests.at(60_004)))
    #expect(!oracle.isYoung(at: BudgetOracleTests.at(60_005)))
  }

  @Test func `only healthy time makes a slow wait short again`() {
    // The pause is 60 s plus the wait that the second failure would get, which is 2 s.
    #expect(objection(isSlow: true, waits: [1000, 1000], apart: 62_000) != nil)
    #expect(objection(isSlow: true, waits: [1000, 1000], apart: 62_001) == nil)
    #expect(objection(isSlow: false, waits: [100, 100], apart: 60_001) != nil)
  }
}
