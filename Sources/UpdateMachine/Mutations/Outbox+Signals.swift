// Signals from the app: start, stop, foreground, background, and those that may cut a wait short.
// The rules are the machine's (TheMachine §4), except that a push continues in the background. The
// server may run it anyway, and its answer tells whether it did.

extension Outbox {
  enum Signal: Sendable {
    case foregrounded
    case networkChanged
    case retryRequested
  }

  mutating func heard(_ signal: AppSignal, at now: Moment, _ effects: inout Effects) {
    switch signal {
    case .started(let foreground): started(foreground: foreground, at: now, &effects)
    case .stopped, .loggedOut: stopped(&effects)
    case .foregrounded: foregrounded(at: now, &effects)
    case .backgrounded: backgrounded(&effects)
    case .networkChanged: signalled(.networkChanged, at: now, &effects)
    case .retryRequested: signalled(.retryRequested, at: now, &effects)
    case .credentialsChanged: credentialsChanged(at: now, &effects)
    }
  }

  private mutating func started(foreground: Bool, at now: Moment, _ effects: inout Effects) {
    guard !sending.isStarted || sending.status.isHalted else { return }  // Absorbed.
    sending.isStarted = true
    sending.isForeground = foreground
    sending.status = .resting
    proceed(at: now, &effects)
  }

  mutating func stopped(_ effects: inout Effects) {
    if case .pushing(let push) = sending.status {
      cancel(push, &effects)
      settle(push, isDoubtful: true)
    }
    rest(&effects)
    sending.status = .halted(.stopped)
    sending.isStarted = false
  }

  mutating func foregrounded(at now: Moment, _ effects: inout Effects) {
    sending.isForeground = true
    guard sending.isStarted else { return }  // Remembered for the start.
    guard sending.status == .resting else { return signalled(.foregrounded, at: now, &effects) }
    let left = sending.retry.slow.left(at: now)
    if left > .zero, !payWake(at: now) { return wait(left, at: now, &effects) }
    proceed(at: now, &effects)
  }

  mutating func backgrounded(_ effects: inout Effects) {
    sending.isForeground = false
    switch sending.status {
    case .resting, .halted: return  // Nothing is going on.
    case .pushing: return  // The push may end; then it rests.
    case .storing, .waiting, .pausing, .confirming: rest(&effects)
    }
  }

  /// Takes a signal that may cut a wait short.
  mutating func signalled(_ signal: Signal, at now: Moment, _ effects: inout Effects) {
    guard sending.isStarted else { return }
    switch sending.status {
    case .halted(let halt):
      guard signal == .retryRequested, halt != .stopped, payWake(at: now) else { return }
      sending.status = .resting
      proceed(at: now, &effects)
    case .waiting:
      // A change of network does not heal a server's refusal, so it does not cut a slow wait.
      if signal == .networkChanged, sending.retry.slow.left(at: now) > .zero { return }
      guard payWake(at: now) else { return }
      disarm(&effects)
      sending.status = .resting
      proceed(at: now, &effects)
    case .resting, .storing, .pushing, .pausing, .confirming:
      return  // A signal hastens nothing here.
    }
  }

  mutating func credentialsChanged(at now: Moment, _ effects: inout Effects) {
    guard sending.isStarted, sending.status == .halted(.credentials) else { return }
    sending.status = .resting
    proceed(at: now, &effects)
  }

  /// Pays for a wake, if one is left. The next failure's wait is then short.
  private mutating func payWake(at now: Moment) -> Bool {
    sending.retry.payWake(at: now, settings.machine.retry)
  }
}

extension OutboxStatus {
  var isHalted: Bool {
    if case .halted = self { true } else { false }
  }
}
