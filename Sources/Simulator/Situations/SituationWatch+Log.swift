internal import SyncProtocols
internal import UpdateMachine

// Situations of the machine that follows the log, and of time.

extension SituationWatch {
  /// Signals of the app, while something else goes on.
  func recogniseSignal(_ taken: Taken) {
    guard case .app(let signal) = taken.input else { return }
    let status = taken.before.status
    let isRegistering: Bool
    if case .registering = status { isRegistering = true } else { isRegistering = false }
    let isAsking = taken.effects.machine.request != nil
    switch signal {
    case .networkChanged, .retryRequested, .foregrounded:
      let isBackoff = status == .pollFailed || status == .registerFailed
      if signal == .networkChanged {
        note(.networkChangeDuringBackoff, if: isBackoff)
        note(
          .networkChangeLeavesWait,
          if: status == .registerFailed && taken.before.machine.isInForeground && !isAsking)
      }
      note(.wakeUnderRateLimit, if: isBackoff && taken.device.wasLimited && !isAsking)
      if case .foregrounded = signal {
        note(
          .foregroundBeforeSnapshot, if: isRegistering && !taken.before.machine.isInForeground)
      }
    case .backgrounded:
      note(.backgroundWhileRegistering, if: isRegistering)
      note(.backgroundWhilePageOut, if: taken.hasPagesOut)
      note(.backgroundWhilePushOut, if: taken.push != nil)
      note(.backgroundWhileLoading, if: taken.around.isLoading)
    case .stopped:
      note(.stopWhileRegistering, if: isRegistering)
      note(.stopWhilePushOut, if: taken.push != nil)
      note(.stopWhileLoading, if: taken.around.isLoading)
    case .loggedOut: recogniseLogOut(taken)
    case .credentialsChanged:
      note(.credentialsChangedAfterHalt, if: status == .halted(.credentials))
    case .started: break
    }
  }

  private func recogniseLogOut(_ taken: Taken) {
    note(.logOutWhilePushOut, if: taken.push != nil)
    note(.logOutWhilePageOut, if: taken.hasPagesOut)
    note(.logOutWhileSaving, if: taken.around.isSaving)
    note(.logOutWhileLoading, if: taken.around.isLoading)
    let neverLeft = taken.before.pending.contains { $0.stage == .unsent }
    note(.logOutWithChanges, if: neverLeft)
    note(.logOutOffline, if: !taken.around.isConnected)
  }

  /// Answers to registers and polls.
  func recogniseAnswer(_ taken: Taken) {
    guard let id = taken.answers else { return }
    let device = taken.device
    let isLate = id.number <= device.askedBeforeLogOut[Int(id.part.rawValue)]
    note(.answerFromBeforeLogOut, if: isLate && !device.isLoggedOut)
    guard id.part == .machine else { return }
    if taken.isCurrent { recogniseCurrent(taken) } else { recogniseLate(taken) }
  }

  /// An answer that the machine no longer awaits.
  private func recogniseLate(_ taken: Taken) {
    let isOut = taken.outstanding != nil && !taken.isCopy
    switch taken.input {
    case .failed: note(.lateFailureWhileRetryOut, if: isOut)
    case .batchArrived:
      note(.secondBatch, if: taken.isCopy)
      note(.lateBatchWhileRetryOut, if: isOut)
      note(
        .lateBatchAfterExpiry,
        if: isOut && taken.outstanding?.waits == false && taken.before.finger != nil
          && !taken.around.isLogAlive)
      note(
        .batchAfterStop,
        if: taken.before.status == .halted(.stopped) && !taken.device.isLoggedOut)
    case .snapshotArrived:
      note(.secondSnapshot, if: taken.isCopy)
      if case .registering = taken.before.status { note(.lateSnapshotWhileRetryOut, if: isOut) }
      note(.lateSnapshotWhileLive, if: taken.before.status.isLive && !taken.isCopy)
      note(.snapshotAfterLogOut, if: taken.device.isLoggedOut)
    default: break
    }
  }

  /// An answer that the machine awaits.
  private func recogniseCurrent(_ taken: Taken) {
    guard let request = taken.outstanding else { return }
    let isRegistering = taken.before.finger == nil
    switch taken.input {
    case .snapshotArrived:
      note(.snapshotInBackground, if: !taken.before.machine.isInForeground)
      note(.oldSnapshot, if: taken.now - request.sent > taken.before.machine.settings.quickDeadline)
      note(.snapshotWhilePushOut, if: taken.push != nil)
    case .batchArrived(_, let batch):
      note(.eventsGivenAgain, if: batch.count > 0 && taken.polled?.isNews == false)
      note(.answerInPart, if: taken.polled?.isComplete == false)
      note(
        .unproductivePoll,
        if: request.waits && taken.polled?.isNews == false
          && taken.after.status == .live(.pausing))
    case .failed(_, .expired, _): recogniseExpiry(taken, request)
    case .failed(_, .rateLimited, _): note(.rateLimitTwice, if: taken.device.wasLimited)
    case .failed(_, .unauthorized, _):
      note(.credentialsRefusedWhilePushOut, if: taken.push != nil)
    default: break
    }
    if taken.isRefused, taken.hasChanges {
      note(isRegistering ? .snapshotRefusedWithChanges : .eventRefusedWithChanges)
    }
    if taken.failure != nil, !isRegistering, taken.device.claim == .connected {
      note(.failureWithoutBanner, if: taken.after.freshness(at: taken.now).claim == .connected)
    }
  }

  private func recogniseExpiry(_ taken: Taken, _ request: Outstanding) {
    guard taken.before.finger != nil else { return }
    note(request.waits ? .expiryOfWaitingPoll : .expiryFoundByQuickPoll)
    if let at = taken.device.registeredAt {
      note(.expirySoonAfterRegister, if: taken.now - at < .seconds(60))
    }
    note(.refreshFindsExpiry, if: !taken.before.machine.isInForeground)
    note(.expiryWhilePushOut, if: taken.push != nil)
    note(.expiryWhilePageOut, if: taken.hasPagesOut)
    note(.expiryWhileRowsRead, if: taken.around.isReadingRows)
  }

  /// What time brings: deadlines, sleep, ages and the pace.
  func recogniseTime(_ taken: Taken) {
    let status = taken.before.status
    let isOverdue = taken.before.machine.isOverdue(at: taken.now)
    switch taken.input {
    case .fired(let timer) where timer.part == .machine:
      let isGivenUp = taken.effects.machine.cancel != nil
      if let request = taken.outstanding, isGivenUp {
        note(.deadlineOverslept, if: isOverdue)
        note(.waitingPollTimesOut, if: request.waits && !isOverdue)
        if case .registering = status { note(.registerTimesOut) }
      }
      if status == .idle { note(.refreshInBackground, if: taken.effects.machine.request != nil) }
    case .batchArrived: note(.answerOverslept, if: taken.isCurrent && isOverdue)
    case .written: note(.writeOverslept, if: status == .live(.writing) && isOverdue)
    case .loaded(let saved?, let age):
      guard saved.finger != nil else { break }
      note(.formOfUnknownAge, if: age == nil)
      note(.formTooOld, if: age != nil && taken.after.finger == nil)
    default: break
    }
    note(.paceHoldsPollBack, if: isHeldBackByPace(taken))
    if taken.before.finger != nil, taken.after.finger == nil {
      switch taken.input {
      case .app(.loggedOut), .failed, .batchArrived: break
      default: note(.fingerDroppedByAge)
      }
    }
  }

  /// Whether there was news, and no poll leaves although the server may hold one open.
  private func isHeldBackByPace(_ taken: Taken) -> Bool {
    guard taken.after.status == .live(.pausing), taken.before.machine.terms.cadence == .waits else {
      return false
    }
    if case .written = taken.input { return taken.before.status == .live(.writing) }
    return taken.polled?.isNews ?? false
  }
}
