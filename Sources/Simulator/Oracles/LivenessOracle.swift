internal import UpdateMachine

/// Oracle C: once the faults stop, every client is live and up to date within a computed bound.
enum LivenessOracle {
  /// The longest time that convergence may take, from the machine's own numbers (TheMachine §5). A
  /// swallowed request runs into its deadline. After that failure comes a wait, at worst a slow
  /// one, and never less than a retry-after. The finger may then have expired, which can cost one
  /// more slow wait. Then come a snapshot, a write and a poll.
  ///
  /// - Parameters:
  ///   - retryAfter: the server's longest retry-after.
  ///   - trip: the longest time until one request is answered when nothing is wrong, including
  ///     writes.
  static func bound(
    settings: MachineSettings, terms: ServerTerms, retryAfter: TimeSpan, trip: TimeSpan
  ) -> TimeSpan {
    let deadline = max(settings.retry.deadlineCap, terms.longDeadline)
    let asked = min(retryAfter, settings.retry.retryAfterCap)
    let floor = asked + max(TimeSpan(milliseconds: asked.milliseconds / 10), settings.retry.slowCap)
    let wait = max(settings.retry.slowCap, settings.retry.transientCap, settings.spread, floor)
    // There are two rounds of failure (the request that was open when the faults stopped, and its
    // consequence), one round of success, and the pace between them. The user may have to ask
    // twice, because wakes must be paid for.
    let pace = settings.retry.paceInterval * (settings.retry.paceBurst + 4)
    // What is not asked for by a wake waits for the next poll: in each round of failure, and for
    // the confirmation of what was pushed.
    var pauses = TimeSpan.zero
    if case .every(let period) = terms.cadence { pauses = period * 3 }
    return deadline + wait + pauses + (trip + settings.retry.slowCap) + trip * 3 + pace + settings
      .retry
      .wakeInterval * 4
  }
}
