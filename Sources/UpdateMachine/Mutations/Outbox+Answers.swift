// Answers, failures and timers. Each is believed only if its ID is the current one. Any other is
// late or repeated, and absorbed: the server repeats its message in the answer to the next push.

extension Outbox {
  mutating func answered(
    _ id: RequestID, _ answer: PushAnswer, at now: Moment, _ effects: inout Effects
  ) {
    guard case .pushing(let push) = sending.status, push.id == id else { return }
    disarm(&effects)
    sending.status = .resting
    sending.wantsPull = true
    if push.isSearch { return searched(push, answer, at: now, &effects) }
    switch answer {
    case .accepted, .created:
      raiseBatchLimit()
      accept(through: push.last, from: push.first, at: now)
      if case .created(let id) = answer { noteCreated(id, by: push) }
      // Otherwise it would be uncertain after a restart.
      if !countsIDs {
        changed()
        persist(&effects)
      }
    case .refused(let refusal):
      guard let index = queue.firstIndex(where: { $0.id == refusal.id }) else {
        // Its first copy has been echoed meanwhile. Those before it were run.
        if !countsIDs, push.first <= refusal.id, refusal.id <= push.last {
          accept(through: refusal.id.previous, from: push.first, at: now)
          settleUndone(push, &effects)
          break
        }
        // A refusal that we know already, or of an ID that we never sent: the server breaks the
        // rules.
        settle(push, isDoubtful: true)
        effects.report = .malformed
        return waitSlowly(at: now, &effects)
      }
      effects.report = .rejected(refusal.code)
      knownRefusal = max(knownRefusal, refusal.id)
      refuse(at: index, refusal, at: now)
      persist(&effects)
    case .absent:
      // It was not asked.
      settle(push, isDoubtful: true)
      effects.report = .malformed
      return waitSlowly(at: now, &effects)
    case .acceptedOnly(let ids):
      guard accept(ids, of: push, at: now, &effects) else {
        return waitTransiently(at: now, &effects)
      }
      raiseBatchLimit()
    case .behind:
      sending.isHeldBack = true
      sending.isBehind = true
      settleUndone(push, &effects)
      // Should it be behind again, the next wait is longer.
      return waitTransiently(at: now, &effects)
    case .tooLarge:
      guard push.count > 1 else {
        guard let index = queue.firstIndex(where: { $0.id == push.first }) else {
          settle(push, isDoubtful: true)  // Its first copy was confirmed meanwhile.
          break
        }
        if !countsIDs { queue[index].mayHaveCopy = true }
        return fail(push, .rejected(.tooLarge), hasLeft: true, at: now, &effects)
      }
      // Another copy may still arrive, where more is taken: its IDs keep their meaning.
      sending.batchLimit = push.count / 2
      settle(push, isDoubtful: countsIDs)
    }
    sending.retry.transient.reset()
    sending.retry.timeouts.reset()
    proceed(at: now, &effects)
  }

  mutating func failed(
    _ id: RequestID, _ failure: SyncFailure, hasLeft: Bool, at now: Moment, _ effects: inout Effects
  ) {
    guard case .pushing(let push) = sending.status, push.id == id else { return }
    disarm(&effects)
    fail(push, failure, hasLeft: hasLeft, at: now, &effects)
  }

  mutating func fired(_ id: TimerID, at now: Moment, _ effects: inout Effects) {
    guard let armed = sending.retry.take(fired: id) else { return }
    switch sending.status {
    case .pushing(let push):
      cancel(push, &effects)
      guard now > armed.latest + settings.machine.late else {
        return fail(push, .timedOut, hasLeft: true, at: now, &effects)
      }
      // The device slept through the deadline. That is no failure.
      settle(push, isDoubtful: true)
      sending.status = .resting
      proceed(at: now, &effects)
    case .waiting, .pausing:
      sending.status = .resting
      proceed(at: now, &effects)
    case .confirming:
      sending.resendAt = nil
      sending.status = .resting
      for index in queue.indices {
        if case .accepted(let id, _) = queue[index].stage { queue[index].stage = .sent(id) }
      }
      proceed(at: now, &effects)
    case .resting, .storing, .halted: return  // These hold no timer.
    }
  }

  private mutating func raiseBatchLimit() {
    if sending.batchLimit < settings.batchMaximum { sending.batchLimit *= 2 }
  }

  // MARK: Failures

  /// Handles the failure of the current push by the machine's table (TheMachine §5), as for a poll.
  private mutating func fail(
    _ push: OutstandingPush, _ failure: SyncFailure, hasLeft: Bool, at now: Moment,
    _ effects: inout Effects
  ) {
    sending.status = .resting
    if case .rejected = failure, push.isSearch {
      effects.report = failure
      return searched(push, .absent, at: now, &effects)
    }
    if case .rejected(let code) = failure {
      if let index = queue.firstIndex(where: { $0.id == push.first }) {
        // The failure does not say which mutation is to blame. Assume the first.
        effects.report = failure
        let refusal = MutationRefusal(push.first, code)
        if countsIDs {
          settle(push, isDoubtful: true)
          refuseWhole(at: index, refusal)
        } else {
          refuse(at: index, refusal, at: now)
        }
        persist(&effects)
        return proceed(at: now, &effects)
      }
      // A retried mutation, whose first copy has been echoed meanwhile.
      if !countsIDs { return proceed(at: now, &effects) }
    }
    let isDoubtful = hasLeft && (sendsInBatches || failure.leavesDoubt)
    if push.isSearch || isDoubtful {
      settle(push, isDoubtful: isDoubtful)
    } else {
      settleUndone(push, &effects)
    }
    switch failure {
    case .unreachable, .serverFault:
      waitTransiently(at: now, &effects)
    case .timedOut:
      sending.retry.timeouts.lengthen()
      waitTransiently(at: now, &effects)
    case .rateLimited(let after):
      let numbers = settings.machine.retry
      wait(
        sending.retry.limit(for: after, isSlow: false, at: now, numbers), at: now, &effects)
    case .unauthorized:
      halt(.credentials)
    case .unsupported:
      halt(.unsupported)
    case .expired, .rejected, .malformed, .modelRefused:
      effects.report = failure
      waitSlowly(at: now, &effects)
    }
  }

  private mutating func halt(_ halt: MachineStatus.Halt) {
    unmark()
    sending.status = .halted(halt)
  }

  private mutating func waitTransiently(at now: Moment, _ effects: inout Effects) {
    wait(sending.retry.takeTransient(settings.machine.retry), at: now, &effects)
  }

  private mutating func waitSlowly(at now: Moment, _ effects: inout Effects) {
    wait(sending.retry.takeSlow(at: now, settings.machine.retry), at: now, &effects)
  }

  // MARK: The end of a push

  /// Marks these as accepted by the server.
  private mutating func accept(through last: MutationID, from first: MutationID, at now: Moment) {
    for index in queue.indices {
      guard let id = queue[index].id, id <= last else {
        if countsIDs { return }  // All that follow are later, too.
        continue
      }
      if id >= first { noteAccepted(at: index, id, at: now) }
    }
  }

  /// Marks some mutations of a push as accepted. The others may leave again. Returns whether any of
  /// them is new: if not, sending at once would loop.
  private mutating func accept(
    _ ids: [MutationID], of push: OutstandingPush, at now: Moment, _ effects: inout Effects
  ) -> Bool {
    var isAny = false
    for index in queue.indices {
      guard let id = queue[index].id, push.first <= id, id <= push.last, ids.contains(id),
        !queue[index].isAccepted
      else { continue }
      noteAccepted(at: index, id, at: now)
      isAny = true
    }
    guard isAny else {
      settleUndone(push, &effects)
      return false
    }
    // A server that counts runs in order, so it must have run those before an accepted one, too.
    settle(push, isDoubtful: countsIDs)
    if !countsIDs {
      changed()
      persist(&effects)
    }
    return true
  }

  /// Marks a mutation as accepted. A poll that is out already proves nothing about it.
  mutating func noteAccepted(at index: Int, _ id: MutationID, at now: Moment) {
    queue[index].stage = .accepted(id, at: now)
    if id <= sending.askedThrough { sending.askedThrough = id.previous }
  }

  /// Notes the ID of what a mutation has created. Several mutations cannot share one ID. A server
  /// that counts mutations confirms them in their order.
  private mutating func noteCreated(_ id: Int64, by push: OutstandingPush) {
    guard !countsIDs, push.count == 1, let index = queue.firstIndex(where: { $0.id == push.first })
    else {
      return
    }
    noteCreated(id, at: index)
  }

  /// Settles a push about which the server has done nothing. The mark on disk says that it may have
  /// left. Where a restart would make it uncertain, the mark is taken back on disk, too.
  private mutating func settleUndone(_ push: OutstandingPush, _ effects: inout Effects) {
    settle(push, isDoubtful: false)
    guard !sendsInBatches else { return }
    changed()
    persist(&effects)
  }

  /// Settles a push without a usable answer. If `isDoubtful`, its mutations may be at the server.
  /// If not, they count as never sent, unless an earlier push has sent them.
  mutating func settle(_ push: OutstandingPush, isDoubtful: Bool) {
    if isDoubtful {
      for index in queue.indices {
        guard case .marked(let id) = queue[index].stage, id <= push.last else { continue }
        queue[index].stage = doubtfulStage(of: queue[index].change, id)
      }
    }
    unmark()
  }
}

extension SyncFailure {
  /// Whether the server, if the request reached it, may have done what it was asked.
  var leavesDoubt: Bool {
    switch self {
    case .unreachable, .timedOut, .serverFault, .malformed, .modelRefused: true
    case .rateLimited, .unauthorized, .unsupported, .expired, .rejected: false
    }
  }
}
