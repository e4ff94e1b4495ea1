package import UpdateMachine

// For servers whose queues differ: each belongs to a user, and wants some events only.

extension EventQueueServer {
  /// Commits a change like ``commit(_:at:)``. Each queue gets what `addressed` makes of the event
  /// for that queue; `nil`: the queue gets nothing, and its IDs do not grow.
  package mutating func commit(
    _ change: Truth.Change, at now: Moment,
    addressed: (QueueID, Truth.Event) -> Truth.Event?
  ) {
    let announced = _truth.announcement(of: change)
    _truth.apply(change)
    changes.append(change)
    announcements.append(announced)
    moments.append(now)
    checksums.append(truth.checksum)
    guard let event = announced else { return }
    for index in alive {
      if let own = addressed(queues[index].id, event) { push(own, to: index) }
    }
  }

  /// What a live queue holds, for those who show a server to people.
  package struct QueueReading: Hashable, Sendable {
    package var id: QueueID
    /// The number of events that are not acknowledged yet.
    package var retained: Int
    /// Whether a client waits for news.
    package var isWaitedOn: Bool
    /// When its lifetime is over, unless a client waits until then. The collector comes later.
    package var isOverAt: Moment
  }

  /// The live queues, oldest first.
  package var readings: [QueueReading] { alive.map { reading(ofQueue: $0) } }

  /// What a queue holds; `nil`: there is no such live queue.
  package func reading(of queue: QueueID) -> QueueReading? {
    aliveIndexIfAny(of: queue).map { reading(ofQueue: $0) }
  }

  private func reading(ofQueue index: Int) -> QueueReading {
    let queue = queues[index]
    return QueueReading(
      id: queue.id, retained: queue.pending.count, isWaitedOn: queue.waiter != nil,
      isOverAt: queue.noted + queue.lifetime)
  }
}
