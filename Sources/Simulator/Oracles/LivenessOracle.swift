internal import UpdateMachine

/// Oracle C: once the faults stop, every client is live and up to date within a computed bound.
enum LivenessOracle {
  /// The longest time that convergence may take, from the machine's own numbers (TheMachine §5). A
  /// swallowed request runs into its deadline. Its failure waits, slowly at worst, and never less
  /// than a retry-after. The finger may then be expired, which can cost one more slow wait. Then
  /// come a snapshot, a write and a poll.
  ///
  /// - Parameters:
  ///   - retryAfter: the server's longest retry-after.
  ///   - trip: the longest time for one request to be answered when nothing is wrong, writes
  ///     included.
  static func bound(
    settings: MachineSettings, terms: ServerTerms, retryAfter: TimeSpan, trip: TimeSpan
  ) -> TimeSpan {
    let deadline = max(settings.retry.deadlineCap, terms.longDeadline)
    let asked = min(retryAfter, settings.retry.retryAfterCap)
    let floor = asked + max(TimeSpan(milliseconds: asked.milliseconds / 10), settings.retry.slowCap)
    let wait = max(settings.retry.slowCap, settings.retry.transientCap, settings.spread, floor)
    // Two rounds of failure: the request open when the faults stopped, and its consequence. One
    // round of success. The pace between them. A user who asks twice, because wakes are paid for.
    let pace = settings.retry.paceInterval * (settings.retry.paceBurst + 4)
    return deadline + wait + (trip + settings.retry.slowCap) + trip * 3 + pace + settings.retry
      .wakeInterval * 4
  }
}
