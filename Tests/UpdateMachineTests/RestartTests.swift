import Testing

@testable import UpdateMachine

/// Tests a start with a saved form: what is known, what is shown, what is asked first, and what a
/// wrong wall clock can do. On the bench the wall clock shows 1,000,000 when the process starts.
@Suite struct RestartTests {
  /// A driver that was started in the foreground and has read a form written at that time.
  private func started(writtenAt: Int64) -> Bench {
    let bench = Bench(store: ScriptedStore(Bench.saved, writtenAt: writtenAt))
    _ = bench.run()
    bench.drain()
    return bench
  }

  @Test func `a saved form is shown as soon as it is read, and nothing is known before`() {
    let store = ScriptedStore(Bench.saved)
    store.isSlow = true
    let bench = Bench(store: store)
    _ = bench.run()
    bench.advance(.minutes(1))
    #expect(bench.state.holding == .unknown)
    #expect(bench.state.status == nil)
    #expect(bench.claim == "unknown")
    #expect(bench.source.asked == [], "nothing is asked before the saved form is known")
    store.finish()
    bench.drain()
    #expect(bench.entries == [1])
    #expect(bench.status == "live.polling")
    #expect(bench.claim == "connecting since 60000")
  }

  @Test func `the first poll is quick, and the next one waits`() {
    let bench = started(writtenAt: 940_000)
    #expect(bench.source.asked == ["poll a:7, quick"])
    bench.source.batch(from: 8, [])
    bench.drain()
    #expect(bench.source.asked == ["poll a:7, quick", "poll a:7"])
    #expect(bench.claim == "connected")
  }

  /// The limit is lifetime, collector and long deadline together: 600 + 60 + 100 s.
  @Test(arguments: [(760_000, "poll a:7, quick"), (760_001, "register")] as [(Int64, String)])
  func `a form older than its log's lifetime is shown, and its finger is not tried`(
    age: Int64, asked: String
  ) {
    let bench = started(writtenAt: 1_000_000 - age)
    #expect(bench.source.asked == [asked])
    #expect(bench.entries == [1])
    #expect(bench.claim == "connecting since 0")
  }

  // MARK: The wall clock

  /// The clock went back, so that the form seems to be from the future. Its age is unknown, and a
  /// finger of unknown age is never given up without asking. If it was too old after all, that
  /// costs one poll.
  @Test(arguments: [1, 86_400_000, Int64.max - 1_000_000] as [Int64])
  func `a wall clock before the form's time costs at most one quick poll`(by span: Int64) {
    let bench = started(writtenAt: 1_000_000 + span)
    #expect(bench.inputs.value.contains { $0.hasPrefix("loaded a:7, of unknown age") })
    #expect(bench.source.asked == ["poll a:7, quick"])
    #expect(bench.entries == [1])
    bench.source.fail(.expired)
    bench.drain()
    #expect(bench.source.asked == ["poll a:7, quick", "register"], "there is no wait")
    bench.source.snapshot([1, 2], Spot("b", 0))
    bench.drain()
    #expect(bench.entries == [1, 2])
    #expect(bench.store?.content == "[1, 2] b:0")
  }

  /// The clock went back, but not behind the form, which seems younger than it is. So its log seems
  /// to have been lost early, as if the server had lost everybody's. That costs one poll and the
  /// spread of a herd.
  @Test func `a wall clock that went back costs a poll and the spread`() {
    let bench = started(writtenAt: 1_000_000)
    #expect(bench.source.asked == ["poll a:7, quick"])
    bench.source.fail(.expired)
    bench.drain()
    #expect(bench.source.asked.count == 1)
    #expect(bench.entries == [1])
    bench.advance(.seconds(5))
    #expect(bench.source.asked == ["poll a:7, quick", "register"])
  }

  /// The clock went ahead, so that the form seems hopelessly old. That costs a snapshot. The log is
  /// left to the server, which forgets it in time. What was not read from it is in the snapshot.
  @Test(arguments: [239_999, -86_400_000, Int64.min] as [Int64])
  func `a wall clock that is far ahead costs one register`(writtenAt: Int64) {
    let bench = started(writtenAt: writtenAt)
    #expect(bench.source.asked == ["register"])
    #expect(bench.entries == [1], "the old state is shown meanwhile")
    bench.source.snapshot([1, 2], Spot("b", 0))
    bench.drain()
    #expect(bench.entries == [1, 2])
    #expect(bench.store?.content == "[1, 2] b:0")
    #expect(bench.source.asked == ["register", "poll b:0"])
  }

  /// A form that is written while the clock is wrong has a wrong time, until the next write.
  @Test func `a form that was written by a clock that was far ahead has no known age`() {
    let store = ScriptedStore(Bench.saved)
    let bench = Bench(store: store)
    bench.clock.wallTime = WallTime(milliseconds: .max)
    _ = bench.run()
    bench.drain()
    #expect(bench.source.asked == ["register"])
    bench.source.snapshot([3], Spot("b", 0))
    bench.drain()
    bench.tell { $0.stop() }

    let next = Bench(store: store)
    _ = next.run()
    next.drain()
    #expect(next.inputs.value.contains { $0.hasPrefix("loaded b:0, of unknown age") })
    #expect(next.source.asked == ["poll b:0, quick"])
    next.source.batch(from: 1, [4])
    next.drain()
    #expect(next.entries == [3, 4])
  }

  /// Only the age of a saved form depends on the wall clock; waits, deadlines and freshness do not.
  @Test(arguments: [0, .max, .min] as [Int64])
  func `a wall clock that jumps while the app runs changes nothing`(to milliseconds: Int64) {
    let (bench, _) = Bench.following()
    let (other, _) = Bench.following()
    bench.clock.wallTime = WallTime(milliseconds: milliseconds)
    for bench in [bench, other] {
      bench.advance(.seconds(20))
      bench.source.batch(from: 8, [2])
      bench.drain()
      bench.source.fail(.unreachable)
      bench.advance(.minutes(10))
    }
    #expect(bench.inputs.value == other.inputs.value)
    #expect(bench.summary == other.summary)
    #expect(bench.claim == other.claim)
    #expect(bench.store?.content == "[1, 2] a:8")
  }
}
