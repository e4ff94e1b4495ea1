internal import SyncProtocols
internal import UpdateMachine

// Oracle D: what each input cost, and whether that was allowed.

extension Checker {
  mutating func judgeBudget(
    _ before: Before, _ effects: Effects, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    noteOutcome(before, effects, client, machine, at: now)
    if cutsWait(before, effects, client, machine, at: now),
      let expected = accounts[client].budget.noteWake(at: now)
    {
      report(.budget, client, now, expected, "\(before.kind), \(machine)")
    }
    guard let request = effects.request else { return }
    if let expected = accounts[client].budget.noteRequest(at: now) {
      report(.budget, client, now, expected, "a request, \(machine)")
    }
    guard let arm = effects.arm else { return }
    var isRegister = false
    var waits = false
    switch request {
    case .register: isRegister = true
    case .poll(_, _, waits: let mayWait): waits = mayWait
    }
    let expected = accounts[client].budget.noteDeadline(
      arm.range.latest - now, isRegister: isRegister, waits: waits,
      long: machine.terms.longDeadline)
    if let expected { report(.budget, client, now, expected, "\(machine)") }
  }

  /// Notes the result of the open request, if this input ended it.
  private mutating func noteOutcome(
    _ before: Before, _ effects: Effects, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    switch before.kind {
    case .failed:
      guard before.isCurrent, let failure = before.failure else { return }
      noteFailure(failure, before, effects, client, machine, at: now)
    case .fired:
      guard before.isAwaiting, effects.cancel != nil, !before.isOverdue else { return }
      noteFailure(.timedOut, before, effects, client, machine, at: now)
    case .snapshotArrived, .polled:
      guard before.isCurrent else { return }
      if before.isRegistering { return accounts[client].budget.noteSnapshot(at: now) }
      accounts[client].budget.noteAnswer()
      // If the answer came late enough, the finger may have moved and been dropped in one step.
      let hasMoved = machine.finger == nil ? before.isNews : machine.finger != before.finger
      let out = now - before.sent
      if hasMoved || (before.isComplete && before.waits && out >= settings.productive) {
        accounts[client].budget.noteProgress()
      } else if before.isSubscribed, before.isComplete, effects.cancel == nil || before.isOverdue {
        return  // A subscription's server says that it is there, as often as it likes.
      } else if !before.isComplete || (before.waits && !before.isOverdue) {
        // Another client ended the poll, old events came again, or the server does not give what it
        // has yet. Asking again at once would loop.
        noteWait(isSlow: false, effects, client, machine, at: now)
      }
    case .writeFailed:
      if effects.report == .store, before.status.isLive {
        noteWait(isSlow: false, effects, client, machine, at: now)
      }
    case .restored, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .written:
      break
    }
  }

  private mutating func noteFailure(
    _ failure: SyncFailure, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) {
    switch failure {
    case .unreachable: noteWait(isSlow: false, effects, client, machine, at: now)
    case .timedOut:
      accounts[client].budget.noteTimeout()
      noteWait(isSlow: before.isRegistering, effects, client, machine, at: now)
    case .serverFault: noteWait(isSlow: before.isRegistering, effects, client, machine, at: now)
    case .rateLimited(let after):
      accounts[client].budget.noteRateLimit(after: after, at: now)
      noteWait(
        isSlow: before.isRegistering, asked: after ?? .zero, effects, client, machine, at: now)
    case .rejected, .malformed, .modelRefused:
      noteWait(isSlow: true, effects, client, machine, at: now)
    case .expired:
      // A finger that has lasted may be replaced at once, or after the spread of a herd.
      if before.isRegistering || accounts[client].budget.isYoung(at: now) {
        noteWait(isSlow: true, effects, client, machine, at: now)
      }
    case .unauthorized, .unsupported: break  // Only the app can go on from here.
    }
  }

  private mutating func noteWait(
    isSlow: Bool, asked: TimeSpan? = nil, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) {
    // At rest the timer is for the refresh, not for a wait.
    let waits = machine.status.isResting ? nil : effects.arm
    let expected = accounts[client].budget.noteFailure(
      isSlow: isSlow, asks: effects.request != nil || effects.persist != nil,
      wait: waits.map { $0.range.latest - now }, asked: asked, at: now)
    if let expected { report(.budget, client, now, expected, "\(effects.texts(at: now))") }
  }

  /// Whether a signal ended a wait, a waiting poll or a halt early, which must be paid for.
  private func cutsWait(
    _ before: Before, _ effects: Effects, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) -> Bool {
    switch before.kind {
    case .foregrounded where before.status.isResting:
      // Even a paid wake keeps to the server's floor and the pace, so there may be no request yet.
      before.status == .stale && accounts[client].budget.isSlowWaitOn(at: now)
        && (effects.request != nil || accounts[client].budget.hasWake(at: now))
    case .foregrounded, .networkChanged, .retryRequested:
      !effects.isEmpty || machine.status != before.status
    case .restored, .started, .stopped, .loggedOut, .backgrounded, .credentialsChanged, .failed,
      .fired, .snapshotArrived, .polled, .written, .writeFailed:
      false
    }
  }
}
