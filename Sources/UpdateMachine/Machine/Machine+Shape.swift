// The shape of a machine, to count which of its states a test reaches.

extension Machine {
  /// What it is at a moment, without how much: a bit, or a few, for each thing that a decision hangs on.
  /// Machines of other settings and other logs can be of one shape.
  ///
  /// From the lowest: status (4 bits), whether the request waits, whether it is overdue, a timer that is to
  /// come, a write that is out, something unwritten, started, in the foreground, the next poll is quick,
  /// a finger, when the log was last wanted is known, the server asked for patience, the protocol's rhythm
  /// is to be kept, the pace is spent, the wakes are spent, a short backoff, a longer deadline, a long
  /// backoff, a long wait that goes on, level at some time, an outage, a failure in it.
  public func shape(at now: Moment) -> UInt64 {
    let numbers = settings.retry
    var bits = Bits()
    bits.put(UInt64(_status.code), width: 4)
    bits.put(_status.outstanding?.waits ?? false)
    bits.put(isOverdue(at: now))
    bits.put(retry.timer != nil)
    bits.put(writing != nil)
    bits.put(isUnwritten)
    bits.put(isStarted)
    bits.put(isForeground)
    bits.put(nextPollIsQuick)
    bits.put(_finger != nil)
    bits.put(_finger != nil && touched != nil)
    bits.put(retry.notBefore > now)
    bits.put(nextAskAt > now)
    bits.put(retry.pace.ready(burst: numbers.paceBurst, interval: numbers.paceInterval) > now)
    bits.put(retry.wakes.ready(burst: numbers.wakeBurst - 1, interval: numbers.wakeInterval) > now)
    bits.put(retry.transient.exponent > 0)
    bits.put(retry.timeouts.exponent > 0)
    bits.put(retry.slow.backoff.exponent > 0)
    bits.put(retry.slow.left(at: now) > .zero)
    bits.put(outage.levelAsOf != nil)
    bits.put(outage.lostSince != nil)
    bits.put(outage.hasFailed)
    return UInt64(truncatingIfNeeded: bits.word)
  }
}
