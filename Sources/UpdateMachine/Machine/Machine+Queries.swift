// What can be asked of a machine (MACHINE §6).

extension Machine {
  @inlinable
  public var status: MachineStatus { _status }

  /// Our place in the server's log, while we have one.
  @inlinable
  public var finger: Place? { _finger }

  /// What the server promised with the last snapshot.
  @inlinable
  public var terms: Terms { _terms }

  /// Whether the app is in front of its user.
  @inlinable
  public var isInForeground: Bool { isForeground }

  /// Whether an attempt has failed since the state was last level.
  @inlinable
  public var hasFailed: Bool { outage.hasFailed }

  /// Whether an answer for this request would be believed. Asked before a model sees the answer.
  @inlinable
  public func isCurrent(_ id: RequestID) -> Bool { _status.outstanding?.id == id }

  /// What the app may tell its user at `now`.
  @inlinable
  public func freshness(at now: Moment) -> Freshness {
    Freshness(claim(at: now), levelAsOf: outage.levelAsOf)
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

  /// When ``freshness(at:)`` will next change if nothing is put in: the first moment after `now` at
  /// which it differs. `nil`: it stays.
  @inlinable
  public func freshnessChange(after now: Moment) -> Moment? {
    guard case .connected = claim(at: now) else { return nil }
    if let since = lostSince(at: now) { return excusedUntil(lostSince: since) }
    guard let due else { return nil }
    return max(due + settings.late + .milliseconds(1), excusedUntil(lostSince: due))
  }

  /// Until when an outage that began then is kept from the user: briefly, and never if the state
  /// may be older than a healthy client's would ever be.
  @inlinable
  func excusedUntil(lostSince: Moment) -> Moment {
    guard let levelAsOf = outage.levelAsOf else { return .distantPast }
    let trusted = levelAsOf + _terms.longDeadline + settings.writeDue + settings.late
    return min(lostSince + settings.debounce, trusted + .milliseconds(1))
  }

  @inlinable
  func lostSince(at now: Moment) -> Moment? {
    outage.lostSince ?? (isOverdue(at: now) ? due : nil)
  }

  /// When something must have happened to a live machine; `nil`: nothing is due.
  @inlinable
  var due: Moment? {
    switch _status {
    case .live(.polling), .live(.pausing): retry.timer?.latest
    case .live(.writing): outage.levelAsOf.map { $0 + settings.writeDue }
    case .stale, .idle, .registering, .registerFailed, .pollFailed, .halted: nil
    }
  }

  /// Only sleep, or a stuck process, makes a live machine so late.
  @inlinable
  public func isOverdue(at now: Moment) -> Bool {
    guard let due else { return false }
    return now > due + settings.late
  }

  @inlinable
  mutating func noteOversleeping() {
    guard let due else { return }
    outage.lose(at: due)
    askSoon()
  }

  /// So old that the server has surely dropped our log (rule 8): not worth asking. Only ever an
  /// optimisation, so never when in doubt.
  @inlinable
  func isHopelesslyOld(at now: Moment) -> Bool {
    guard _finger != nil, let touched else { return false }
    let alive = max(touched, outage.levelAsOf ?? touched)
    return now - alive > _terms.lifetime + settings.collector + _terms.longDeadline
  }
}
