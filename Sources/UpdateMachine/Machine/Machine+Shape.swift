// The shape of a machine. Tests count the shapes that they reach.

extension Machine {
  /// Returns the facts that decisions depend on, in a bit or a few each, without amounts. Machines
  /// with different settings and logs can have the same shape.
  ///
  /// From the lowest: status (4 bits), the request waits, overdue, a timer is armed, a write is
  /// out, unwritten, started, in the foreground, the next poll is quick, a finger is held,
  /// `touched` is known, the server's floor lies ahead, the protocol's next poll lies ahead, the
  /// pace is spent, the wakes are spent, transient backoff above 0, deadline doubled, slow backoff
  /// above 0, a slow wait is on, up to date at some time, an outage, a failure in it.
  package func shape(at now: Moment) -> UInt64 {
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
    bits.put(outage.upToDateAsOf != nil)
    bits.put(outage.lostSince != nil)
    bits.put(outage.hasFailed)
    return UInt64(truncatingIfNeeded: bits.word)
  }
}
