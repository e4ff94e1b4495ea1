import SyncProtocols
import Testing
import UpdateMachine

struct EventQueueTests {
  private typealias Queue = EventQueue<Int>

  private static let queue = QueueID("q")
  private static let finger = QueueFinger(queue: queue, lastEventID: 4)

  private func advance(over ids: [Int64], of queue: QueueID? = nil) -> SyncAdvance<QueueFinger> {
    let events = ids.map { QueuedEvent(id: $0, event: Int($0)) }
    return Queue.advance(EventQueueTests.finger, over: QueueBatch(queue: queue, events: events))
  }

  @Test(
    arguments: [
      (ids: [5], last: 5, first: 0),
      (ids: [5, 6, 7], last: 7, first: 0),
      (ids: [6], last: 6, first: 0),  // A hole before it.
      (ids: [7, 9, 100], last: 100, first: 0),  // Holes within it.
      (ids: [4, 5], last: 5, first: 1),  // An overlap: the last event again.
      (ids: [1, 3, 4, 8, 9], last: 9, first: 3),  // An overlap with holes.
      (ids: [3, 6], last: 6, first: 1),  // An overlap that lacks the finger's own event.
      (ids: [.max], last: .max, first: 0),
    ] as [(ids: [Int64], last: Int64, first: Int)])
  func `events above the finger are new`(ids: [Int64], last: Int64, first: Int) {
    let next = QueueFinger(queue: EventQueueTests.queue, lastEventID: last)
    #expect(advance(over: ids) == .next(next, first: first))
    #expect(advance(over: ids, of: EventQueueTests.queue) == .next(next, first: first))
  }

  @Test(arguments: [[], [4], [0, 1, 2, 3, 4], [3], [-1, 0]] as [[Int64]])
  func `events at or below the finger were seen`(ids: [Int64]) {
    #expect(advance(over: ids) == .seen)
    #expect(advance(over: ids, of: EventQueueTests.queue) == .seen)
  }

  @Test(arguments: [[], [4], [5], [5, 6]] as [[Int64]])
  func `a batch of another queue is a gap, whatever it contains`(ids: [Int64]) {
    #expect(advance(over: ids, of: QueueID("other")) == .gap)
  }

  @Test(
    arguments: [
      [6, 5], [5, 5], [4, 4], [3, 2], [5, 6, 6], [5, 7, 6], [4, 3, 5], [.min], [.min, 5],
    ] as [[Int64]])
  func `IDs out of order are a gap, also below the finger`(ids: [Int64]) {
    #expect(advance(over: ids) == .gap)
  }

  @Test func `events that a model ignores move the finger`() {
    let batch = QueueBatch<Int>(events: [QueuedEvent(id: 5, event: nil)])
    let next = QueueFinger(queue: EventQueueTests.queue, lastEventID: 5)
    #expect(Queue.advance(EventQueueTests.finger, over: batch) == .next(next, first: 0))
    #expect(batch.count == 1)
    #expect(batch.event(at: 0) == nil)
  }

  @Test func `a new queue's finger stands before event 0`() {
    let finger = QueueFinger(queue: EventQueueTests.queue, lastEventID: -1)
    let batch = QueueBatch<Int>(events: [QueuedEvent(id: 0, event: 7)])
    let next = QueueFinger(queue: EventQueueTests.queue, lastEventID: 0)
    #expect(Queue.advance(finger, over: batch) == .next(next, first: 0))
    #expect(Queue.advance(next, over: batch) == .seen)
  }

  @Test func `the description of a finger names its queue and event`() {
    #expect("\(EventQueueTests.finger)" == "q:4")
    #expect(EventQueueTests.finger.log == EventQueueTests.queue)
  }
}
