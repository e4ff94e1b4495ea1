internal import UpdateMachine

/// Oracle F: what a client claims about its freshness is true.
struct HonestyOracle: Sendable {
  /// The claim after the last input, and when it was due to change by itself.
  private var claim: Freshness.Claim?
  private var changesAt: Moment?

  /// The longest write in a world. A saved form may be dated so much too late.
  static var longestWrite: TimeSpan { .milliseconds(25_000) }

  /// The greatest age that a state may have while the app says *connected* (TheMachine §6), on a
  /// device that does not sleep.
  ///
  /// A sleep that ends before the poll's deadline leaves no trace: an answer that reached the
  /// sleeping device counts as news at the moment of waking. While only such an answer vouches for
  /// the state, it may be older by the length of the sleep. Story (seed 7274): a poll is open, and
  /// the device sleeps for 30 s. After 1 s the answer with an event arrives; three more events
  /// follow. On waking, the answer makes the app say *connected*. The next poll is swallowed by a
  /// dead connection, which takes 100 s to notice. The state is then 124.8 s old; the bound alone
  /// allows 124.7.
  static func bound(settings: MachineSettings, terms: ServerTerms, latency: TimeSpan) -> TimeSpan {
    terms.longestSilence + settings.writeDue + latency * 2 + settings.quickDeadline
      + settings.late * 2 + settings.debounce
  }

  /// Whether a claim is allowed for a state that has been out of date for `staleness`.
  static func allows(_ claim: Freshness.Claim, staleness: TimeSpan, bound: TimeSpan) -> Bool {
    switch claim {
    case .connected: staleness <= bound
    case .unknown, .halted, .resting, .connecting, .unreachable: true
    }
  }

  /// Whether a claim fits a status. Halted and resting machines must say so.
  static func fits(_ claim: Freshness.Claim, _ status: MachineStatus) -> Bool {
    switch status {
    case .halted(let halt): claim == .halted(halt)
    case .stale, .idle: claim == .resting
    case .registering, .registerFailed, .live, .pollFailed:
      switch claim {
      case .connected, .connecting, .unreachable: true
      case .unknown, .halted, .resting: false
      }
    }
  }

  /// Called just before the next input. If the claim changed unannounced, or did not change when
  /// announced, returns what was expected.
  func look(_ found: Freshness.Claim, at now: Moment) -> String? {
    guard let claim else { return nil }
    if let changesAt, now >= changesAt {
      return found == claim ? "another claim than \(claim) since \(changesAt)" : nil
    }
    return found == claim ? nil : "\(claim) until \(changesAt.map { "\($0)" } ?? "the next input")"
  }

  /// Whether the claim now counts an outage from another moment.
  func flickers(to found: Freshness.Claim) -> Bool {
    guard let old = claim.flatMap(HonestyOracle.since), let new = HonestyOracle.since(found) else {
      return false
    }
    return old != new
  }

  private static func since(_ claim: Freshness.Claim) -> Moment? {
    switch claim {
    case .connecting(let since), .unreachable(let since): since
    case .unknown, .halted, .resting, .connected: nil
    }
  }

  mutating func note(_ claim: Freshness.Claim, changesAt: Moment?) {
    self.claim = claim
    self.changesAt = changesAt
  }
}
