// EventQueue: the room of Zulip's register/poll protocol, client half and server half, as plain
// values. PROTOCOL.md tells how the real server behaves; file and label of the recorded exchange
// stand beside each rule.
//
// EventQueue may use: Server.

public import UpdateMachine

/// The client half: how an answer to a poll follows on a finger.
///
/// A client registers, which gives it a snapshot and a queue on the server; from then on every event
/// that concerns it goes into that queue, numbered from 0 upwards with holes. Asking for what came
/// after an event ID acknowledges everything up to it.
public enum EventQueue<Event: Sendable>: SyncProtocol {
  public typealias Place = QueueFinger
  public typealias Batch = QueueBatch<Event>

  /// Events at or below the finger were given before, because our last question was lost, and are
  /// dropped. IDs must grow; they may have holes, for pending flag events are merged into the
  /// newest one's ID [05 D1].
  @inlinable
  public static func advance(
    _ finger: QueueFinger, over batch: QueueBatch<Event>
  ) -> Advance<QueueFinger> {
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

/// Names one queue on the server. Opaque: a UUID on today's Zulip servers, other text on old ones.
public struct QueueID: Hashable, Sendable {
  /// The ID as the server spells it.
  public var text: String

  @inlinable
  public init(_ text: String) { self.text = text }
}

/// Our place in a queue: the ID of the last event that we have applied, −1 before the first.
public struct QueueFinger: Finger, Hashable {
  /// Which queue.
  public var queue: QueueID
  /// The last event that we have applied; −1 before the first.
  public var lastEventID: Int64

  @inlinable
  public init(queue: QueueID, lastEventID: Int64) {
    self.queue = queue
    self.lastEventID = lastEventID
  }

  @inlinable
  public var log: QueueID { queue }
}

/// An event with its place in a queue.
public struct QueuedEvent<Event: Sendable>: Sendable {
  /// Its number in the queue, from 0.
  public var id: Int64
  /// `nil`: nothing for a model, as in a heartbeat, or of a type that this client does not know.
  public var event: Event?

  @inlinable
  public init(id: Int64, event: Event?) {
    self.id = id
    self.event = event
  }
}

/// The answer to a poll.
public struct QueueBatch<Event: Sendable>: EventBatch {
  /// The queue that the answer says it is of; `nil` if it does not say, as most do not.
  public var queue: QueueID?
  /// Ascending IDs, with holes; may be empty, and may begin at or below what was asked for.
  public var events: [QueuedEvent<Event>]

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
