// The app's signals: started, stopped, logged out, foregrounded, backgrounded, and those that may
// cut a wait short (TheMachine §4). One function for each input, one case for each row.

extension Machine {
  @usableFromInline
  enum Signal: Sendable {
    case foregrounded
    case networkChanged
    case retryRequested
  }

  @inlinable
  mutating func heard(_ signal: AppSignal, at now: Moment, _ effects: inout Effects) {
    switch signal {
    case .started(let foreground): started(foreground, at: now, &effects)
    case .stopped: stopped(at: now, &effects)
    case .loggedOut: loggedOut(at: now, &effects)
    case .foregrounded: foregrounded(at: now, &effects)
    case .backgrounded: backgrounded(at: now, &effects)
    case .networkChanged: signalled(.networkChanged, at: now, &effects)
    case .retryRequested: signalled(.retryRequested, at: now, &effects)
    case .credentialsChanged: credentialsChanged(at: now, &effects)
    }
  }

  @inlinable
  mutating func started(_ foreground: Bool, at now: Moment, _ effects: inout Effects) {
    guard !isStarted || _status.isHalted else { return }  // Started already: absorbed.
    isStarted = true
    isForeground = foreground
    resume(at: now, &effects)
  }

  /// Counts the state as lost, and asks anew.
  @inlinable
  mutating func resume(at now: Moment, _ effects: inout Effects) {
    outage.lose(at: now)
    askSoon()
    proceed(at: now, &effects)
  }

  @inlinable
  mutating func stopped(at now: Moment, _ effects: inout Effects) {
    cancel(at: now, &effects)
    disarm(&effects)
    _status = .halted(.stopped)
    isStarted = false
  }

  @inlinable
  mutating func loggedOut(at now: Moment, _ effects: inout Effects) {
    stopped(at: now, &effects)
    releaseAndDrop(&effects)
    effects.erase = true
    outage.upToDateAsOf = nil
  }

  @inlinable
  mutating func foregrounded(at now: Moment, _ effects: inout Effects) {
    isForeground = true
    guard isStarted else { return }  // Before the start it is only noted.
    guard _status.isResting else { return signalled(.foregrounded, at: now, &effects) }
    outage.restart(at: now)
    askSoon()
    let left = retry.slow.left(at: now)
    if _finger == nil, left > .zero, !payWake(at: now) {
      disarm(&effects)
      return wait(left, at: now, &effects)
    }
    proceed(at: now, &effects)
  }

  @inlinable
  mutating func backgrounded(at now: Moment, _ effects: inout Effects) {
    guard isForeground else { return }  // In the background already: absorbed.
    isForeground = false
    switch _status {
    case .stale, .idle, .halted: break  // Nothing is going on.
    case .registering: break  // The server makes the snapshot anyway: let it end.
    case .registerFailed, .live, .pollFailed:
      cancel(at: now, &effects)
      outage.lose(at: now)
      askSoon()
      rest(at: now, &effects)
    }
  }

  /// Handles a sign that trying now may do better than the current wait or poll.
  @inlinable
  mutating func signalled(_ signal: Signal, at now: Moment, _ effects: inout Effects) {
    guard isStarted else { return }
    if case .halted(let halt) = _status {
      if signal == .retryRequested, halt != .stopped, payWake(at: now) { resume(at: now, &effects) }
      return
    }
    guard isForeground else { return }
    switch _status {
    case .stale, .idle, .halted: return
    case .registering: return  // It costs the server a snapshot and a log: never cut.
    case .registerFailed:
      // A new network does not heal a server's refusal, so it cuts no slow wait.
      if signal == .networkChanged, retry.slow.left(at: now) > .zero { return }
      if payWake(at: now) { proceed(at: now, &effects) }
    case .pollFailed:
      if payWake(at: now) { proceed(at: now, &effects) }
    case .live(.polling(let request)):
      // A quick poll will tell within a round trip anyway.
      if request.waits, payWake(at: now) { probe(at: now, &effects) }
    case .live(.pausing):
      // Only the protocol's own rhythm may be cut short, never the pace.
      if now < nextAskAt, payWake(at: now) { probe(at: now, &effects) }
    case .live(.writing): return
    }
  }

  /// Asks anew whether the connection still works.
  @inlinable
  mutating func probe(at now: Moment, _ effects: inout Effects) {
    cancel(at: now, &effects)
    resume(at: now, &effects)
  }

  @inlinable
  mutating func credentialsChanged(at now: Moment, _ effects: inout Effects) {
    guard isStarted, _status == .halted(.credentials) else { return }
    resume(at: now, &effects)
  }
}
