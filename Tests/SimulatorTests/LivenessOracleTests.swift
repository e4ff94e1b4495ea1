import SyncProtocols
import TestSupport
import Testing
import UpdateMachine

@testable import Simulator

struct LivenessOracleTests {
  private func bound(
    _ settings: MachineSettings = MachineSettings(), terms: ServerTerms = .unspoken,
    retryAfter: TimeSpan = .zero, trip: TimeSpan = .zero
  ) -> TimeSpan {
    LivenessOracle.bound(settings: settings, terms: terms, retryAfter: retryAfter, trip: trip)
  }

  // MARK: The bound

  @Test func `the bound of a default client without latency is the sum of its settings`() {
    // In seconds: deadline 300, slow wait 60, one more slow wait 60, pace 14 × 0.4, four paid wakes
    // 40. A retry-after of 0 is shorter than a slow wait.
    #expect(bound() == .milliseconds(465_600))
  }

  @Test func `the bound grows by four times the trip`() {
    #expect(bound(trip: .seconds(1)) == bound() + .seconds(4))
  }

  @Test func `the bound grows with the retry-after, up to the cap`() {
    var last = TimeSpan.zero
    for seconds: Int64 in [0, 1, 10, 60, 100, 300, 599, 600] {
      let now = bound(retryAfter: .seconds(seconds))
      #expect(now >= last)
      #expect(now >= bound() + .seconds(seconds))
      last = now
    }
    #expect(bound(retryAfter: .seconds(601)) == last)
    #expect(bound(retryAfter: .forever) == last)
  }

  @Test func `the bound grows with every setting of the machine`() {
    let changes: [@Sendable (inout MachineSettings) -> Void] = [
      { $0.retry.deadlineCap = $0.retry.deadlineCap * 2 },
      { $0.retry.slowCap = $0.retry.slowCap * 2 },
      { $0.retry.transientCap = $0.retry.transientCap * 20 }, { $0.spread = $0.spread * 30 },
      { $0.retry.paceInterval = $0.retry.paceInterval * 2 }, { $0.retry.paceBurst *= 2 },
      { $0.retry.wakeInterval = $0.retry.wakeInterval * 2 },
    ]
    for change in changes {
      var settings = MachineSettings()
      change(&settings)
      #expect(bound(settings) > bound())
    }
    let terms = ServerTerms(longDeadline: .seconds(1000), lifetime: .seconds(600))
    #expect(bound(terms: terms) > bound())
  }

  // MARK: Scripted runs

  /// A client whose registers are all swallowed, until its deadline and waits are as long as they
  /// get. Every timer fires as late as it may.
  private struct ScriptedLife {
    var machine = Machine<QueueFinger>(incarnation: Incarnation(1))
    var now = Moment(milliseconds: 0)
    var effects = Machine<QueueFinger>.Effects()
    var arm: TimerArm?

    mutating func handle(_ input: Machine<QueueFinger>.Input) {
      effects = machine.handle(input, at: now)
      if effects.disarm != nil { arm = nil }
      if let arm = effects.arm { self.arm = arm }
    }

    /// Waits for the timer.
    mutating func fire() throws {
      let armed = try #require(arm)
      arm = nil
      now = armed.range.latest
      handle(.fired(armed.timer))
    }

    /// From now on everything succeeds, and each answer or write takes `trip`.
    mutating func recover(trip: TimeSpan) throws {
      let finger = QueueFinger(queue: QueueID("q"), lastEventID: -1)
      var steps = 0
      while machine.freshness(at: now).claim != .connected
        || machine.status.outstanding?.waits != true
      {
        steps += 1
        try #require(steps < 50)
        if let request = effects.request {
          now = now + trip
          switch request {
          case .register(let id):
            handle(.snapshotArrived(id, finger: finger, terms: .unspoken))
          case .poll(let id, _, _): handle(.polled(id, movedTo: nil))
          }
        } else if let write = effects.persist {
          now = now + trip
          handle(.written(write))
        } else {
          try fire()
        }
      }
    }
  }

  @Test func `a run with the worst timeouts comes near the bound, and not beyond`() throws {
    let trip = TimeSpan.seconds(3)
    var life = ScriptedLife()
    life.handle(.started(foreground: true))
    for _ in 0..<40 { try life.fire() }
    if life.machine.status.outstanding == nil { try life.fire() }
    // A register was just sent and swallowed. Now the faults stop.
    let calm = life.now
    try life.fire()
    try life.recover(trip: trip)
    let took = life.now - calm
    let bound = bound(trip: trip)
    #expect(took <= bound)
    // The longest deadline outlasts the quiet time that makes slow waits short again, so the two
    // never add up.
    #expect(took.milliseconds * 5 >= bound.milliseconds * 3, "\(took) of \(bound)")
  }

  @Test func `a run with the longest retry-after comes close to the bound, and not beyond`()
    throws
  {
    let asked = TimeSpan.minutes(10)
    var life = ScriptedLife()
    life.handle(.started(foreground: true))
    for _ in 0..<40 { try life.fire() }
    if life.machine.status.outstanding == nil { try life.fire() }
    let calm = life.now
    let id = try #require(life.machine.status.outstanding?.id)
    life.now = life.now + .seconds(299)
    life.handle(.failed(id, .rateLimited(after: asked)))
    try life.fire()
    try life.recover(trip: .seconds(3))
    let took = life.now - calm
    let bound = bound(retryAfter: asked, trip: .seconds(3))
    #expect(took <= bound)
    #expect(took.milliseconds * 10 >= bound.milliseconds * 8, "\(took) of \(bound)")
  }

  /// The story of seed 2604 of messages, driven by actors. For longer than a wait the answers to
  /// all polls were lost, so the log lived on. But the saved form became so old that the next
  /// process gave the finger up without asking.
  @Test(arguments: [false, true])
  func `an age is wrong if the log was polled after the save`(isAsked: Bool) {
    let configuration = SimulationConfiguration(seed: 1, clients: 1, faults: .none)
    var world = World<DirectoryApp>(configuration: configuration, choices: Choices(seed: 1))
    #expect(world.run().finding == nil)
    let client = world.clients[0]
    client.writtenAt = world.now - .seconds(300)
    client.askedAt = isAsked ? world.now : client.writtenAt
    world.begin(0)
    world.load(0)
    #expect(client.body.isLoaded)
    #expect(world.checker.accounts[0].hasWrongAge == isAsked)
  }

  @Test func `a world that does not converge is reported at the bound, to the millisecond`() throws
  {
    var found = 0
    for seed: UInt64 in 1...10 {
      let configuration = SimulationConfiguration(
        seed: seed, clients: 2, steps: 100, plant: .neverAnswersAgain)
      var world = World<DirectoryApp>(configuration: configuration, choices: Choices(seed: seed))
      let result = world.run()
      guard let finding = result.finding, case .calm(let since, let until) = world.phase else {
        continue
      }
      found += 1
      #expect(finding.oracle == .liveness)
      #expect(until - since == world.faultBound)
      #expect(finding.at == until)
      #expect(finding.expected.hasSuffix("within \(world.faultBound)"))
    }
    #expect(found > 5)
  }
}
