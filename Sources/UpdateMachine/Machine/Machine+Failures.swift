// The failure table (TheMachine §5). Each case is a row; whether a finger is held picks the column.

extension Machine {
  /// Handles the failure of the request that was out.
  @inlinable
  mutating func fail(_ failure: SyncFailure, at now: Moment, _ effects: inout Effects) {
    let isRegistering = _finger == nil
    let isFirst = !outage.hasFailed
    outage.fail(at: now)
    askSoon()
    switch failure {
    case .unreachable:
      waitTransiently(at: now, &effects)
    case .timedOut:
      retry.timeouts.lengthen()
      if isRegistering { waitSlowly(at: now, &effects) } else { waitTransiently(at: now, &effects) }
    case .serverFault:
      if isRegistering { waitSlowly(at: now, &effects) } else { waitTransiently(at: now, &effects) }
    case .rateLimited(let after):
      wait(
        retry.limit(for: after, isSlow: isRegistering, at: now, settings.retry), at: now, &effects)
    case .unauthorized:
      _status = .halted(.credentials)
    case .unsupported:
      releaseAndDrop(&effects)
      _status = .halted(.unsupported)
    case .expired:
      if isRegistering {
        // A register cannot expire: the source is at fault.
        effects.report = .failure(failure)
        waitSlowly(at: now, &effects)
      } else {
        expired(isFirst: isFirst, at: now, &effects)
      }
    case .rejected, .malformed, .modelRefused:
      effects.report = .failure(failure)
      releaseAndDrop(&effects)
      waitSlowly(at: now, &effects)
    }
  }

  @inlinable
  mutating func waitTransiently(at now: Moment, _ effects: inout Effects) {
    wait(retry.takeTransient(settings.retry), at: now, &effects)
  }

  @inlinable
  mutating func waitSlowly(at now: Moment, _ effects: inout Effects) {
    wait(retry.takeSlow(at: now, settings.retry), at: now, &effects)
  }

  /// Handles the loss of our log at the server. `isFirst`: nothing else has failed in this outage.
  @inlinable
  mutating func expired(isFirst: Bool, at now: Moment, _ effects: inout Effects) {
    let touched = self.touched
    dropFinger()
    if let registeredAt, now - registeredAt < settings.retry.healthy {
      return waitSlowly(at: now, &effects)  // A finger that dies young is no progress.
    }
    guard settings.spread > .zero, let touched, _terms.lifetime > now - touched else {
      // The lifetime was over. Only our log is gone, so no herd returns with us.
      return proceed(at: now, &effects)
    }
    // Too early: the server lost all logs, and all clients return at once.
    outage.isHerd = isFirst
    wait(settings.spread, at: now, &effects)
  }

  @inlinable
  mutating func releaseAndDrop(_ effects: inout Effects) {
    guard let finger = _finger else { return }
    effects.release = finger.log
    dropFinger()
  }
}
