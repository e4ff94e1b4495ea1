// What the app says: started, stopped, to the foreground and back, and the signals that may cut a
// wait. As the machine's (MACHINE §4), but that a push that is out is left to end in the background:
// the server may run it anyway, and its answer says whether it did.

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
    case .pushing: return  // Left to end; then it rests.
    case .storing, .waiting, .pausing, .confirming: rest(&effects)
    }
  }

  /// A sign that trying now may do better than waiting.
  mutating func signalled(_ signal: Signal, at now: Moment, _ effects: inout Effects) {
    guard sending.isStarted else { return }
    switch sending.status {
    case .halted(let halt):
      guard signal == .retryRequested, halt != .stopped, payWake(at: now) else { return }
      sending.status = .resting
      proceed(at: now, &effects)
    case .waiting:
      // Another network heals no server's refusal, so it does not cut a slow wait.
      if signal == .networkChanged, sending.retry.slow.left(at: now) > .zero { return }
      guard payWake(at: now) else { return }
      disarm(&effects)
      sending.status = .resting
      proceed(at: now, &effects)
    case .resting, .storing, .pushing, .pausing, .confirming:
      return  // Nothing is waited for that a signal could hasten.
    }
  }

  mutating func credentialsChanged(at now: Moment, _ effects: inout Effects) {
    guard sending.isStarted, sending.status == .halted(.credentials) else { return }
    sending.status = .resting
    proceed(at: now, &effects)
  }

  /// Pays for a wake-up, if one is left: the next failure's wait is then short.
  private mutating func payWake(at now: Moment) -> Bool {
    sending.retry.payWake(at: now, settings.machine.retry)
  }
}

extension OutboxStatus {
  var isHalted: Bool {
    if case .halted = self { true } else { false }
  }
}
