public import UpdateMachine

// What happens on the server's own side: commits, heartbeats, collections, restarts.

extension EventQueueServer {
  /// Commits a change, puts what is told of it into every queue, and ends the waits on them.
  @inlinable
  public mutating func commit(_ change: Truth.Change, at now: Moment) {
    let announced = _truth.announcement(of: change)
    _truth.apply(change)
    changes.append(change)
    announcements.append(announced)
    moments.append(now)
    checksums.append(truth.checksum)
    guard let event = announced else { return }
    if breach == .forgottenDeletion, Truth.isDeletion(event) { return noteBreach() }
    var spared: Int?
    if breach == .lostEvent, let index = alive.first {
      spared = index
      noteBreach()
    }
    for index in alive where index != spared {
      push(event, to: index)
    }
  }

  /// The next moment at which something is due here: a heartbeat or a collection.
  @inlinable
  public var nextDue: Moment {
    var due = nextCollection
    for index in alive {
      if let waiter = queues[index].waiter { due = min(due, waiter.heartbeatAt) }
    }
    return due
  }

  /// Does what is due by now.
  @inlinable
  public mutating func advance(to now: Moment) {
    for index in alive {
      guard let waiter = queues[index].waiter, waiter.heartbeatAt <= now else { continue }
      push(nil, to: index)  // A heartbeat takes an ID of its own [05 H].
    }
    guard now >= nextCollection else { return }
    nextCollection = now + configuration.collectorPeriod
    for index in alive where queues[index].waiter == nil {
      if now - queues[index].noted >= queues[index].lifetime { remove(index) }
    }
  }

  /// Puts something into every queue that is nothing to a model: an event of a type that clients do
  /// not know.
  @inlinable
  public mutating func announceNothing() {
    for index in alive { push(nil, to: index) }
  }

  /// Somebody else polls a queue, acknowledging nothing new: a wait on it ends with nothing [05 B].
  @inlinable
  public mutating func interrupt(_ queue: QueueID) {
    guard let index = aliveIndexIfAny(of: queue) else { return }
    end(waitOn: index, with: .batch(Batch(queue: queue, events: [])))
  }

  /// Loses one queue, whatever its age.
  @inlinable
  public mutating func expire(_ queue: QueueID) {
    if let index = aliveIndexIfAny(of: queue) { remove(index) }
  }

  /// Stops and starts; a proxy ends the waits with a 502. Gently: queues stay, and each gets a
  /// `restart` event that is nothing to a model. Killed: every queue is lost [06].
  @inlinable
  public mutating func restart(keepingQueues: Bool, at now: Moment) {
    for index in alive {
      end(waitOn: index, with: .refused(.badGateway))
      if keepingQueues { push(nil, to: index) } else { forget(index) }
    }
  }

  /// Whether a wait has ended.
  @inlinable
  public var hasFinished: Bool { !finished.isEmpty }

  /// Gives away the answers of the waits that ended.
  @inlinable
  public mutating func takeFinished() -> [Finished] {
    let taken = finished
    finished.removeAll(keepingCapacity: true)
    return taken
  }

  @inlinable
  mutating func push(_ event: Truth.Event?, to index: Int) {
    let id = queues[index].nextID
    queues[index].nextID += 1
    queues[index].positions.append(position)
    if let event, configuration.mergesFlags, let merged = merged(event, in: index) {
      queues[index].pending.append(Entry(id: id, event: merged))
    } else {
      queues[index].pending.append(Entry(id: id, event: event))
    }
    guard queues[index].waiter != nil else { return }
    var batch = delivered(index)
    batch.queue = queues[index].id  // Only an answer that was waited for names its queue.
    end(waitOn: index, with: .batch(batch))
  }

  /// Takes a pending event out that the new one can be merged with; the two as one.
  @inlinable
  mutating func merged(_ event: Truth.Event, in index: Int) -> Truth.Event? {
    var candidate = queues[index].pending.count - 1
    while candidate >= 0, queues[index].pending[candidate].isOpen {
      if let pending = queues[index].pending[candidate].event,
        let merged = Truth.merged(pending, event)
      {
        queues[index].pending.remove(at: candidate)
        return merged
      }
      guard configuration.reordersMerged else { return nil }
      candidate -= 1
    }
    return nil
  }
}
