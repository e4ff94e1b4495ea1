// Queries of a machine (TheMachine §6).

extension Machine {
  @inlinable
  package var status: MachineStatus { _status }

  /// Our place in the server's log, if we have one.
  @inlinable
  package var finger: Place? { _finger }

  /// What the server promised with the last snapshot.
  @inlinable
  package var terms: ServerTerms { _terms }

  /// Whether the app is in the foreground.
  @inlinable
  package var isInForeground: Bool { isForeground }

  /// Whether an attempt has failed since the state was last up to date, the last snapshot came, or
  /// the outage began anew because the user came back.
  @inlinable
  package var hasFailed: Bool { outage.hasFailed }

  /// Whether this outage has no other reason than that the server lost everybody's logs.
  @inlinable
  package var isHerd: Bool { outage.isHerd }

  /// Whether an answer to this request would be believed. To be asked before a model sees the
  /// answer.
  @inlinable
  package func isCurrent(_ id: RequestID) -> Bool { _status.outstanding?.id == id }

  /// What the app may tell its user at `now`.
  @inlinable
  package func freshness(at now: Moment) -> Freshness {
    Freshness(claim(at: now), upToDateAsOf: outage.upToDateAsOf, nextAttempt: nextAttempt)
  }

  /// Whether the server's floor and the pace allow a request.
  @inlinable
  func mayAsk(at now: Moment) -> Bool { retry.ready(settings.retry) <= now }

  /// When a machine that waits after a failure asks again, at the latest; `nil`: it does not wait.
  @inlinable
  var nextAttempt: Moment? {
    switch _status {
    case .registerFailed, .pollFailed: retry.timer?.latest
    case .stale, .idle, .registering, .live, .halted: nil
    }
  }

  @inlinable
  func claim(at now: Moment) -> Freshness.Claim {
    switch _status {
    case .halted(let halt): return .halted(halt)
    case .stale, .idle: return .resting
    case .registering, .registerFailed, .live, .pollFailed: break
    }
    guard let since = lostSince(at: now) else { return .connected }
    if now < excusedUntil(lostSince: since) { return .connected }
    return outage.hasFailed ? .unreachable(since: since) : .connecting(since: since)
  }

  /// When ``freshness(at:)`` next changes without further input: the first moment after `now` at
  /// which it differs. `nil`: never.
  @inlinable
  package func freshnessChange(after now: Moment) -> Moment? {
    guard case .connected = claim(at: now) else { return nil }
    if let since = lostSince(at: now) { return excusedUntil(lostSince: since) }
    guard let due else { return nil }
    return max(due + settings.late + .milliseconds(1), excusedUntil(lostSince: due))
  }

  /// Until when an outage is kept from the user: briefly, and never if the state may be older than
  /// a healthy client's ever is.
  @inlinable
  func excusedUntil(lostSince: Moment) -> Moment {
    guard let upToDateAsOf = outage.upToDateAsOf else { return .distantPast }
    let trusted = upToDateAsOf + _terms.longDeadline + settings.writeDue + settings.late
    return min(lostSince + settings.debounce, trusted + .milliseconds(1))
  }

  @inlinable
  func lostSince(at now: Moment) -> Moment? {
    outage.lostSince ?? (isOverdue(at: now) ? due : nil)
  }

  /// When something must have happened in a live machine; `nil`: nothing is due.
  @inlinable
  var due: Moment? {
    switch _status {
    case .live(.polling), .live(.pausing): retry.timer?.latest
    case .live(.writing): outage.upToDateAsOf.map { $0 + settings.writeDue }
    case .stale, .idle, .registering, .registerFailed, .pollFailed, .halted: nil
    }
  }

  /// Whether a live machine is so late that the device slept or the process was stuck.
  @inlinable
  package func isOverdue(at now: Moment) -> Bool {
    guard let due else { return false }
    return now > due + settings.late
  }

  @inlinable
  mutating func noteOversleeping() {
    guard let due else { return }
    outage.lose(at: due)
    askSoon()
  }

  /// Whether the server has surely dropped our log, so that a poll is useless (rule 8). This only
  /// saves a request, so it is `false` when in doubt.
  @inlinable
  func isHopelesslyOld(at now: Moment) -> Bool {
    guard _finger != nil, let touched else { return false }
    let alive = max(touched, outage.upToDateAsOf ?? touched)
    return now - alive > _terms.lifetime + settings.collector + _terms.longDeadline
  }
}
