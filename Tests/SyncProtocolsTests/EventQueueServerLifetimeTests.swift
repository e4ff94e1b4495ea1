import SyncProtocols
import Testing
import UpdateMachine

struct EventQueueServerLifetimeTests {
  private static let bad = "400 BAD_EVENT_QUEUE_ID"

  /// The second in which a client that polls at a fixed interval first hears that its queue is
  /// gone.
  private func end(
    of queue: QueueID, in desk: inout Desk, every period: Int, until last: Int,
    poll: (inout Desk) -> String
  ) -> Int? {
    var second = 0
    while second < last {
      desk.wait(seconds: period)
      second += period
      if poll(&desk) == EventQueueServerLifetimeTests.bad { return second }
    }
    return nil
  }

  @Test func `[05 X1] a queue lives ten minutes by default, then until the collector looks`() throws
  {
    var desk = Desk()
    desk.wait(seconds: 15)
    let queue = try desk.register()
    let second = end(of: queue, in: &desk, every: 5, until: 2000) { $0.poll(queue, from: -1) }
    #expect(second == 645)  // 15 + 645 s is the first multiple of 60 s after 15 + 600 s.
  }

  @Test(arguments: [(made: 0, gone: 60), (1, 60), (39, 60), (40, 60), (41, 120), (59, 120)])
  func `a queue is collected when the collector finds its lifetime over, not before`(
    made: Int, gone: Int
  ) throws {
    var desk = Desk()
    desk.wait(seconds: made)
    let queue = try desk.register(lifetime: .seconds(20))
    desk.wait(seconds: gone - made - 1)
    #expect(desk.poll(queue, from: -1) == "[]")
    desk.wait(seconds: 1)
    #expect(desk.poll(queue, from: -1) == EventQueueServerLifetimeTests.bad)
  }

  @Test func `the collector looks once a period`() throws {
    var configuration = QueueServerConfiguration()
    configuration.collectorPeriod = .seconds(7)
    configuration.lifetime = .seconds(8)
    var desk = Desk(configuration)
    let queue = try desk.register()
    #expect(desk.server.nextDue == Moment(milliseconds: 7000))
    desk.wait(seconds: 13)
    #expect(desk.poll(queue, from: -1) == "[]")
    #expect(desk.server.nextDue == Moment(milliseconds: 14_000))
    desk.wait(seconds: 1)
    #expect(desk.poll(queue, from: -1) == EventQueueServerLifetimeTests.bad)
  }

  @Test func `[05 X2] polls with dont_block keep nothing alive`() throws {
    var desk = Desk()
    let queue = try desk.register(lifetime: .seconds(20))
    let second = end(of: queue, in: &desk, every: 5, until: 600) { $0.poll(queue, from: -1) }
    #expect(second == 60)
  }

  @Test(arguments: [true, false])
  func `[tried] polls that are answered at once keep nothing alive`(waits: Bool) throws {
    var desk = Desk()
    let queue = try desk.register(lifetime: .seconds(20))
    var last: Int64 = -1
    let second = end(of: queue, in: &desk, every: 1, until: 600) { desk in
      desk.commit(.message(Int(last)))
      let answer = waits ? desk.longPoll(queue, from: last) : desk.poll(queue, from: last)
      last += 1
      if answer != EventQueueServerLifetimeTests.bad {
        #expect(answer == "[\(last) message \(last - 1)]")
      }
      return answer
    }
    #expect(second == 60)
  }

  @Test func `[05 X3] polls that really wait keep a queue alive`() throws {
    var desk = Desk()
    let queue = try desk.register(lifetime: .seconds(20))
    var last: Int64 = -1
    for _ in 0..<20 {
      let answer = desk.longPoll(queue, from: last, as: 3, heartbeatAfter: .seconds(47))
      #expect(answer == "waits")
      desk.wait(seconds: 47)
      last += 1
      #expect(desk.ended() == ["3: q1 [\(last) –]"])
    }
  }

  @Test func `a queue whose lifetime is shorter than a wait can be lost between two waits`() throws
  {
    var desk = Desk()
    desk.wait(seconds: 10)
    let queue = try desk.register(lifetime: .seconds(20))
    #expect(desk.longPoll(queue, from: -1, heartbeatAfter: .seconds(50)) == "waits")
    desk.wait(seconds: 50)  // The heartbeat comes, and the collector runs right after it.
    #expect(desk.ended() == ["1: q1 [0 –]"])
    #expect(desk.poll(queue, from: 0) == EventQueueServerLifetimeTests.bad)
  }

  @Test func `[05 X4] a wait that was abandoned counts from when it began`() throws {
    var desk = Desk()
    desk.wait(seconds: 10)
    let queue = try desk.register(lifetime: .seconds(20))
    desk.wait(seconds: 29)
    #expect(desk.longPoll(queue, from: -1, as: 4) == "waits")
    desk.wait(seconds: 3)
    desk.server.abandon(waiter: 4)
    desk.wait(seconds: 17)
    #expect(desk.poll(queue, from: -1) == "[]")
    desk.wait(seconds: 1)  // At 60 s: 21 s after the wait began, 18 s after its end.
    #expect(desk.poll(queue, from: -1) == EventQueueServerLifetimeTests.bad)
  }

  @Test func `a queue can be lost at any age`() throws {
    var desk = Desk()
    let queue = try desk.register()
    let other = try desk.register()
    #expect(desk.longPoll(queue, from: -1) == "waits")
    desk.server.expire(queue)
    #expect(desk.ended() == ["1: q1 []"])
    #expect(desk.poll(queue, from: -1) == EventQueueServerLifetimeTests.bad)
    #expect(desk.server.aliveQueues == [other])
    desk.server.expire(queue)
    #expect(desk.server.aliveQueues == [other])
  }

  // MARK: Rate limits

  @Test func `[04 RL] requests beyond the limit are refused until the window is over`() throws {
    var configuration = QueueServerConfiguration()
    configuration.requestsPerWindow = 2
    var desk = Desk(configuration)
    desk.wait(seconds: 5)
    let queue = try desk.register()
    #expect(desk.poll(queue, from: -1) == "[]")
    desk.wait(seconds: 10)
    #expect(desk.poll(queue, from: -1) == "[]")
    #expect(desk.poll(queue, from: -1) == "429 RATE_LIMIT_HIT after 50 s")
    desk.wait(seconds: 49)
    #expect(desk.poll(queue, from: -1) == "429 RATE_LIMIT_HIT after 1 s")
    desk.wait(seconds: 1)
    #expect(desk.poll(queue, from: -1) == "[]")
  }

  @Test func `[04 RL] registers and polls are counted apart`() throws {
    var configuration = QueueServerConfiguration()
    configuration.requestsPerWindow = 2
    configuration.limitWindow = .seconds(30)
    var desk = Desk(configuration)
    let queue = try desk.register()
    desk.wait(seconds: 12)
    _ = try desk.register()
    let refused = desk.server.beginRegister(at: desk.now)
    #expect(throws: RegisterRefusal.self) { try refused.get() }
    guard case .failure(let refusal) = refused else { return }
    #expect(refusal.answer == .rateLimited(after: .seconds(18)))
    #expect(desk.server.aliveQueues.count == 2)
    #expect(desk.poll(queue, from: -1) == "[]")
    #expect(desk.poll(queue, from: -1) == "[]")
    #expect(desk.poll(queue, from: -1) == "429 RATE_LIMIT_HIT after 30 s")
  }

  @Test func `a poll that is refused for its rate acknowledges nothing and ends no wait`() throws {
    var configuration = QueueServerConfiguration()
    configuration.requestsPerWindow = 1
    var desk = Desk(configuration)
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 9) == "waits")
    #expect(desk.poll(queue, from: -1) == "429 RATE_LIMIT_HIT after 60 s")
    #expect(desk.ended() == [])
    desk.commit(.message(1))
    #expect(desk.ended() == ["9: q1 [0 message 1]"])
  }
}
