// Answers, timers and writes (TheMachine §4). An input is believed only if its ID is the current
// one. Others are late or repeated, which is normal, and are absorbed.

extension Machine {
  @inlinable
  mutating func snapshotArrived(
    _ id: RequestID, finger: Place, terms: ServerTerms, isComplete: Bool, at now: Moment,
    _ effects: inout Effects
  ) {
    guard case .registering(let request) = _status, request.id == id else {
      // This log will not be polled: release it, unless it is the one that we follow.
      if !_status.isHalted, finger.log != _finger?.log { effects.release = finger.log }
      return
    }
    disarm(&effects)
    _finger = finger
    _terms = terms
    registeredAt = now
    touched = now
    retry.transient.reset()
    retry.timeouts.reset()
    outage.hasFailed = false
    if !isComplete {
      // What came may be older than what was held. So no moment is known at which it was the
      // server's whole state.
      outage.upToDateAsOf = nil
      outage.lose(at: now)
      askSoon()
    } else if now - request.sent > settings.quickDeadline {
      // The server may have read its state when the request was sent: old, but the best we have.
      outage.upToDateAsOf = request.sent
      outage.lose(at: now)
      askSoon()
    } else {
      noteUpToDate(asOf: request.sent, at: now)
    }
    if settings.isDurable { persist(&effects) }
    proceed(at: now, &effects)
  }

  @inlinable
  mutating func polled(
    _ id: RequestID, movedTo finger: Place?, isComplete: Bool, overslept: Bool, at now: Moment,
    _ effects: inout Effects
  ) {
    guard case .live(.polling(let request)) = _status, request.id == id else { return }
    noteEnd(of: request, at: now)
    disarm(&effects)
    retry.timeouts.reset()
    if overslept || !isComplete {
      // The answer may have waited in the device while it slept, or the server has more. So it is
      // applied, but does not prove that the state is up to date now.
      outage.lose(at: now)
      askSoon()
    } else {
      noteUpToDate(asOf: request.waits ? now : request.sent, at: now)
    }
    if let finger {
      _finger = finger
      retry.transient.reset()
      if settings.isDurable { persist(&effects) }
    }
    if _terms.cadence == .pushed, request.waits {
      if isComplete, now - request.sent >= settings.productive { retry.transient.reset() }
      if isComplete, !overslept { return awaitNextPush(at: now, &effects) }
      effects.cancel = id
    }
    if finger == nil, request.waits || !isComplete {
      guard isComplete, now - request.sent >= settings.productive else {
        // Another client polls our log, old events came again, or the server does not give what it
        // has yet. Asking at once would loop.
        let wait = retry.takeTransient(settings.retry)
        return self.wait(wait, pausing: true, at: now, &effects)
      }
      retry.transient.reset()
    }
    proceed(at: now, &effects)
  }

  /// Keeps the subscription open; the next push must come within the long deadline.
  @inlinable
  mutating func awaitNextPush(at now: Moment, _ effects: inout Effects) {
    let end = max(now + _terms.longDeadline, now + .milliseconds(1))
    effects.arm = retry.arm(MomentRange(at: end))
  }

  @inlinable
  mutating func failed(
    _ id: RequestID, _ failure: SyncFailure, at now: Moment, _ effects: inout Effects
  ) {
    guard let request = _status.outstanding, request.id == id else { return }
    // A poll that found the log expired did not keep it alive.
    if failure != .expired { noteEnd(of: request, at: now) }
    disarm(&effects)
    fail(failure, at: now, &effects)
  }

  @inlinable
  mutating func fired(
    _ id: TimerID, overslept: Bool, at now: Moment, _ effects: inout Effects
  ) {
    guard retry.take(fired: id) != nil else { return }
    switch _status {
    case .registering:
      cancel(at: now, &effects)
      fail(.timedOut, at: now, &effects)
    case .live(.polling):
      cancel(at: now, &effects)
      guard overslept else { return fail(.timedOut, at: now, &effects) }
      // The device slept through the deadline, so this is not a failure (SyncBugs 12).
      askSoon()
      proceed(at: now, &effects)
    case .registerFailed, .live(.pausing), .pollFailed:
      proceed(at: now, &effects)
    case .idle:
      askSoon()
      proceed(refreshing: true, at: now, &effects)
    case .stale, .live(.writing), .halted: return  // These hold no timer.
    }
  }

  @inlinable
  mutating func written(_ id: WriteID, at now: Moment, _ effects: inout Effects) {
    guard writing == id else { return }
    writing = nil
    guard !_status.isHalted else { return }  // Unwritten events come again: not acknowledged.
    if isUnwritten { return persist(&effects) }
    if _status == .live(.writing) { proceed(at: now, &effects) }
  }

  @inlinable
  mutating func writeFailed(_ id: WriteID, at now: Moment, _ effects: inout Effects) {
    guard writing == id else { return }
    writing = nil
    isUnwritten = _finger != nil
    guard !_status.isHalted else { return }
    effects.report = .store
    switch _status {
    case .live(.writing), .live(.polling):  // A subscription stays out during a write.
      cancel(at: now, &effects)
      disarm(&effects)
      outage.fail(at: now)
      askSoon()
      wait(
        retry.takeTransient(settings.retry), at: now,
        &effects)
    case .stale, .idle, .registering, .registerFailed, .live(.pausing), .pollFailed, .halted:
      return  // Retried before the next poll.
    }
  }

  /// Notes an answer which proves that the replica was up to date at `moment`.
  @inlinable
  mutating func noteUpToDate(asOf moment: Moment, at now: Moment) {
    outage.recover(upToDateAsOf: moment)
    nextPollIsQuick = false
    if case .every(let period) = _terms.cadence { nextAskAt = now + period }
  }
}
