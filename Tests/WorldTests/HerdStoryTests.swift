import Testing
import UpdateMachine

@testable import Simulator

/// What each story of a herd claims. The herds are small, and their servers small in proportion.
struct HerdStoryTests {
  private func play(
    _ story: HerdStory.Name, clients: Int = 1000, capacity: Int64 = 20, whole: Bool = false,
    _ change: (inout HerdSettings) -> Void = { _ in }
  ) throws -> HerdRun {
    var settings = HerdSettings()
    settings.clients = clients
    settings.server.capacity = capacity
    change(&settings)
    return try #require(HerdRun(HerdStory(story), settings, whole: whole))
  }

  private func spread(_ seconds: Int64) -> (inout HerdSettings) -> Void {
    { $0.machine.spread = .seconds(seconds) }
  }

  @Test(arguments: HerdStory.Name.allCases)
  func `all are live in the end, and the same seed tells the same story`(
    name: HerdStory.Name
  ) throws {
    let one = try play(name, clients: 300)
    let other = try play(name, clients: 300)
    #expect(one.seconds == other.seconds)
    #expect(one.recoveries == other.recoveries)
    #expect(one.recoveries.allSatisfy { $0.live100 != nil && $0.returned >= 300 })
    #expect(one.recoveries.count == (name == .deploys ? 3 : 1))
    let next = try play(name, clients: 300) { $0.seed = 2 }
    #expect(one.seconds != next.seconds)
    #expect(one.seconds.last?.live == 300)
    let order = one.recoveries.map { [$0.live50, $0.live99, $0.live100].compactMap { $0 } }
    #expect(order.allSatisfy { $0.count == 3 && $0 == $0.sorted() })
  }

  @Test func `before the trouble all are live, and none is refused`() throws {
    let run = try play(.restart)
    let before = run.seconds.filter { $0.second < 10 }
    #expect(before.count == 10)
    for second in before {
      #expect(second.live == 1000 && second.shed == 0 && second.unreachable == 0)
      #expect(second.registers == 0 && second.polls > 0)
    }
  }

  @Test func `a spread of clients ÷ capacity takes the peak away and costs no time`() throws {
    let early = try play(.restart)
    let spread = try play(.restart, spread(60))
    #expect(early.peakLoad > 5000)
    #expect(spread.peakLoad < early.peakLoad / 4)
    #expect(spread.total(\.shed) < early.total(\.shed) / 4)
    #expect(spread.tries < early.tries)
    let slower = (spread.worst(\.live100) ?? .max) - (early.worst(\.live100) ?? 0)
    #expect(slower < 15_000)
    #expect(spread.tries <= 200)
  }

  @Test func `after an outage that outlives the logs no spread helps; longer lifetimes do`() throws
  {
    let short = try play(.outage, spread(60))
    let long = try play(.outage) {
      $0.machine.spread = .seconds(60)
      $0.server.lifetime = 7_200_000
    }
    #expect(short.peakLoad > 4000)
    #expect(long.peakLoad < 2000)
  }

  @Test func `leaving out the middle of an outage changes next to nothing`() throws {
    let whole = try play(.outage, clients: 300, whole: true)
    let short = try play(.outage, clients: 300)
    #expect(whole.events > short.events * 5)
    func close(_ one: Int64, _ other: Int64) -> Bool {
      abs(one - other) <= max(abs(one), abs(other)) / 4
    }
    #expect(close(whole.peakLoad, short.peakLoad))
    #expect(close(whole.tries, short.tries))
    for moment: (HerdRecovery) -> Int64? in [\.live50, \.live99, \.live100] {
      #expect(close(whole.worst(moment) ?? 0, short.worst(moment) ?? .max))
    }
  }

  @Test func `after a night everyone registers at once, and slots bring them one by one`() throws {
    let slots = try play(.popularClock)
    #expect(slots.tries <= 200)
    #expect(slots.triesMost <= 3)
    let refused = try play(.popularClock) { $0.server.shedding = .refuse }
    #expect(refused.tries > slots.tries * 2)
    #expect(refused.peakRequests > slots.peakRequests * 4)
  }

  @Test func `while a release is bad nobody is live, and a good one heals it`() throws {
    let run = try play(.badRelease)
    let during = run.seconds.filter { (14...308).contains($0.second) }
    #expect(during.allSatisfy { $0.live == 0 })
    #expect(run.worst(\.live100) != nil)
  }

  @Test func `a server that does not answer is brought down for longer than the cause`() throws {
    let run = try play(.restart, capacity: 10) { $0.server.shedding = .hang }
    #expect(run.missed.contains(.recovery))
    #expect(run.worst(\.live100) == nil)
  }

  @Test func `clients that gave up are served in vain`() throws {
    let run = try play(.restart) {
      $0.server.backlog = 600_000
      $0.machine.retry.deadlineCap = .seconds(10)
      $0.machine.registerDeadline = .seconds(5)
    }
    #expect(run.wasted > 0)
  }

  @Test(arguments: HerdPolicy.allCases)
  func `every policy brings all back, given slots`(policy: HerdPolicy) throws {
    let run = try play(.popularClock, clients: 300) { $0.policy = policy }
    #expect(run.worst(\.live100) != nil)
  }

  @Test func `without any wait a server that only refuses is asked without end`() throws {
    func tries(_ policy: HerdPolicy) throws -> Int64 {
      try play(.restart) {
        $0.policy = policy
        $0.server.shedding = .refuse
      }.tries
    }
    #expect(try tries(.none) > tries(.full) * 3)
  }
}

struct HerdPolicyTests {
  private func waits(_ policy: HerdPolicy, attempt: Int64, last: Int64 = 0) -> [Int64] {
    var random = SplitMix(3)
    return (0..<4000).map { _ in
      policy.wait(attempt: attempt, last: last, first: 100, cap: 10_000, draw: random.next())
    }
  }

  @Test func `each policy draws from its range`() {
    #expect(Set(waits(.none, attempt: 9)) == [100])
    #expect(Set(waits(.exponential, attempt: 3)) == [800])
    #expect(Set(waits(.exponential, attempt: 60)) == [10_000])
    for (policy, range) in [
      (HerdPolicy.equal, 400...800), (.full, 0...800),
    ] as [(HerdPolicy, ClosedRange<Int64>)] {
      let found = waits(policy, attempt: 3)
      #expect(found.allSatisfy(range.contains))
      let width = range.upperBound - range.lowerBound
      #expect((found.min() ?? .max) < range.lowerBound + width / 50)
      #expect((found.max() ?? 0) > range.upperBound - width / 50)
    }
  }

  @Test func `decorrelated jitter draws up to three times the last wait`() {
    let found = waits(.decorrelated, attempt: 5, last: 1000)
    #expect(found.allSatisfy { (100...3000).contains($0) })
    #expect((found.max() ?? 0) > 2900)
    #expect(waits(.decorrelated, attempt: 5, last: 9000).max() == 10_000)
    #expect(waits(.decorrelated, attempt: 0).allSatisfy { (100...300).contains($0) })
  }

  @Test func `a draw up to a number reaches both ends`() {
    #expect(HerdPolicy.upTo(5, 0) == 0)
    #expect(HerdPolicy.upTo(5, .max) == 5)
    #expect(HerdPolicy.upTo(0, .max) == 0)
  }
}
