internal import UpdateMachine

/// Oracle D: limits on what one process of one client may ask of a server.
///
/// In any window *w* there are at most `burst + 1 + w / interval` requests, whatever the server
/// does. Nothing is sent before a retry-after is over, nor at the same moment as a failure.
/// Repeated failures lead to longer and longer waits, and only time makes a slow wait short again.
/// Deadlines grow with timeouts. Only paid wakes cut waits short.
struct BudgetOracle: Sendable {
  private let settings: MachineSettings
  /// The moments of the last requests, as a ring buffer.
  private var sent: [Moment] = []
  private var next = 0
  private var quietUntil: Moment = .distantPast
  private var transientFailures: Int64 = 0
  private var slowFailures: Int64 = 0
  private var lastSlowFailure: Moment = .distantPast
  private var timeouts: Int64 = 0
  private var registeredAt: Moment?
  /// The moments of the last wakes.
  private var wakes: [Moment] = []
  /// When the budget of wakes will be full again.
  private var wakesFull: Moment = .distantPast

  static var memory: Int { 40 }

  init(settings: MachineSettings) {
    self.settings = settings
    sent.reserveCapacity(BudgetOracle.memory)
  }

  /// Notes a request. If it should not have been sent, returns what was expected.
  mutating func noteRequest(at now: Moment) -> String? {
    if now < quietUntil { return "no request before \(quietUntil), as the server asked" }
    if sent.count < BudgetOracle.memory {
      sent.append(now)
    } else {
      sent[next] = now
      next = (next + 1) % BudgetOracle.memory
    }
    // For every k, checks the span from the first of the last k requests until now.
    var back = 1
    while back <= sent.count {
      let index = (next + sent.count - back) % sent.count
      let window = (now - sent[index]).milliseconds
      let most = settings.retry.paceBurst + 1 + window / settings.retry.paceInterval.milliseconds
      if Int64(back) > most { return "at most \(most) requests in \(window) ms, found \(back)" }
      back += 1
    }
    return nil
  }

  /// Notes that the server sent a retry-after, and that the machine took it in.
  mutating func noteRateLimit(after asked: TimeSpan?, at now: Moment) {
    let after = min(
      max(asked ?? .zero, settings.retry.retryAfterFloor), settings.retry.retryAfterCap)
    quietUntil = now + after
  }

  /// Notes an answer with progress, or a paid wake: the next transient wait may be short again.
  /// Slow waits stay as they are. Otherwise a server that gives good snapshots and then refuses
  /// would be stormed (TheMachine §5, *nS*).
  mutating func noteProgress() { transientFailures = 0 }

  /// Notes that a request was answered, whatever the answer was.
  mutating func noteAnswer() { timeouts = 0 }

  mutating func noteSnapshot(at now: Moment) {
    registeredAt = now
    noteProgress()
    noteAnswer()
  }

  mutating func noteTimeout() { timeouts = min(timeouts + 1, 20) }

  /// Whether the finger is so young that a log lost now has made no progress.
  func isYoung(at now: Moment) -> Bool {
    registeredAt.map { now - $0 < settings.retry.healthy } ?? false
  }

  /// Checks the deadline of a request that is being sent.
  func noteDeadline(_ deadline: TimeSpan, isRegister: Bool, waits: Bool, long: TimeSpan) -> String?
  {
    let first = isRegister ? settings.registerDeadline : settings.quickDeadline
    var least = first.doubled(times: timeouts, cap: settings.retry.deadlineCap)
    if !isRegister { least = waits ? long : min(least, long) }
    return deadline == least
      ? nil : "a deadline of \(least) after \(timeouts) timeouts, found \(deadline)"
  }

  /// Whether the budget has a wake left.
  func hasWake(at now: Moment) -> Bool {
    now >= wakesFull - settings.retry.wakeInterval * (settings.retry.wakeBurst - 1)
  }

  /// Notes that a signal cut a wait or a waiting poll.
  mutating func noteWake(at now: Moment) -> String? {
    noteProgress()
    wakesFull = max(now, wakesFull) + settings.retry.wakeInterval
    wakes.append(now)
    if wakes.count > BudgetOracle.memory { wakes.removeFirst() }
    for (index, first) in wakes.enumerated() {
      let count = Int64(wakes.count - index)
      let window = now - first
      let most =
        settings.retry.wakeBurst + window.milliseconds / settings.retry.wakeInterval.milliseconds
      if count > most { return "at most \(most) wake-ups in \(window), found \(count)" }
    }
    return nil
  }

  /// Whether a slow wait is under way, as far as this oracle knows. The machine may know of a
  /// longer one.
  func isSlowWaitOn(at now: Moment) -> Bool {
    guard slowFailures > 0 else { return false }
    return now
      < lastSlowFailure
      + settings.retry.slowFirst.doubled(times: slowFailures - 1, cap: settings.retry.slowCap)
  }

  /// Notes a request that failed, or brought nothing. Each kind of failure has its own backoff.
  ///
  /// - Parameters:
  ///   - isSlow: whether the failure costs the server much.
  ///   - asks: whether the machine asks again in the same step.
  ///   - wait: the longest wait before the machine asks again; `nil` if it does not wait.
  ///   - asked: the server's retry-after, if it sent one.
  mutating func noteFailure(
    isSlow: Bool, asks: Bool, wait: TimeSpan?, asked: TimeSpan? = nil, at now: Moment
  ) -> String? {
    if isSlow {
      // Only time beyond the wait itself makes the next slow wait short again.
      let next = settings.retry.slowFirst.doubled(times: slowFailures, cap: settings.retry.slowCap)
      if now - lastSlowFailure > settings.retry.healthy + next { slowFailures = 0 }
      lastSlowFailure = now
      slowFailures += 1
    } else {
      transientFailures += 1
    }
    if asks { return "a wait after a failure" }
    guard let wait else { return nil }
    let count = isSlow ? slowFailures : transientFailures
    var exact =
      isSlow
      ? settings.retry.slowFirst.doubled(times: count - 1, cap: settings.retry.slowCap)
      : settings.retry.transientFirst.doubled(times: count - 1, cap: settings.retry.transientCap)
    if let asked {
      let after = min(max(asked, settings.retry.retryAfterFloor), settings.retry.retryAfterCap)
      exact = after + max(TimeSpan(milliseconds: after.milliseconds / 10), exact)
    }
    exact = max(exact, quietUntil - now)
    guard wait == exact else {
      return "a wait of up to \(exact) after \(count) failures in a row, found \(wait)"
    }
    return nil
  }
}
