public import UpdateMachine

// Events on the server's own side: commits, heartbeats, collections, restarts.

extension EventQueueServer {
  /// Commits a change, announces it to every queue, and ends their waits.
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

  /// When the next heartbeat or collection is due.
  @inlinable
  public var nextDue: Moment {
    var due = nextCollection
    for index in alive {
      if let waiter = queues[index].waiter { due = min(due, waiter.heartbeatAt) }
    }
    return due
  }

  /// Does everything that is due by now.
  @inlinable
  public mutating func advance(to now: Moment) {
    for index in alive {
      guard let waiter = queues[index].waiter, waiter.heartbeatAt <= now else { continue }
      push(nil, to: index)  // A heartbeat has its own event ID [05 H].
    }
    guard now >= nextCollection else { return }
    nextCollection = now + configuration.collectorPeriod
    for index in alive where queues[index].waiter == nil {
      if now - queues[index].noted >= queues[index].lifetime { remove(index) }
    }
  }

  /// Puts an event of an unknown type, which means nothing to a model, into every queue.
  @inlinable
  public mutating func announceNothing() {
    for index in alive { push(nil, to: index) }
  }

  /// Simulates another poll of a queue that acknowledges nothing new. A wait on the queue ends with
  /// an empty batch [05 B].
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

  /// Restarts the server. A proxy ends the waits with a 502. If the queues are kept, each gets a
  /// `restart` event, which means nothing to a model. Otherwise every queue is lost, as when the
  /// server is killed [06].
  @inlinable
  public mutating func restart(keepingQueues: Bool, at now: Moment) {
    for index in alive {
      end(waitOn: index, with: .refused(.badGateway))
      if keepingQueues { push(nil, to: index) } else { forget(index) }
    }
  }

  /// Whether any wait has ended.
  @inlinable
  public var hasFinished: Bool { !finished.isEmpty }

  /// Returns and removes the answers of ended waits.
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
    batch.queue = queues[index].id  // Only the answer to a wait names its queue.
    end(waitOn: index, with: .batch(batch))
  }

  /// Merges the new event with a pending one, which is removed; `nil`: there is none to merge with.
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
