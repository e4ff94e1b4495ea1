// The failure table (MACHINE §5): one case for each row, its two columns told apart by whether a
// finger is held.

extension Machine {
  /// The request that was out has failed.
  @inlinable
  mutating func fail(_ failure: SyncFailure, at now: Moment, _ effects: inout Effects) {
    let isRegistering = _finger == nil
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
        // Nothing was asked that could expire: a source's fault.
        effects.report = .failure(failure)
        waitSlowly(at: now, &effects)
      } else {
        expired(at: now, &effects)
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

  /// The server has lost our log.
  @inlinable
  mutating func expired(at now: Moment, _ effects: inout Effects) {
    let touched = self.touched
    dropFinger()
    if let registeredAt, now - registeredAt < settings.retry.healthy {
      return waitSlowly(at: now, &effects)  // A finger that dies young is no progress.
    }
    guard settings.spread > .zero, let touched, _terms.lifetime > now - touched else {
      // Its time was over: ours alone, so nobody is in the way.
      return proceed(at: now, &effects)
    }
    // Before its time: the server lost everybody's, and everybody comes back.
    wait(settings.spread, at: now, &effects)
  }

  @inlinable
  mutating func releaseAndDrop(_ effects: inout Effects) {
    guard let finger = _finger else { return }
    effects.release = finger.log
    dropFinger()
  }
}
