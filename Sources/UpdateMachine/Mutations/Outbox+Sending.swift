// Decides what to send and when: nothing before it is durable, one push at a time, in the queue's
// order, not before the server's floor and the pace allow it.

extension Outbox {
  /// Whether it may send.
  @inlinable
  package var isActive: Bool { sending.isStarted && sending.isForeground }

  private var maySend: Bool {
    isActive && !sending.isHeldBack && (refused.isEmpty || !sendsInBatches)
  }

  /// Whether the current push carries this ID.
  @inlinable
  func isOut(_ id: MutationID) -> Bool {
    guard case .pushing(let push) = sending.status else { return false }
    return push.first <= id && id <= push.last
  }

  /// Whether a replay must come before the next push, because a mutation may throw now.
  @inlinable
  var isReplayDue: Bool { queueVersion != replayedVersion }

  /// Takes the next step, if nothing is out and nothing is waited for.
  mutating func proceed(at now: Moment, _ effects: inout Effects) {
    switch sending.status {
    case .pushing(let push):
      guard !refused.isEmpty, sendsInBatches else { return }
      // The confirmed state told of a refusal before the answer did. The server will ignore the
      // push.
      cancel(push, &effects)
    case .waiting, .pausing, .halted: return  // Only their timer, a signal or the app ends them.
    case .confirming:
      if maySend, !isReplayDue, sending.resendAt == sending.retry.timer?.latest, nextBatch.isEmpty {
        return  // Goes on.
      }
    case .resting, .storing: break
    }
    disarm(&effects)
    sending.status = .resting
    guard maySend else { return unmark() }
    guard !isReplayDue else { return }
    let batch = nextBatch
    unmark(from: batch.upperBound)
    if !sendsInBatches { unmark(before: batch.lowerBound) }
    guard !batch.isEmpty else { return confirmLater(at: now, &effects) }
    let floor = sending.retry.ready(settings.machine.retry)
    if now < floor {
      effects.arm = sending.retry.arm(MomentRange(at: floor))
      sending.status = .pausing
      return
    }
    mark(batch, &effects)
    voidUnreadable(before: batch, &effects)
    // The push declares IDs void for good. After a restart no mutation may have one of them back.
    // So the app's decision that took the ID away must be durable too.
    let isSaid = voided.isEmpty || sending.decisionVersion <= stored
    let durable = batch.prefix { isSaid && queue[$0].version <= stored }
    guard !durable.isEmpty else {
      sending.status = .storing
      return
    }
    push(durable, at: now, &effects)
  }

  /// When it pushes again after a failure, at the latest; `nil`: it does not wait for that.
  @inlinable
  package var nextPush: Moment? {
    sending.status == .waiting ? sending.retry.timer?.latest : nil
  }

  /// The reason why the next mutation cannot be sent; `nil`: none.
  @inlinable
  package var block: OutboxBlock? {
    if sending.isHeldBack { return .heldBack }
    if !sendsInBatches, nextAlone != nil { return nil }
    if let first = refused.first { return .refused(first.ticket) }
    guard let next = queue.first(where: { !$0.isAccepted }) else { return nil }
    switch next.stage {
    case .uncertain: return next.isToSeek ? nil : .uncertain(next.ticket)
    case .unsent, .marked: return next.refusal == nil ? nil : .threw(next.ticket)
    case .sent, .accepted: return nil
    }
  }

  private var batchMaximum: Int { max(min(settings.batchMaximum, sending.batchLimit), 1) }

  /// The next batch: from the first that is not accepted, up to the first that never left and
  /// throws.
  private var nextBatch: Range<Int> {
    guard sendsInBatches else { return nextAlone.map { $0..<$0 + 1 } ?? 0..<0 }
    let start = queue.firstIndex { !$0.isAccepted } ?? queue.count
    let limit = min(queue.count, start + batchMaximum)
    var end = start
    while end < limit {
      switch queue[end].stage {
      case .unsent, .marked: if queue[end].refusal != nil { return start..<end }
      case .sent: break
      case .accepted, .uncertain: return start..<end
      }
      end += 1
    }
    return start..<end
  }

  /// The next mutation that can be sent alone: it may depend on none that is refused, and on none
  /// before it that is uncertain, that throws, or that waits for such a one. What has been out
  /// without an answer comes after all others, so that one that never gets an answer does not hold
  /// them up; so does what is looked for.
  @usableFromInline
  var nextAlone: Int? {
    var held: [Int] = []
    var again: Int?
    for index in queue.indices where !queue[index].isAccepted {
      let pending = queue[index]
      if pending.isToSeek, again == nil { again = index }
      let isHeld =
        pending.isUncertain || pending.refusal != nil && !pending.isSent
        || held.contains { pending.change.mayDepend(on: queue[$0].change) }
        || refused.contains { pending.change.mayDepend(on: $0.change) }
      if !isHeld, !pending.isSent { return index }
      if !isHeld, again == nil { again = index }
      held.append(index)
    }
    return again
  }

  /// Gives IDs to the mutations that have none. They may leave once that is durable.
  private mutating func mark(_ batch: Range<Int>, _ effects: inout Effects) {
    guard let first = batch.first(where: { queue[$0].stage == .unsent }) else { return }
    changed()
    persist(&effects)
    for index in first..<batch.upperBound {
      lastID = lastID.next
      queue[index].stage = .marked(lastID)
      queue[index].version = version
      if !sendsInBatches { noteDeparture(at: index) }
    }
  }

  /// Takes the IDs back from marked mutations that have not left. The disk may still show such an
  /// ID. It is updated before another mutation gets the ID and leaves. O(log n) plus one step for
  /// each: they are the last of those with IDs.
  ///
  /// IDs that the server does not count may be in any order: O(n). Where each is sent alone, the
  /// one that is out may stand behind those that change, and keeps its ID.
  mutating func unmark(from start: Int = 0) {
    guard countsIDs else {
      for index in queue.indices.dropFirst(start).reversed() {
        guard case .marked(let id) = queue[index].stage, !isOut(id) else { continue }
        queue[index].stage = .unsent
        if id == lastID { lastID = id.previous }
      }
      return
    }
    var (end, high) = (0, queue.count)
    while end < high {
      let middle = (end + high) / 2
      if queue[middle].id == nil { high = middle } else { end = middle + 1 }
    }
    while end > start, case .marked(let id) = queue[end - 1].stage {
      queue[end - 1].stage = .unsent
      lastID = id.previous
      end -= 1
    }
  }

  /// Takes the IDs back from marked mutations before a place: another goes ahead of them.
  private mutating func unmark(before end: Int) {
    for index in queue.indices.prefix(end) {
      guard case .marked(let id) = queue[index].stage, !isOut(id) else { continue }
      queue[index].stage = .unsent
      if id == lastID { lastID = id.previous }
    }
  }

  private mutating func push(_ batch: Range<Int>, at now: Moment, _ effects: inout Effects) {
    sending.retry.spend(at: now, settings.machine.retry)
    sending.pushCount += 1
    sending.isBehind = false
    let id = RequestID(incarnation: sending.incarnation, part: .outbox, number: sending.pushCount)
    var items: [PushRequest<Change>.Item] = []
    items.reserveCapacity(batch.count)
    for pending in queue[batch] {
      guard let id = pending.id else { continue }  // All have one: they are marked or sent.
      items.append(PushRequest.Item(id: id, ticket: pending.ticket, change: pending.change))
    }
    let first = queue[batch.lowerBound]
    let seeksAbove = first.isToSeek ? first.leftAbove : nil
    effects.push = PushRequest(
      id: id, client: client, knownRefusal: knownRefusal, voided: voided, mutations: items,
      seeksAbove: seeksAbove)
    sending.status = .pushing(
      OutstandingPush(
        id: id, first: items[0].id, last: items[items.count - 1].id, count: items.count,
        isSearch: seeksAbove != nil))
    let deadline = sending.retry.deadline(
      first: settings.pushDeadline, settings.machine.retry)
    let end = max(now + deadline, now + .milliseconds(1))
    effects.arm = sending.retry.arm(MomentRange(at: end))
  }

  /// Schedules the resend of accepted mutations that are not confirmed in time. Nothing else is to
  /// send.
  private mutating func confirmLater(at now: Moment, _ effects: inout Effects) {
    guard countsIDs, let first = queue.first, first.isAccepted else { return }
    let due: Moment
    if let resendAt = sending.resendAt {
      due = max(resendAt, now + .milliseconds(1))
    } else {
      due = now + sending.resends.take(first: settings.resendFirst, cap: settings.resendCap)
    }
    sending.resendAt = due
    effects.arm = sending.retry.arm(MomentRange(at: due))
    sending.status = .confirming
  }

  // MARK: Timers and waits

  mutating func disarm(_ effects: inout Effects) {
    guard let timer = sending.retry.disarm() else { return }
    // The host has not heard of a timer that was armed in this same step.
    if effects.arm?.timer == timer { effects.arm = nil } else { effects.disarm = timer }
  }

  /// Cancels the current push.
  mutating func cancel(_ push: OutstandingPush, _ effects: inout Effects) {
    // The host has not heard of a push that was made in this same step.
    if effects.push?.id == push.id { effects.push = nil } else { effects.cancel = push.id }
  }

  /// Waits up to `wait` from now, and at least until the server's floor. In the background it rests
  /// instead.
  mutating func wait(_ wait: TimeSpan, at now: Moment, _ effects: inout Effects) {
    guard isActive else { return rest(&effects) }
    effects.arm = sending.retry.arm(within: wait, at: now)
    sending.status = .waiting
  }

  /// Comes to rest: nothing is out, and nothing is due.
  mutating func rest(_ effects: inout Effects) {
    disarm(&effects)
    unmark()
    sending.status = .resting
  }
}
