internal import SyncProtocols
internal import UpdateMachine

// Oracle D: what every input cost, and whether it was owed.

extension Jury {
  mutating func judgeBudget(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) {
    noteOutcome(input, before, effects, client, replica, at: now)
    if cutsWait(input, before, effects, client, replica, at: now),
      let expected = accounts[client].budget.noteWake(at: now)
    {
      report(.budget, client, now, expected, "\(input), \(replica.machine)")
    }
    guard let request = effects.request else { return }
    if let expected = accounts[client].budget.noteRequest(at: now) {
      report(.budget, client, now, expected, "a request, \(replica.machine)")
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
      long: replica.machine.terms.longDeadline)
    if let expected { report(.budget, client, now, expected, "\(replica.machine)") }
  }

  /// What became of the request that was out, if this input ended it.
  private mutating func noteOutcome(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) {
    switch before.kind {
    case .failed:
      guard before.isCurrent, let failure = before.failure else { return }
      noteFailure(failure, before, effects, client, replica, at: now)
    case .fired:
      guard before.isAwaiting, effects.cancel != nil, !before.isOverdue else { return }
      noteFailure(.timedOut, before, effects, client, replica, at: now)
    case .snapshotArrived, .batchArrived:
      guard before.isCurrent else { return }
      if case .failure(let failure) = effects.report {
        return noteFailure(failure, before, effects, client, replica, at: now)
      }
      if before.isRegistering { return accounts[client].budget.noteSnapshot(at: now) }
      accounts[client].budget.noteAnswer()
      // A finger that came too late may have moved and be given up in one step.
      let hasMoved = replica.finger == nil ? isNews(input, before) : replica.finger != before.finger
      let out = now - before.sent
      if hasMoved || (before.waits && out >= settings.productive) {
        accounts[client].budget.noteProgress()
      } else if before.waits, !before.isOverdue {
        // Somebody else's doing, or old news: asking again at once would loop.
        noteWait(isSlow: false, effects, client, replica, at: now)
      }
    case .writeFailed:
      if effects.report == .store, before.status.isLive {
        noteWait(isSlow: false, effects, client, replica, at: now)
      }
    case .loaded, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .written:
      break
    }
  }

  private func isNews(_ input: Body.Input, _ before: Before) -> Bool {
    guard case .batchArrived(_, let batch) = input, let finger = before.finger else { return false }
    return Server.newest(in: batch).map { $0 > Server.number(of: finger) } ?? false
  }

  private mutating func noteFailure(
    _ failure: SyncFailure, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) {
    switch failure {
    case .unreachable: noteWait(isSlow: false, effects, client, replica, at: now)
    case .timedOut:
      accounts[client].budget.noteTimeout()
      noteWait(isSlow: before.isRegistering, effects, client, replica, at: now)
    case .serverFault: noteWait(isSlow: before.isRegistering, effects, client, replica, at: now)
    case .rateLimited(let after):
      accounts[client].budget.noteRateLimit(after: after, at: now)
      noteWait(
        isSlow: before.isRegistering, asked: after ?? .zero, effects, client, replica, at: now)
    case .rejected, .malformed, .modelRefused:
      noteWait(isSlow: true, effects, client, replica, at: now)
    case .expired:
      // One that has lived may be replaced at once, or after the spread of a herd.
      if before.isRegistering || accounts[client].budget.isYoung(at: now) {
        noteWait(isSlow: true, effects, client, replica, at: now)
      }
    case .unauthorized, .unsupported: break  // Only the app can go on.
    }
  }

  private mutating func noteWait(
    isSlow: Bool, asked: TimeSpan? = nil, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) {
    // At rest the timer is the refresh's.
    let waits = replica.status.isResting ? nil : effects.arm
    let expected = accounts[client].budget.noteFailure(
      isSlow: isSlow, asks: effects.request != nil || effects.persist != nil,
      wait: waits.map { $0.range.latest - now }, asked: asked, at: now)
    if let expected { report(.budget, client, now, expected, "\(effects.texts(at: now))") }
  }

  /// Whether a signal has ended a wait, a waiting poll or a halt before its time, which has to be
  /// paid for.
  private func cutsWait(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, at now: Moment
  ) -> Bool {
    switch before.kind {
    case .foregrounded where before.status.isResting:
      // It may be paid for, and the server's or the pace's floor forbid the request all the same.
      before.status == .stale && accounts[client].budget.isSlowWaitOn(at: now)
        && (effects.request != nil || accounts[client].budget.hasWake(at: now))
    case .foregrounded, .networkChanged, .retryRequested:
      !effects.isEmpty || replica.status != before.status
    case .loaded, .started, .stopped, .loggedOut, .backgrounded, .credentialsChanged, .failed,
      .fired, .snapshotArrived, .batchArrived, .written, .writeFailed:
      false
    }
  }
}
