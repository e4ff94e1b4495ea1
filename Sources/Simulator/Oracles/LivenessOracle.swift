internal import UpdateMachine

/// Oracle C: once the faults stop, every client is live and level within a bound that is computed.
enum LivenessOracle {
  /// The longest that it may take, from the machine's own numbers (MACHINE §5): a request that was
  /// swallowed runs into its deadline; its failure waits, slowly at worst, and never under a
  /// retry-after; the finger may then turn out to be expired, which can cost one more slow wait; then
  /// a snapshot, a write and a poll.
  ///
  /// - Parameters:
  ///   - retryAfter: the longest that the server asks anybody to wait.
  ///   - trip: the longest time that one request takes to be answered when nothing is wrong, writes
  ///     included.
  static func bound(
    settings: MachineSettings, terms: Terms, retryAfter: TimeSpan, trip: TimeSpan
  ) -> TimeSpan {
    let deadline = max(settings.retry.deadlineCap, terms.longDeadline)
    let asked = min(retryAfter, settings.retry.retryAfterCap)
    let floor = asked + max(TimeSpan(milliseconds: asked.milliseconds / 10), settings.retry.slowCap)
    let wait = max(settings.retry.slowCap, settings.retry.transientCap, settings.spread, floor)
    // Two rounds of failure (what was out when the faults stopped, and what it led to), one of
    // success, the pace between them, and a user who has to ask twice because wakes are paid for.
    let pace = settings.retry.paceInterval * (settings.retry.paceBurst + 4)
    return deadline + wait + (trip + settings.retry.slowCap) + trip * 3 + pace + settings.retry
      .wakeInterval * 4
  }
}
