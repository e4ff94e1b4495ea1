internal import UpdateMachine

/// Oracle D: what one life of one client may ask of a server.
///
/// In any window *w* at most `burst + 1 + w / interval` requests, whatever the server does; nothing
/// before a retry-after is over; no request in the same breath as a failure; and failures in a row
/// wait longer and longer.
struct BudgetOracle: Sendable {
  private let settings: MachineSettings
  /// The moments of the last requests, as a ring.
  private var sent: [Moment] = []
  private var next = 0
  private var quietUntil: Moment = .distantPast
  private var transientFailures: Int64 = 0
  private var slowFailures: Int64 = 0
  private var lastSlowFailure: Moment = .distantPast

  static var memory: Int { 40 }

  init(settings: MachineSettings) {
    self.settings = settings
    sent.reserveCapacity(BudgetOracle.memory)
  }

  /// A request is sent. Says what was expected, if it should not have been.
  mutating func noteRequest(at now: Moment) -> String? {
    if now < quietUntil { return "no request before \(quietUntil), as the server asked" }
    if sent.count < BudgetOracle.memory {
      sent.append(now)
    } else {
      sent[next] = now
      next = (next + 1) % BudgetOracle.memory
    }
    // The last k requests lie in a window as long as from the first of them to now.
    var back = 1
    while back <= sent.count {
      let index = (next + sent.count - back) % sent.count
      let window = (now - sent[index]).milliseconds
      let most = settings.paceBurst + 1 + window / settings.paceInterval.milliseconds
      if Int64(back) > most { return "at most \(most) requests in \(window) ms, found \(back)" }
      back += 1
    }
    return nil
  }

  /// The server asked for patience, and the machine heard it.
  mutating func noteRateLimit(after asked: TimeSpan?, at now: Moment) {
    let after = min(max(asked ?? .zero, settings.retryAfterFloor), settings.retryAfterCap)
    quietUntil = now + after
  }

  /// Anything that may make the next wait short again.
  mutating func noteOther() {
    transientFailures = 0
    slowFailures = 0
  }

  /// A request failed in a way that is likely to pass. Each kind of failure has its own backoff.
  ///
  /// - Parameters:
  ///   - isSlow: whether it is one of those that cost the server much.
  ///   - asks: whether the machine asks again in the same step.
  ///   - wait: how long it may wait at most before it does; `nil`: it does not wait.
  mutating func noteFailure(
    isSlow: Bool, asks: Bool, wait: TimeSpan?, at now: Moment
  ) -> String? {
    if isSlow {
      // Health, which only time brings, makes the next slow wait short.
      if now - lastSlowFailure > settings.healthy { slowFailures = 0 }
      lastSlowFailure = now
      slowFailures += 1
    } else {
      transientFailures += 1
    }
    if asks { return "a wait after a failure" }
    guard let wait else { return nil }
    let count = isSlow ? slowFailures : transientFailures
    let least =
      isSlow
      ? settings.slowFirst.doubled(times: count - 1, cap: settings.slowCap)
      : settings.transientFirst.doubled(times: count - 1, cap: settings.transientCap)
    guard wait >= least else {
      return "a wait of up to \(least) after \(count) failures in a row, found \(wait)"
    }
    return nil
  }
}
