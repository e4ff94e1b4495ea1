public import UpdateMachine

/// The server half of EventQueue: Zulip's queues, as a plain value.
///
/// It speaks PROTOCOL.md: queues that are numbered from 0 with holes, acknowledged by the next
/// question and pruned; one waiter a queue; merged flag events; heartbeats; a lifetime that only a
/// real wait extends, and a collector that looks once a period; restarts that keep the queues or
/// lose them; a rate limit; release.
///
/// It reads no clock: every call says when. What a waiting client gets later stands in ``finished``,
/// which the caller empties after every call.
public struct EventQueueServer<Truth: ServerTruth>: Sendable {
  public typealias Reply = QueueReply<Truth.Snapshot, Truth.Event>
  public typealias Batch = QueueBatch<Truth.Event>

  public var configuration: QueueServerConfiguration
  public internal(set) var truth: Truth

  /// The answers of waits that ended, in the order in which they ended.
  public internal(set) var finished: [Finished] = []

  /// How this server breaks its contract at the next occasion; `nil`: it does not.
  public var breach: QueueBreach?
  /// How often it did.
  public internal(set) var breachCount: Int64 = 0

  /// Every queue there ever was, by number. Those that are gone are kept for the record: what
  /// state an event ID of theirs stood for can be asked for ever.
  var queues: [Queue] = []
  /// The state at position 0, and every event since: position *p* is the state after *p* events.
  var initial: Truth
  var events: [Truth.Event] = []
  var checksums: [UInt64]
  var limits = RateLimits()
  var nextCollection: Moment

  /// The end of a wait.
  public struct Finished: Sendable {
    public var waiter: UInt64
    public var reply: Reply
  }

  /// One client's queue.
  struct Queue: Sendable {
    var id: QueueID
    var isAlive = true
    var lifetime: TimeSpan
    /// When the last real wait began, or the queue was made.
    var noted: Moment
    /// Not acknowledged yet, ascending.
    var pending: [Entry] = []
    var newestPruned: Int64 = -1
    var nextID: Int64 = 0
    var waiter: Waiter?
    /// The position of the state before event 0, and after each event ID.
    var base: Int64
    var positions: [Int64] = []
  }

  struct Entry: Sendable {
    var id: Int64
    var event: Truth.Event?
    /// A later event may still be merged into it: it was never given to anybody.
    var isOpen: Bool
  }

  struct Waiter: Sendable {
    var token: UInt64
    var heartbeatAt: Moment
  }

  public init(
    truth: Truth, configuration: QueueServerConfiguration = QueueServerConfiguration(),
    at now: Moment
  ) {
    self.truth = truth
    self.configuration = configuration
    initial = truth
    checksums = [truth.checksum]
    nextCollection = now + configuration.collectorPeriod
  }

  // MARK: The truth, now and before

  /// How many events were committed.
  public var position: Int64 { Int64(events.count) }

  /// The checksum of the state at a position, from 0 to ``position``.
  public func checksum(at position: Int64) -> UInt64 { checksums[Int(position)] }

  /// The whole state at a position, from 0 to ``position``. O(position).
  public func truth(at position: Int64) -> Truth {
    var past = initial
    for event in events.prefix(Int(position)) { past.apply(event) }
    return past
  }

  /// The position of the state that a finger stands for; `nil` if this server never gave such a
  /// finger. Also for queues that are gone.
  public func position(at finger: QueueFinger) -> Int64? {
    guard let index = index(of: finger.queue) else { return nil }
    return position(inQueue: index, eventID: finger.lastEventID)
  }

  /// The number of the queue of this name, for ``position(inQueue:eventID:)``.
  public func index(of queue: QueueID) -> Int? { queues.lastIndex { $0.id == queue } }

  /// The name of the queue of this number.
  public func id(at index: Int) -> QueueID { queues[index].id }

  /// As ``position(at:)``, for a caller that kept the queue's number.
  public func position(inQueue index: Int, eventID: Int64) -> Int64? {
    if eventID == -1 { return queues[index].base }
    guard eventID >= 0, eventID < queues[index].nextID else { return nil }
    return queues[index].positions[Int(eventID)]
  }

  /// The names of the queues that are alive, oldest first.
  public var aliveQueues: [QueueID] { queues.filter(\.isAlive).map(\.id) }
}

/// What a Zulip server is set to. The defaults are those of a real one.
public struct QueueServerConfiguration: Hashable, Sendable {
  /// How long a queue lives on which nobody waits.
  public var lifetime: TimeSpan = .seconds(600)
  /// How often the collector looks for queues whose lifetime is over.
  public var collectorPeriod: TimeSpan = .seconds(60)
  /// What the server asks clients to wait for; goes into the terms with a margin.
  public var longPollTimeout: TimeSpan = .seconds(90)
  /// Pending flag events of one kind are merged into the newest one's ID [05 D1].
  public var mergesFlags = true
  /// Merged events jump over what lies between, as on the real server, where a client can then not
  /// get the flags right from events alone [03 R8]. Off: only neighbours are merged.
  public var reordersMerged = false
  /// So many requests a window, registers and polls counted apart; `nil`: no limit.
  public var requestsPerWindow: Int64?
  public var limitWindow: TimeSpan = .seconds(60)

  public init() {}

  /// What a register's answer promises.
  public var terms: Terms {
    Terms(longDeadline: longPollTimeout + .seconds(10), lifetime: lifetime)
  }
}

/// An answer of the server, still as the transport brings it: a client half has to classify it.
public enum QueueReply<Snapshot: Sendable, Event: Sendable>: Sendable {
  case registered(Snapshot, QueueFinger, Terms)
  case batch(QueueBatch<Event>)
  /// The release was done.
  case released
  /// Anything but a success.
  case refused(QueueAnswer)
}

extension QueueReply {
  /// What the client half makes of it; `nil`: a success.
  public func failure() -> SyncFailure? {
    switch self {
    case .registered, .batch, .released: nil
    case .refused(let answer): answer.failure()
    }
  }
}

extension QueueAnswer {
  /// The queue is not known here.
  public static var badQueue: QueueAnswer {
    QueueAnswer(status: 400, result: .error, code: "BAD_EVENT_QUEUE_ID")
  }

  /// Any other refusal of what was asked.
  public static var badRequest: QueueAnswer {
    QueueAnswer(status: 400, result: .error, code: "BAD_REQUEST")
  }

  /// A proxy found nobody behind it.
  public static var badGateway: QueueAnswer { QueueAnswer(status: 502, result: nil) }

  /// The server failed.
  public static var serverError: QueueAnswer { QueueAnswer(status: 500, result: .error) }

  /// A portal or proxy answered in the server's place, with a page and a cheerful status.
  public static var portal: QueueAnswer { QueueAnswer(status: 200, result: nil) }

  /// The credentials are not good.
  public static var unauthorized: QueueAnswer {
    QueueAnswer(status: 401, result: .error, code: "UNAUTHORIZED")
  }

  /// Too many requests.
  public static func rateLimited(after: TimeSpan?) -> QueueAnswer {
    QueueAnswer(status: 429, result: .error, code: "RATE_LIMIT_HIT", retryAfter: after)
  }
}
