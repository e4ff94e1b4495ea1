import SyncProtocols
import Testing
import UpdateMachine

// Tests each behaviour of a real server that ZulipServer describes. The labels name the exchanges
// in which it was seen.

struct EventQueueServerPollTests {
  // MARK: Acknowledging

  @Test func `[05 A1] a poll with dont_block of an empty queue is answered at once`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.poll(queue, from: -1) == "[]")
  }

  @Test func `[05 A3] unacknowledged events are given again, with the same IDs`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2), .message(3))
    let first = desk.poll(queue, from: -1)
    #expect(first == "[0 message 1, 1 message 2, 2 message 3]")
    #expect(desk.poll(queue, from: -1) == first)
    #expect(desk.longPoll(queue, from: -1) == first)
  }

  @Test func `[05 A4, A6–A8] a poll from an ID acknowledges everything up to it`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2), .message(3))
    #expect(desk.poll(queue, from: 0) == "[1 message 2, 2 message 3]")
    #expect(desk.poll(queue, from: 0) == "[1 message 2, 2 message 3]")
    #expect(desk.poll(queue, from: 1) == "[2 message 3]")
    #expect(desk.poll(queue, from: 2) == "[]")
    #expect(desk.poll(queue, from: 2) == "[]")
  }

  @Test func `[05 A5] an ID older than what was pruned is refused, and the queue survives`() throws
  {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2))
    #expect(desk.poll(queue, from: 0) == "[1 message 2]")
    #expect(desk.poll(queue, from: -1) == "400 BAD_REQUEST")
    #expect(desk.poll(queue, from: 0) == "[1 message 2]")
  }

  @Test func `[05 A9–A11] an ID from the future destroys what is pending, and is then refused`()
    throws
  {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2), .message(3))
    #expect(desk.poll(queue, from: 0) == "[1 message 2, 2 message 3]")
    #expect(desk.poll(queue, from: 1000) == "400 BAD_REQUEST")
    #expect(desk.poll(queue, from: 0) == "400 BAD_REQUEST")
    #expect(desk.poll(queue, from: 2) == "[]")
    desk.commit(.message(4))
    #expect(desk.poll(queue, from: 2) == "[3 message 4]")
  }

  @Test func `an ID from the future of an empty queue is refused and costs nothing`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.poll(queue, from: 0) == "400 BAD_REQUEST")
    desk.commit(.message(1))
    #expect(desk.poll(queue, from: -1) == "[0 message 1]")
  }

  @Test func `[05 A17, A18] an unknown queue is a bad queue`() throws {
    var desk = Desk()
    _ = try desk.register()
    #expect(desk.poll(QueueID("nonsense"), from: -1) == "400 BAD_EVENT_QUEUE_ID")
    #expect(desk.release(QueueID("nonsense")) == "400 BAD_EVENT_QUEUE_ID")
  }

  @Test func `[05 A19–A21] a released queue is a bad queue`() throws {
    var desk = Desk()
    let queue = try desk.register()
    #expect(desk.release(queue) == "released")
    #expect(desk.poll(queue, from: -1) == "400 BAD_EVENT_QUEUE_ID")
    #expect(desk.release(queue) == "400 BAD_EVENT_QUEUE_ID")
  }

  // MARK: Merging flags

  @Test func `[05 D1] pending flags are merged into the newest one's ID, which leaves holes`()
    throws
  {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .message(2), .read([2008]), .read([2009]), .read([2010]))
    #expect(
      desk.poll(queue, from: -1) == "[0 message 1, 1 message 2, 4 add [2008, 2009, 2010]]")
  }

  @Test func `[05 D2, D3] an ID that was merged away was not in this queue`() throws {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.message(1), .read([1]), .read([2]))
    #expect(desk.poll(queue, from: -1) == "[0 message 1, 2 add [1, 2]]")
    #expect(desk.poll(queue, from: 1) == "400 BAD_REQUEST")
    #expect(desk.poll(queue, from: 2) == "[]")
  }

  @Test func `[05 D4] events that were given are no longer merged, even if unacknowledged`() throws
  {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.read([1]))
    #expect(desk.poll(queue, from: -1) == "[0 add [1]]")
    desk.commit(.read([2]))
    #expect(desk.poll(queue, from: -1) == "[0 add [1], 1 add [2]]")
    desk.commit(.read([3]))
    #expect(desk.poll(queue, from: 0) == "[1 add [2], 2 add [3]]")
  }

  @Test func `merging can be switched off`() throws {
    var configuration = QueueServerConfiguration()
    configuration.mergesFlags = false
    var desk = Desk(configuration)
    let queue = try desk.register()
    desk.commit(.read([1]), .read([2]))
    #expect(desk.poll(queue, from: -1) == "[0 add [1], 1 add [2]]")
  }

  @Test func `each queue merges its own events`() throws {
    var desk = Desk()
    let one = try desk.register()
    let other = try desk.register()
    desk.commit(.read([1]))
    #expect(desk.poll(one, from: -1) == "[0 add [1]]")
    desk.commit(.read([2]))
    #expect(desk.poll(one, from: -1) == "[0 add [1], 1 add [2]]")
    #expect(desk.poll(other, from: -1) == "[1 add [1, 2]]")
  }

  @Test func `[03 R8.11–15] merged flags move past events between them, and are wrong`() throws {
    var configuration = QueueServerConfiguration()
    configuration.reordersMerged = true
    var desk = Desk(configuration)
    let queue = try desk.register()
    for number in 0..<20 { desk.commit(.message(number)) }
    _ = desk.poll(queue, from: 19)
    desk.commit(.read([2150]), .unread([2150]), .read([2149]))
    #expect(desk.poll(queue, from: 19) == "[21 remove [2150], 22 add [2150, 2149]]")
    #expect(desk.server.truth.read == [2149])
  }

  @Test func `[03 R8.9] two flag events of opposite direction are both given`() throws {
    var configuration = QueueServerConfiguration()
    configuration.reordersMerged = true
    var desk = Desk(configuration)
    let queue = try desk.register()
    desk.commit(.unread([2147]), .read([2147]))
    #expect(desk.poll(queue, from: -1) == "[0 remove [2147], 1 add [2147]]")
  }

  @Test func `a queue without reordering merges only neighbours, and its events tell the truth`()
    throws
  {
    var desk = Desk()
    let queue = try desk.register()
    desk.commit(.read([2150]), .unread([2150]), .read([2149]), .read([2148]))
    #expect(
      desk.poll(queue, from: -1) == "[0 add [2150], 1 remove [2150], 3 add [2149, 2148]]")
  }
}
