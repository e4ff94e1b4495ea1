import SyncProtocols
import Testing
import UpdateMachine

struct EventQueueServerTruthTests {
  // MARK: Register

  @Test func `a register gives the state, the finger before event 0, and the terms`() throws {
    var desk = Desk()
    desk.commit(.message(1))
    let queue = try desk.server.beginRegister(lifetime: .seconds(33), at: desk.now).get()
    guard
      case .registered(let inbox, let finger, let terms)? =
        Optional(desk.server.finishRegister(queue, at: desk.now))
    else { return #expect(Bool(false), "registered") }
    #expect(inbox.messages == [1])
    #expect(finger == QueueFinger(queue: queue, lastEventID: -1))
    #expect(terms == ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(33)))
  }

  @Test func `a queue without a lifetime of its own has the server's`() throws {
    var configuration = QueueServerConfiguration()
    configuration.lifetime = .seconds(45)
    configuration.longPollTimeout = .seconds(60)
    var desk = Desk(configuration)
    let queue = try desk.server.beginRegister(at: desk.now).get()
    guard case .registered(_, _, let terms) = desk.server.finishRegister(queue, at: desk.now) else {
      return #expect(Bool(false), "registered")
    }
    #expect(terms == ServerTerms(longDeadline: .seconds(70), lifetime: .seconds(45)))
    #expect(terms == configuration.terms)
  }

  @Test func `[03 S0] events during a register are in the snapshot and below its finger`() throws {
    var desk = Desk()
    desk.commit(.message(1))
    let queue = try desk.server.beginRegister(at: desk.now).get()
    desk.commit(.message(2), .message(3))
    let answer = desk.text(desk.server.finishRegister(queue, at: desk.now))
    #expect(answer == "registered q1:1 with [1, 2, 3]")
    desk.commit(.message(4))
    #expect(desk.poll(queue, from: 1) == "[2 message 4]")
  }

  @Test func `[03 S0] later flags are not merged into one that is in the snapshot`() throws {
    var desk = Desk()
    let queue = try desk.server.beginRegister(at: desk.now).get()
    desk.commit(.read([1]))
    #expect(desk.text(desk.server.finishRegister(queue, at: desk.now)) == "registered q1:0 with []")
    desk.commit(.read([2]))
    #expect(desk.poll(queue, from: 0) == "[1 add [2]]")
  }

  @Test func `a register whose queue is gone before its snapshot is read fails`() throws {
    var desk = Desk()
    let queue = try desk.server.beginRegister(at: desk.now).get()
    desk.server.expire(queue)
    #expect(desk.text(desk.server.finishRegister(queue, at: desk.now)) == "500")
    #expect(desk.text(desk.server.finishRegister(QueueID("x"), at: desk.now)) == "500")
  }

  @Test func `queue IDs are unique`() throws {
    var desk = Desk()
    var names: Set<QueueID> = []
    for round in 0..<5 {
      names.insert(try desk.register())
      names.insert(try desk.register())
      if round == 2 { desk.server.restart(keepingQueues: false, at: desk.now) }
    }
    #expect(names.count == 10)
  }

  // MARK: The past

  /// A server with a history, its state after each event, and its queues.
  private func history() throws -> (desk: Desk, states: [Inbox], queues: [QueueID]) {
    var desk = Desk()
    var states = [desk.server.truth]
    var queues: [QueueID] = []
    for number in 0..<30 {
      if number % 10 == 4 { queues.append(try desk.register()) }
      if number == 17 { _ = desk.release(queues[0]) }
      if number == 20 { desk.server.announceNothing() }
      switch number % 3 {
      case 0: desk.commit(.message(number))
      case 1: desk.commit(.read([number]))
      default: desk.commit(number % 2 == 0 ? .delete(number - 2) : .read([number]))
      }
      states.append(desk.server.truth)
    }
    desk.server.restart(keepingQueues: false, at: desk.now)
    return (desk, states, queues)
  }

  @Test func `the truth can be asked for at any past position`() throws {
    let (desk, states, _) = try history()
    #expect(desk.server.position == 30)
    for (position, state) in states.enumerated() {
      #expect(desk.server.truth(at: Int64(position)) == state)
      #expect(desk.server.checksum(at: Int64(position)) == state.checksum)
    }
  }

  @Test func `every finger has a position, also in dead queues`() throws {
    let (desk, _, queues) = try history()
    #expect(desk.server.aliveQueues == [])
    func position(_ queue: Int, _ id: Int64) -> Int64? {
      desk.server.position(at: QueueFinger(queue: queues[queue], lastEventID: id))
    }
    // This queue was made before event 5, and released after event 17.
    #expect((Int64(-1)..<13).map { position(0, $0) } == (4..<18).map { Int64($0) })
    #expect(position(0, 13) == nil)
    // This queue was made before event 15. The event for no model, before event 21, stands for the
    // same position.
    #expect((Int64(-1)..<8).map { position(1, $0) } == [14, 15, 16, 17, 18, 19, 20, 20, 21])
    #expect(position(2, 5) == 30)
    #expect(position(2, 6) == nil)
  }

  @Test func `a finger that was never given has no position`() throws {
    let (desk, _, queues) = try history()
    for id: Int64 in [-2, .min, 1000, .max] {
      #expect(desk.server.position(at: QueueFinger(queue: queues[0], lastEventID: id)) == nil)
    }
    #expect(desk.server.position(at: QueueFinger(queue: QueueID("x"), lastEventID: -1)) == nil)
    #expect(desk.server.index(of: QueueID("x")) == nil)
  }

  @Test func `replaying the events after a finger's position gives the truth`() throws {
    var desk = Desk()
    desk.commit(.message(1))
    let queue = try desk.register()
    desk.commit(.message(2), .read([1]), .read([2]), .delete(1), .unread([2]))
    let finger = QueueFinger(queue: queue, lastEventID: -1)
    let position = try #require(desk.server.position(at: finger))
    var state = desk.server.truth(at: position)
    let answer = desk.server.poll(
      finger, waits: false, waiter: 0, heartbeatAfter: .seconds(50), at: desk.now)
    guard case .batch(let batch) = answer else { return #expect(Bool(false), "a batch") }
    for event in batch.events.compactMap(\.event) { state.apply(event) }
    #expect(state == desk.server.truth)
  }
}
