import SyncProtocols
import UpdateMachine

/// A server's state for these tests: messages, and which of them were read.
struct Inbox: ServerTruth, Hashable {
  enum Event: Hashable, Sendable {
    case message(Int)
    case delete(Int)
    case read([Int])
    case unread([Int])
  }

  var messages: Set<Int> = []
  var read: Set<Int> = []

  var snapshot: Inbox { self }

  var checksum: UInt64 {
    var digest = StateDigest()
    for message in messages.sorted() { digest.fold(Int64(message)) }
    digest.fold(Int64(-1))
    for message in read.sorted() { digest.fold(Int64(message)) }
    return digest.value
  }

  mutating func apply(_ event: Event) {
    switch event {
    case .message(let id): messages.insert(id)
    case .delete(let id): messages.remove(id)
    case .read(let ids): read.formUnion(ids)
    case .unread(let ids): read.subtract(ids)
    }
  }

  static func merged(_ pending: Event, _ newer: Event) -> Event? {
    switch (pending, newer) {
    case (.read(let ids), .read(let more)): .read(ids + more)
    case (.unread(let ids), .unread(let more)): .unread(ids + more)
    default: nil
    }
  }

  static func isDeletion(_ event: Event) -> Bool {
    if case .delete = event { true } else { false }
  }
}

extension Inbox.Event: CustomStringConvertible {
  var description: String {
    switch self {
    case .message(let id): "message \(id)"
    case .delete(let id): "delete \(id)"
    case .read(let ids): "add \(ids)"
    case .unread(let ids): "remove \(ids)"
    }
  }
}

/// A server with a clock. Its answers are texts: "[3 message 7, 4 –]" for a batch, with the queue
/// in front if the batch names one; "400 BAD_REQUEST" for a refusal; "waits" if there is none yet.
struct Desk {
  var server: EventQueueServer<Inbox>
  var now = Moment(milliseconds: 0)

  init(_ configuration: QueueServerConfiguration = QueueServerConfiguration()) {
    server = EventQueueServer(truth: Inbox(), configuration: configuration, at: now)
  }

  /// Lets time pass, one second at a time.
  mutating func wait(seconds: Int) {
    for _ in 0..<seconds {
      now = now + .seconds(1)
      server.advance(to: now)
    }
  }

  mutating func commit(_ events: Inbox.Event...) {
    for event in events { server.commit(event, at: now) }
  }

  /// Registers. The snapshot is read at once.
  mutating func register(lifetime: TimeSpan? = nil) throws -> QueueID {
    let queue = try server.beginRegister(lifetime: lifetime, at: now).get()
    _ = server.finishRegister(queue, at: now)
    return queue
  }

  /// Polls with `dont_block`.
  mutating func poll(_ queue: QueueID, from id: Int64) -> String {
    text(ask(queue, from: id, waits: false, waiter: 0, heartbeatAfter: .seconds(50)))
  }

  /// Sends a waiting poll.
  mutating func longPoll(
    _ queue: QueueID, from id: Int64, as waiter: UInt64 = 1, heartbeatAfter: TimeSpan = .seconds(50)
  ) -> String {
    text(ask(queue, from: id, waits: true, waiter: waiter, heartbeatAfter: heartbeatAfter))
  }

  mutating func release(_ queue: QueueID) -> String { text(server.release(queue)) }

  /// The waits that have ended since the last call, like "1: q1 [0 message 7]".
  mutating func ended() -> [String] {
    server.takeFinished().map { "\($0.waiter): \(text($0.reply))" }
  }

  private mutating func ask(
    _ queue: QueueID, from id: Int64, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan
  ) -> EventQueueServer<Inbox>.Reply? {
    server.poll(
      QueueFinger(queue: queue, lastEventID: id), waits: waits, waiter: waiter,
      heartbeatAfter: heartbeatAfter, at: now)
  }

  func text(_ reply: EventQueueServer<Inbox>.Reply?) -> String {
    switch reply {
    case nil: return "waits"
    case .registered(let inbox, let finger, _):
      return "registered \(finger) with \(inbox.messages.sorted())"
    case .batch(let batch):
      let events = batch.events.map { "\($0.id) \($0.event.map { "\($0)" } ?? "–")" }
      let queue = batch.queue.map { "\($0) " } ?? ""
      return queue + "[" + events.joined(separator: ", ") + "]"
    case .released: return "released"
    case .refused(let answer):
      let code = answer.code.map { " \($0)" } ?? ""
      return "\(answer.status)\(code)" + (answer.retryAfter.map { " after \($0)" } ?? "")
    }
  }
}
