public import UpdateMachine

extension EventQueueServer {
  /// One client's queue.
  @usableFromInline
  struct Queue: Sendable {
    @usableFromInline var id: QueueID
    @usableFromInline var isAlive = true
    @usableFromInline var lifetime: TimeSpan
    /// When the last real wait began; if there was none, when the queue was made.
    @usableFromInline var noted: Moment
    /// The events that are not acknowledged yet, ascending.
    @usableFromInline var pending: [Entry] = []
    @usableFromInline var newestPruned: Int64 = -1
    @usableFromInline var nextID: Int64 = 0
    @usableFromInline var waiter: Waiter?
    /// The position of the state before event 0, and after each event ID.
    @usableFromInline var base: Int64
    @usableFromInline var positions: [Int64] = []

    @inlinable
    init(id: QueueID, lifetime: TimeSpan, noted: Moment, base: Int64) {
      self.id = id
      self.lifetime = lifetime
      self.noted = noted
      self.base = base
    }
  }

  /// An event that waits to be acknowledged.
  @usableFromInline
  struct Entry: Sendable {
    @usableFromInline var id: Int64
    @usableFromInline var event: Truth.Event?
    /// Whether a later event may still be merged into it, because no client has read it.
    @usableFromInline var isOpen: Bool

    @inlinable
    init(id: Int64, event: Truth.Event?) {
      self.id = id
      self.event = event
      isOpen = true
    }
  }

  /// A client that waits for news.
  @usableFromInline
  struct Waiter: Sendable {
    @usableFromInline var token: UInt64
    @usableFromInline var heartbeatAt: Moment

    @inlinable
    init(token: UInt64, heartbeatAt: Moment) {
      self.token = token
      self.heartbeatAt = heartbeatAt
    }
  }
}
