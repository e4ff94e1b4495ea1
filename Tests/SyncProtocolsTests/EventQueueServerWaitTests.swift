import SyncProtocols
import Testing
import UpdateMachine

struct EventQueueServerWaitTests {
  @Test func `a wait ends with the first event, and the answer names the queue`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 7) == "waits")
    #expect(!desk.server.hasFinished)
    desk.commit(.message(1))
    #expect(desk.server.hasFinished)
    #expect(desk.ended() == ["7: q1 [0 message 1]"])
    #expect(desk.ended() == [])
    #expect(desk.poll(queue, from: -1) == "[0 message 1]")
  }

  @Test func `waits end in the order of their queues`() throws {
    var desk = Desk()
    let one = try desk.register()
    let other = try desk.register()
    #expect(desk.longPoll(other, from: -1, as: 2) == "waits")
    #expect(desk.longPoll(one, from: -1, as: 1) == "waits")
    desk.commit(.message(5))
    #expect(desk.ended() == ["1: q1 [0 message 5]", "2: q2 [0 message 5]"])
  }

  @Test func `[05 B1, B2] a second poll ends the first with nothing, and goes on waiting`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 1) == "waits")
    #expect(desk.longPoll(queue, from: -1, as: 2) == "waits")
    #expect(desk.ended() == ["1: q1 []"])
    desk.commit(.message(1))
    #expect(desk.ended() == ["2: q1 [0 message 1]"])
    #expect(desk.poll(queue, from: -1) == "[0 message 1]")
  }

  @Test func `[05 B4, B5] a poll with dont_block ends a wait with nothing`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 4) == "waits")
    #expect(desk.poll(queue, from: -1) == "[]")
    #expect(desk.ended() == ["4: q1 []"])
  }

  @Test func `a poll that is refused does not end a wait`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 4) == "waits")
    #expect(desk.poll(queue, from: 3) == "400 BAD_REQUEST")
    desk.commit(.message(1))
    #expect(desk.ended() == ["4: q1 [0 message 1]"])
  }

  @Test func `another client's poll ends a wait with nothing`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 4) == "waits")
    desk.server.interrupt(queue)
    #expect(desk.ended() == ["4: q1 []"])
    desk.server.interrupt(queue)
    #expect(desk.ended() == [])
  }

  @Test func `[05 B6, B7] DELETE under a wait ends it with nothing`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 6) == "waits")
    #expect(desk.release(queue) == "released")
    #expect(desk.ended() == ["6: q1 []"])
    #expect(desk.poll(queue, from: -1) == "400 BAD_EVENT_QUEUE_ID")
  }

  @Test func `[05 C1, C2] an abandoned poll leaves the queue and its events as they were`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, as: 1) == "waits")
    desk.server.abandon(waiter: 1)
    desk.commit(.message(1))
    #expect(desk.ended() == [])
    #expect(desk.poll(queue, from: -1) == "[0 message 1]")
  }

  @Test func `abandoning one wait leaves the others`() throws {
    var desk = Desk()
    let one = try desk.register()
    let other = try desk.register()
    #expect(desk.longPoll(one, from: -1, as: 1) == "waits")
    #expect(desk.longPoll(other, from: -1, as: 2) == "waits")
    desk.server.abandon(waiter: 1)
    desk.commit(.message(5))
    #expect(desk.ended() == ["2: q2 [0 message 5]"])
  }

  @Test func `[05 H] an empty wait ends with a heartbeat, which has its own ID`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.longPoll(queue, from: -1, heartbeatAfter: .milliseconds(48_500)) == "waits")
    #expect(desk.server.nextDue == Moment(milliseconds: 48_500))
    desk.wait(seconds: 48)
    #expect(desk.ended() == [])
    desk.wait(seconds: 1)
    #expect(desk.ended() == ["1: q1 [0 –]"])
    #expect(desk.longPoll(queue, from: 0) == "waits")
    desk.wait(seconds: 50)
    #expect(desk.ended() == ["1: q1 [1 –]"])
    desk.commit(.message(1))
    #expect(desk.poll(queue, from: 1) == "[2 message 1]")
  }

  @Test func `an unacknowledged heartbeat is given again`() throws {
    var desk = Desk()
    let queue = try desk.register()
    _ = desk.longPoll(queue, from: -1)
    desk.wait(seconds: 50)
    desk.commit(.message(1))
    #expect(desk.poll(queue, from: -1) == "[0 –, 1 message 1]")
  }

  @Test func `an event of an unknown type has an ID in every queue`() throws {
    var desk = Desk()
    let one = try desk.register()
    let other = try desk.register()
    desk.server.announceNothing()
    desk.commit(.message(1))
    #expect(desk.poll(one, from: -1) == "[0 –, 1 message 1]")
    #expect(desk.poll(other, from: -1) == "[0 –, 1 message 1]")
  }

  // MARK: Restarts

  @Test func `[06 T5–T13] a server that stops gently keeps its queues and ends waits with a 502`()
    throws
  {
    var desk = Desk()
    let queue = try desk.register()
    let waiting = try desk.register()
    desk.commit(.message(10), .message(11), .message(12))
    #expect(desk.poll(queue, from: 0) == "[1 message 11, 2 message 12]")
    #expect(desk.longPoll(waiting, from: 2, as: 5) == "waits")
    desk.server.restart(keepingQueues: true, at: desk.now)
    #expect(desk.ended() == ["5: 502"])
    desk.commit(.message(13), .message(14))
    #expect(
      desk.poll(queue, from: 0)
        == "[1 message 11, 2 message 12, 3 –, 4 message 13, 5 message 14]")
    #expect(desk.poll(waiting, from: 2) == "[3 –, 4 message 13, 5 message 14]")
    desk.commit(.message(15))
    #expect(desk.poll(queue, from: 5) == "[6 message 15]")
    #expect(desk.poll(queue, from: -1) == "400 BAD_REQUEST")
  }

  @Test func `[06 T14–T18] a server that is killed loses every queue`() throws {
    var desk = Desk()
    let queue = try desk.register()
    let waiting = try desk.register()
    desk.commit(.message(10))
    #expect(desk.longPoll(waiting, from: 0, as: 5) == "waits")
    desk.server.restart(keepingQueues: false, at: desk.now)
    #expect(desk.ended() == ["5: 502"])
    #expect(desk.server.aliveQueues == [])
    #expect(desk.poll(queue, from: 0) == "400 BAD_EVENT_QUEUE_ID")
    #expect(desk.poll(waiting, from: 0) == "400 BAD_EVENT_QUEUE_ID")
    #expect(desk.release(queue) == "400 BAD_EVENT_QUEUE_ID")
    let new = try desk.register()
    desk.commit(.message(11))
    #expect(desk.poll(new, from: -1) == "[0 message 11]")
    #expect(desk.server.truth.messages == [10, 11])
  }
}
