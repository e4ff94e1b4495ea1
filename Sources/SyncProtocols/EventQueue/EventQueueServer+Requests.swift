public import UpdateMachine

// Requests from clients.

extension EventQueueServer {
  /// Begins a register: makes the queue, which gets every event from now on. The snapshot is read
  /// later, with ``finishRegister(_:at:)``.
  @inlinable
  public mutating func beginRegister(
    lifetime: TimeSpan? = nil, at now: Moment
  ) -> Result<QueueID, RegisterRefusal> {
    if let wait = limits.wait(.register, at: now, configuration) {
      return .failure(RegisterRefusal(answer: .rateLimited(after: wait)))
    }
    let id = QueueID("q\(queues.count + 1)")
    alive.append(queues.count)
    queues.append(
      Queue(id: id, lifetime: lifetime ?? configuration.lifetime, noted: now, base: position))
    return .success(id)
  }

  /// Reads the snapshot for a queue made earlier. Events since then are in the snapshot and in the
  /// queue; the finger says which [03 S0]. This reads the queue, so nothing is merged into those
  /// events any more, and their last ID can be acknowledged. Refused if the queue is gone.
  @inlinable
  public mutating func finishRegister(_ queue: QueueID, at now: Moment) -> Reply {
    guard let index = index(of: queue), queues[index].isAlive else { return .refused(.serverError) }
    freeze(index)
    var lastEventID = queues[index].nextID - 1
    var snapshot = truth.snapshot
    if breach == .staleSnapshot, position > 0 {
      snapshot = truth(at: max(0, position - 3)).snapshot
      noteBreach()
    }
    if breach == .wrongFinger {
      lastEventID += 2
      noteBreach()
    }
    let finger = QueueFinger(queue: queue, lastEventID: lastEventID)
    let terms = ServerTerms(
      longDeadline: configuration.terms.longDeadline, lifetime: queues[index].lifetime)
    return .registered(snapshot, finger, terms)
  }

  /// Handles a poll. Returns its answer, or `nil`: the client waits, and ``takeFinished()`` will
  /// have the answer under `waiter`. An empty wait ends `heartbeatAfter` its beginning; the real
  /// server draws 45 to 55 s.
  @inlinable
  public mutating func poll(
    _ finger: QueueFinger, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply? {
    if let wait = limits.wait(.events, at: now, configuration) {
      return .refused(.rateLimited(after: wait))
    }
    guard let index = aliveIndex(of: finger) else { return .refused(.badQueue) }
    if finger.lastEventID < queues[index].newestPruned {
      return .refused(.badRequest)  // "An event newer than … has already been pruned!" [05 A5]
    }
    prune(index, through: finger.lastEventID)
    if finger.lastEventID != queues[index].newestPruned {
      // "Event … was not in this queue". What was pruned stays pruned [05 A9].
      return .refused(.badRequest)
    }
    end(waitOn: index, with: .batch(Batch(queue: queues[index].id, events: [])))  // [05 B]
    let batch = delivered(index)
    if !waits || !batch.events.isEmpty { return .batch(batch) }
    queues[index].noted = now
    queues[index].waiter = Waiter(token: waiter, heartbeatAt: now + heartbeatAfter)
    return nil
  }

  /// Handles DELETE /api/v1/events. A wait on the queue ends with an empty batch [05 B7].
  @inlinable
  public mutating func release(_ queue: QueueID) -> Reply {
    guard let index = index(of: queue), queues[index].isAlive else { return .refused(.badQueue) }
    remove(index)
    return .released
  }

  /// Ends a wait whose client went away. Queue and events stay as they were [05 C].
  @inlinable
  public mutating func abandon(waiter: UInt64) {
    for index in alive where queues[index].waiter?.token == waiter {
      queues[index].waiter = nil
    }
  }

  // MARK: Queues

  @inlinable
  func aliveIndexIfAny(of queue: QueueID) -> Int? {
    guard let index = index(of: queue), queues[index].isAlive else { return nil }
    return index
  }

  /// The queue that a poll is for. With the plant `revived-queue` it may be a dead one.
  @inlinable
  mutating func aliveIndex(of finger: QueueFinger) -> Int? {
    guard let index = index(of: finger.queue) else { return nil }
    if queues[index].isAlive { return index }
    guard breach == .revivedQueue, finger.lastEventID < queues[index].nextID else { return nil }
    noteBreach()
    queues[index].isAlive = true
    alive.append(index)
    alive.sort()
    queues[index].newestPruned = finger.lastEventID
    queues[index].nextID = finger.lastEventID + 1
    queues[index].positions.removeLast(
      queues[index].positions.count - Int(finger.lastEventID + 1))
    return index
  }

  /// Drops acknowledged events. A request with an ID from the future first drops everything, and
  /// then is refused.
  @inlinable
  mutating func prune(_ index: Int, through id: Int64) {
    guard let newest = queues[index].pending.last(where: { $0.id <= id }) else { return }
    queues[index].newestPruned = newest.id
    queues[index].pending.removeAll { $0.id <= id }
  }

  /// Returns all pending events and freezes them: nothing is merged into them any more.
  @inlinable
  mutating func delivered(_ index: Int) -> Batch {
    var source = index
    if breach == .eventsOfAnotherQueue,
      let other = alive.first(where: { $0 != index && !queues[$0].pending.isEmpty })
    {
      source = other
      noteBreach()
    }
    var events: [QueuedEvent<Truth.Event>] = []
    events.reserveCapacity(queues[source].pending.count)
    freeze(source)
    for pending in queues[source].pending {
      events.append(QueuedEvent(id: pending.id, event: pending.event))
    }
    if breach == .reorderedEvents, events.count > 1 {
      let last = events.count - 1
      (events[last].event, events[last - 1].event) = (events[last - 1].event, events[last].event)
      noteBreach()
    }
    return Batch(events: events)
  }

  /// From now on nothing is merged into the pending events.
  @inlinable
  mutating func freeze(_ index: Int) {
    for entry in queues[index].pending.indices { queues[index].pending[entry].isOpen = false }
  }

  @inlinable
  mutating func end(waitOn index: Int, with reply: Reply) {
    guard let waiter = queues[index].waiter else { return }
    queues[index].waiter = nil
    finished.append(Finished(waiter: waiter.token, reply: reply))
  }

  @inlinable
  mutating func remove(_ index: Int) {
    end(waitOn: index, with: .batch(Batch(queue: queues[index].id, events: [])))
    forget(index)
  }

  @inlinable
  mutating func forget(_ index: Int) {
    queues[index].isAlive = false
    queues[index].pending = []
    alive.removeAll { $0 == index }
  }

  @inlinable
  mutating func noteBreach() {
    breach = nil
    _breachCount += 1
  }
}
