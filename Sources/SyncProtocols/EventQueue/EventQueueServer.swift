public import UpdateMachine

/// The server half of EventQueue: Zulip's queues, as a plain value.
///
/// It behaves as ZulipServer describes. Queues are numbered from 0 with holes, and pruned when the
/// next request acknowledges them. Each has one waiter. It has merged flag events, heartbeats, a
/// lifetime that only a real wait extends, a periodic collector, restarts that keep or lose the
/// queues, a rate limit, and release.
///
/// It reads no clock: every call passes the time. After every call, take the answers of waiting
/// clients with ``takeFinished()``.
public struct EventQueueServer<Truth: ServerTruth>: Sendable {
  /// The protocol that the server speaks.
  public typealias Sync = EventQueue<Truth.Event>
  /// The answer to a request.
  public typealias Reply = ServerReply<Truth.Snapshot, Sync>
  @usableFromInline package typealias Batch = QueueBatch<Truth.Event>
  /// The answer to a poll that waited, with the poll's token.
  public typealias Finished = EndedWait<Truth.Snapshot, Sync>

  /// The settings. May be changed at any time; they take effect at once.
  public var configuration: QueueServerConfiguration
  @usableFromInline var _truth: Truth

  /// The answers of ended waits, in order.
  @usableFromInline var finished: [Finished] = []

  /// How this server breaks its contract at the next opportunity; `nil`: it keeps it.
  @usableFromInline package var breach: QueueBreach?
  /// How often it broke its contract.
  @usableFromInline var _breachCount: Int64 = 0

  /// The numbers of the live queues, oldest first.
  @usableFromInline var alive: [Int] = []
  /// All queues ever, by number. Dead queues are kept, so that the state at any of their event IDs
  /// can always be looked up.
  @usableFromInline var queues: [Queue] = []
  /// The state at position 0, and every change since. Position *p* is the state after *p* changes.
  @usableFromInline var initial: Truth
  @usableFromInline var changes: [Truth.Change] = []
  /// The event that clients were sent for each change.
  @usableFromInline var announcements: [Truth.Event?] = []
  @usableFromInline var checksums: [UInt64]
  @usableFromInline var moments: [Moment] = []
  @usableFromInline var limits = RateLimits()
  @usableFromInline var nextCollection: Moment

  /// Creates a server without queues, whose state at position 0 is `truth`.
  @inlinable
  public init(
    truth: Truth, configuration: QueueServerConfiguration = QueueServerConfiguration(),
    at now: Moment
  ) {
    _truth = truth
    self.configuration = configuration
    initial = truth
    checksums = [truth.checksum]
    nextCollection = now + configuration.collectorPeriod
  }

  // MARK: The truth, present and past

  /// The present state, which clients follow.
  @inlinable
  public var truth: Truth { _truth }

  /// How often the server broke its contract.
  @inlinable
  public var breachCount: Int64 { _breachCount }

  /// The number of committed changes.
  @inlinable
  public var position: Int64 { Int64(changes.count) }

  /// The checksum of the state at a position, from 0 to ``position``.
  @inlinable
  public func checksum(at position: Int64) -> UInt64 { checksums[Int(position)] }

  /// When the first change after a position that clients are told of was committed; `nil`: there is
  /// none, so a client at this position is up to date. O(changes that clients are not told of).
  @inlinable
  public func firstNews(after position: Int64) -> Moment? {
    for index in Int(position)..<changes.count where announcements[index] != nil {
      return moments[index]
    }
    return nil
  }

  /// The whole state at a position, from 0 to ``position``. O(position).
  @inlinable
  public func truth(at position: Int64) -> Truth {
    var past = initial
    for change in changes.prefix(Int(position)) { past.apply(change) }
    return past
  }

  /// The position of the state that a finger stands for; `nil` if this server never gave out that
  /// finger. Also works for dead queues.
  @inlinable
  package func position(at finger: QueueFinger) -> Int64? {
    guard let index = index(of: finger.queue) else { return nil }
    return position(inQueue: index, eventID: finger.lastEventID)
  }

  /// The number of the queue with this ID, for `position(inQueue:eventID:)`.
  @inlinable
  public func index(of queue: QueueID) -> Int? { queues.lastIndex { $0.id == queue } }

  /// The ID of the queue with this number.
  @inlinable
  public func id(at index: Int) -> QueueID { queues[index].id }

  /// Whether the queue with this number can still be polled.
  @inlinable
  public func isAlive(at index: Int) -> Bool { queues[index].isAlive }

  /// Does the same as `position(at:)`, for callers that have the queue's number.
  @inlinable
  package func position(inQueue index: Int, eventID: Int64) -> Int64? {
    if eventID == -1 { return queues[index].base }
    guard eventID >= 0, eventID < queues[index].nextID else { return nil }
    return queues[index].positions[Int(eventID)]
  }

  /// The event with this ID in a queue, as it was committed; `nil`: there is none, it was a
  /// heartbeat, or it stands for several.
  @inlinable
  package func event(_ eventID: Int64, inQueue index: Int) -> Truth.Event? {
    guard let after = position(inQueue: index, eventID: eventID),
      let before = position(inQueue: index, eventID: eventID - 1), after == before + 1
    else { return nil }
    return announcements[Int(before)]
  }

  /// The IDs of the live queues, oldest first.
  @inlinable
  public var aliveQueues: [QueueID] { alive.map { queues[$0].id } }
}

/// The settings of a Zulip server. The defaults are those of a real one.
public struct QueueServerConfiguration: Hashable, Sendable {
  /// How long a queue lives without a waiting client.
  public var lifetime: TimeSpan = .seconds(600)
  /// How often the collector removes queues whose lifetime is over.
  public var collectorPeriod: TimeSpan = .seconds(60)
  /// How long the server asks clients to wait; the terms add a margin.
  public var longPollTimeout: TimeSpan = .seconds(90)
  /// Whether pending flag events of one kind are merged into the newest one's ID [05 D1].
  @usableFromInline package var mergesFlags = true
  /// Whether merged events move past those between them, as on the real server. A client can then
  /// not get the flags right from events alone [03 R8]. If not, only neighbours are merged.
  @usableFromInline package var reordersMerged = false
  /// The most requests in a window, registers and polls counted separately; `nil`: no limit.
  public var requestsPerWindow: Int64?
  /// The length of the limit's window.
  public var limitWindow: TimeSpan = .seconds(60)

  /// Creates settings with the defaults, which are those of a real server.
  @inlinable
  public init() {}

  /// The terms in a register's answer.
  @inlinable
  package var terms: ServerTerms {
    ServerTerms(longDeadline: longPollTimeout + .seconds(10), lifetime: lifetime)
  }
}

extension ServerAnswer {
  /// The queue is unknown.
  @inlinable
  package static var badQueue: ServerAnswer {
    ServerAnswer(status: 400, result: .error, code: "BAD_EVENT_QUEUE_ID")
  }

  /// Any other refusal.
  @inlinable
  package static var badRequest: ServerAnswer {
    ServerAnswer(status: 400, result: .error, code: "BAD_REQUEST")
  }

  /// A proxy could not reach the server.
  @inlinable
  package static var badGateway: ServerAnswer { ServerAnswer(status: 502, result: nil) }

  /// The server failed.
  @inlinable
  package static var serverError: ServerAnswer { ServerAnswer(status: 500, result: .error) }

  /// A portal or proxy answered instead of the server: a page with status 200.
  @inlinable
  package static var portal: ServerAnswer { ServerAnswer(status: 200, result: nil) }

  /// The credentials are not good.
  @inlinable
  package static var unauthorized: ServerAnswer {
    ServerAnswer(status: 401, result: .error, code: "UNAUTHORIZED")
  }

  /// Too many requests.
  @inlinable
  package static func rateLimited(after: TimeSpan?) -> ServerAnswer {
    ServerAnswer(status: 429, result: .error, code: "RATE_LIMIT_HIT", retryAfter: after)
  }
}
