// EventQueue: the room of Zulip's register/poll protocol, client half and server half, as plain
// values. ZulipServer tells how the real server behaves. Each rule cites the file and label of the
// recorded exchange.
//
// EventQueue may use: Server.

public import UpdateMachine

/// The client half: how the answer to a poll follows on a finger.
///
/// A client registers, and gets a snapshot and a queue on the server. From then on every event for
/// the client goes into that queue. Event IDs count up from 0, with holes. A request for the events
/// after an ID acknowledges everything up to it.
public enum EventQueue<Event: Sendable>: SyncProtocol {
  public typealias Place = QueueFinger
  public typealias Batch = QueueBatch<Event>

  /// Drops events at or below the finger: they were sent before, and our last request was lost. IDs
  /// must grow. They may have holes, because pending flag events are merged into the newest one's
  /// ID [05 D1].
  @inlinable
  public static func advance(
    _ finger: QueueFinger, over batch: QueueBatch<Event>
  ) -> SyncAdvance<QueueFinger> {
    if let queue = batch.queue, queue != finger.queue { return .gap }
    var last = Int64.min
    var first = batch.events.count
    for index in batch.events.indices {
      let id = batch.events[index].id
      guard id > last else { return .gap }
      last = id
      if id > finger.lastEventID { first = min(first, index) }
    }
    guard first < batch.events.count else { return .seen }
    return .next(QueueFinger(queue: finger.queue, lastEventID: last), first: first)
  }
}

/// The ID of a queue on the server. Opaque: a UUID on today's Zulip servers, other text on old
/// ones.
public struct QueueID: Hashable, Sendable {
  /// The ID as the server spells it.
  public var text: String

  /// Creates an ID as the server spells it.
  @inlinable
  public init(_ text: String) { self.text = text }
}

/// The client's place in a queue.
public struct QueueFinger: Finger, Hashable {
  /// The queue.
  public var queue: QueueID
  /// The last event that was applied; −1 before the first.
  public var lastEventID: Int64

  /// Creates a place after an event of a queue; −1 before the first.
  @inlinable
  public init(queue: QueueID, lastEventID: Int64) {
    self.queue = queue
    self.lastEventID = lastEventID
  }

  @inlinable
  public var log: QueueID { queue }
}

/// An event with its ID in a queue.
public struct QueuedEvent<Event: Sendable>: Sendable {
  /// Its number in the queue, from 0.
  public var id: Int64
  /// `nil`: nothing for a model, as in a heartbeat, or in an event of an unknown type.
  public var event: Event?

  /// Creates an event with its number in the queue; `nil` is nothing for a model.
  @inlinable
  public init(id: Int64, event: Event?) {
    self.id = id
    self.event = event
  }
}

/// The answer to a poll.
public struct QueueBatch<Event: Sendable>: EventBatch {
  /// The queue that the answer names; `nil` if it names none, as most do.
  public var queue: QueueID?
  /// Ascending IDs, with holes. May be empty, and may begin at or below the requested position.
  public var events: [QueuedEvent<Event>]

  /// Creates a batch; by default it names no queue.
  @inlinable
  public init(queue: QueueID? = nil, events: [QueuedEvent<Event>]) {
    self.queue = queue
    self.events = events
  }

  @inlinable
  public var count: Int { events.count }

  @inlinable
  public func event(at index: Int) -> Event? { events[index].event }
}

extension QueuedEvent: Equatable where Event: Equatable {}
extension QueueBatch: Equatable where Event: Equatable {}

extension QueueID: CustomStringConvertible {
  public var description: String { text }
}

extension QueueFinger: CustomStringConvertible {
  /// "q1:7".
  public var description: String { "\(queue):\(lastEventID)" }
}
