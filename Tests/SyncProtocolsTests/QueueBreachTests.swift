import SyncProtocols
import Testing
import UpdateMachine

/// Tests every way in which a server can be told to break its contract.
struct QueueBreachTests {
  private func expectBroken(_ desk: Desk, times: Int64 = 1) {
    #expect(desk.server.breachCount == times)
    #expect(desk.server.breach == nil)
  }

  @Test func `lost-event: one queue never hears of an event`() throws {
    var desk = Desk()
    let one = try desk.register()
    let other = try desk.register()
    desk.commit(.message(1))
    desk.server.breach = .lostEvent
    desk.commit(.message(2), .message(3))
    expectBroken(desk)
    #expect(desk.poll(one, from: -1) == "[0 message 1, 1 message 3]")
    #expect(desk.poll(other, from: -1) == "[0 message 1, 1 message 2, 2 message 3]")
    #expect(desk.server.truth.messages == [1, 2, 3])
  }

  @Test func `stale-snapshot: a snapshot is older than the finger that it comes with`() throws {
    var desk = Desk()
    desk.commit(.message(1), .message(2), .message(3), .message(4), .message(5))
    desk.server.breach = .staleSnapshot
    let queue = try desk.server.beginRegister(at: desk.now).get()
    let answer = desk.text(desk.server.finishRegister(queue, at: desk.now))
    #expect(answer == "registered q1:-1 with [1, 2]")
    expectBroken(desk)
    #expect(desk.server.position(at: QueueFinger(queue: queue, lastEventID: -1)) == 5)
  }

  @Test func `reordered-events: the contents of two events are exchanged`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2), .message(3))
    desk.server.breach = .reorderedEvents
    #expect(desk.poll(queue, from: -1) == "[0 message 1, 1 message 3, 2 message 2]")
    expectBroken(desk)
    #expect(desk.poll(queue, from: -1) == "[0 message 1, 1 message 2, 2 message 3]")
  }

  @Test func `wrong-finger: the finger of a register is ahead of its queue`() throws {
    var desk = Desk()
    desk.server.breach = .wrongFinger
    let queue = try desk.server.beginRegister(at: desk.now).get()
    let answer = desk.text(desk.server.finishRegister(queue, at: desk.now))
    #expect(answer == "registered q1:1 with []")
    expectBroken(desk)
    #expect(desk.server.position(at: QueueFinger(queue: queue, lastEventID: 1)) == nil)
  }

  @Test func `events-of-another-queue: a poll is answered from another queue`() throws {
    var desk = Desk()
    let one = try desk.register()
    desk.commit(.message(1))
    let other = try desk.register()
    desk.server.breach = .eventsOfAnotherQueue
    #expect(desk.poll(other, from: -1) == "[0 message 1]")
    expectBroken(desk)
    #expect(desk.poll(other, from: -1) == "[]")
    #expect(desk.poll(one, from: -1) == "[0 message 1]")
  }

  @Test func `revived-queue: a lost queue is answered for as if it had survived`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2))
    #expect(desk.poll(queue, from: 1) == "[]")
    desk.server.expire(queue)
    desk.commit(.message(3))
    #expect(desk.poll(queue, from: 1) == "400 BAD_EVENT_QUEUE_ID")
    desk.server.breach = .revivedQueue
    #expect(desk.poll(queue, from: 1) == "[]")
    expectBroken(desk)
    desk.commit(.message(4))
    #expect(desk.poll(queue, from: 1) == "[2 message 4]")
    #expect(desk.server.aliveQueues == [queue])
    #expect(desk.server.position(at: QueueFinger(queue: queue, lastEventID: 1)) == 2)
    #expect(desk.server.position(at: QueueFinger(queue: queue, lastEventID: 2)) == 4)
  }

  @Test func `forgotten-deletion: a deletion is committed and not announced`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.server.breach = .forgottenDeletion
    desk.commit(.message(1))
    #expect(desk.server.breachCount == 0)
    desk.commit(.delete(1), .message(2))
    expectBroken(desk)
    #expect(desk.poll(queue, from: -1) == "[0 message 1, 1 message 2]")
    #expect(desk.server.truth.messages == [2])
  }

  @Test(arguments: QueueBreach.allCases)
  func `a breach waits for its opportunity, and breaks nothing without one`(breach: QueueBreach)
    throws
  {
    var desk = Desk()
    desk.server.breach = breach
    #expect(desk.poll(QueueID("x"), from: -1) == "400 BAD_EVENT_QUEUE_ID")
    desk.commit(.message(1))
    desk.wait(seconds: 100)
    #expect(desk.server.breach == breach)
    #expect(desk.server.breachCount == 0)
  }

  @Test(arguments: QueueBreach.allCases)
  func `every breach has a name in small words`(breach: QueueBreach) {
    #expect(breach.rawValue.allSatisfy { $0.isLowercase || $0 == "-" })
    #expect(QueueBreach(rawValue: breach.rawValue) == breach)
  }
}
