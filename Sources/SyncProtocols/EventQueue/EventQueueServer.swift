public import UpdateMachine

/// The server half of EventQueue: Zulip's queues, as a plain value.
///
/// It speaks PROTOCOL.md: queues that are numbered from 0 with holes, acknowledged by the next
/// question and pruned; one waiter a queue; merged flag events; heartbeats; a lifetime that only a
/// real wait extends, and a collector that looks once a period; restarts that keep the queues or
/// lose them; a rate limit; release.
///
/// It reads no clock: every call says when. What a waiting client gets later is to be taken with
/// ``takeFinished()`` after every call.
public struct EventQueueServer<Truth: ServerTruth>: Sendable {
  public typealias Sync = EventQueue<Truth.Event>
  public typealias Reply = ServerReply<Truth.Snapshot, Sync>
  public typealias Batch = QueueBatch<Truth.Event>
  public typealias Finished = EndedWait<Truth.Snapshot, Sync>

  /// What it is set to; may be changed at any time, and holds from then on.
  public var configuration: QueueServerConfiguration
  @usableFromInline var _truth: Truth

  /// The answers of waits that ended, in the order in which they ended.
  @usableFromInline var finished: [Finished] = []

  /// How this server breaks its contract at the next occasion; `nil`: it does not.
  public var breach: QueueBreach?
  /// How often it did.
  @usableFromInline var _breachCount: Int64 = 0

  /// The queues that are alive, oldest first.
  @usableFromInline var alive: [Int] = []
  /// Every queue there ever was, by number. Those that are gone are kept for the record: what
  /// state an event ID of theirs stood for can be asked for ever.
  @usableFromInline var queues: [Queue] = []
  /// The state at position 0, and every change since: position *p* is the state after *p* changes.
  @usableFromInline var initial: Truth
  @usableFromInline var changes: [Truth.Change] = []
  /// What clients were told of each.
  @usableFromInline var announcements: [Truth.Event?] = []
  @usableFromInline var checksums: [UInt64]
  @usableFromInline var moments: [Moment] = []
  @usableFromInline var limits = RateLimits()
  @usableFromInline var nextCollection: Moment

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

  // MARK: The truth, now and before

  /// The state that clients keep up with.
  @inlinable
  public var truth: Truth { _truth }

  /// How often the server broke its contract.
  @inlinable
  public var breachCount: Int64 { _breachCount }

  /// How many changes were committed.
  @inlinable
  public var position: Int64 { Int64(changes.count) }

  /// The checksum of the state at a position, from 0 to ``position``.
  @inlinable
  public func checksum(at position: Int64) -> UInt64 { checksums[Int(position)] }

  /// When the first change after a position was committed of which clients are told; `nil`: there was
  /// none, so that one who is at this position has heard of everything. O(changes that are not told).
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

  /// The position of the state that a finger stands for; `nil` if this server never gave such a
  /// finger. Also for queues that are gone.
  @inlinable
  public func position(at finger: QueueFinger) -> Int64? {
    guard let index = index(of: finger.queue) else { return nil }
    return position(inQueue: index, eventID: finger.lastEventID)
  }

  /// The number of the queue of this name, for ``position(inQueue:eventID:)``.
  @inlinable
  public func index(of queue: QueueID) -> Int? { queues.lastIndex { $0.id == queue } }

  /// The name of the queue of this number.
  @inlinable
  public func id(at index: Int) -> QueueID { queues[index].id }

  /// Whether the queue of this number can still be polled.
  @inlinable
  public func isAlive(at index: Int) -> Bool { queues[index].isAlive }

  /// As ``position(at:)``, for a caller that kept the queue's number.
  @inlinable
  public func position(inQueue index: Int, eventID: Int64) -> Int64? {
    if eventID == -1 { return queues[index].base }
    guard eventID >= 0, eventID < queues[index].nextID else { return nil }
    return queues[index].positions[Int(eventID)]
  }

  /// The event of this ID in a queue, as it was committed; `nil`: there is none, it was a heartbeat,
  /// or it stands for several.
  @inlinable
  public func event(_ eventID: Int64, inQueue index: Int) -> Truth.Event? {
    guard let after = position(inQueue: index, eventID: eventID),
      let before = position(inQueue: index, eventID: eventID - 1), after == before + 1
    else { return nil }
    return announcements[Int(before)]
  }

  /// The names of the queues that are alive, oldest first.
  @inlinable
  public var aliveQueues: [QueueID] { alive.map { queues[$0].id } }
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
  /// How long a window of the limit is.
  public var limitWindow: TimeSpan = .seconds(60)

  @inlinable
  public init() {}

  /// What a register's answer promises.
  @inlinable
  public var terms: Terms {
    Terms(longDeadline: longPollTimeout + .seconds(10), lifetime: lifetime)
  }
}

extension ServerAnswer {
  /// The queue is not known here.
  @inlinable
  public static var badQueue: ServerAnswer {
    ServerAnswer(status: 400, result: .error, code: "BAD_EVENT_QUEUE_ID")
  }

  /// Any other refusal of what was asked.
  @inlinable
  public static var badRequest: ServerAnswer {
    ServerAnswer(status: 400, result: .error, code: "BAD_REQUEST")
  }

  /// A proxy found nobody behind it.
  @inlinable
  public static var badGateway: ServerAnswer { ServerAnswer(status: 502, result: nil) }

  /// The server failed.
  @inlinable
  public static var serverError: ServerAnswer { ServerAnswer(status: 500, result: .error) }

  /// A portal or proxy answered in the server's place, with a page and a cheerful status.
  @inlinable
  public static var portal: ServerAnswer { ServerAnswer(status: 200, result: nil) }

  /// The credentials are not good.
  @inlinable
  public static var unauthorized: ServerAnswer {
    ServerAnswer(status: 401, result: .error, code: "UNAUTHORIZED")
  }

  /// Too many requests.
  @inlinable
  public static func rateLimited(after: TimeSpan?) -> ServerAnswer {
    ServerAnswer(status: 429, result: .error, code: "RATE_LIMIT_HIT", retryAfter: after)
  }
}
