internal import UpdateMachine

/// Oracle F: what a client says of itself is true.
struct HonestyOracle: Sendable {
  /// What was claimed after the last input, and when it was said to change by itself.
  private var claim: Freshness.Claim?
  private var changesAt: Moment?

  /// The oldest that a state may be while the app says *connected* (MACHINE §6), on a device that
  /// does not sleep.
  ///
  /// A sleep that ends before the poll's deadline leaves no trace: an answer that lay in the device
  /// meanwhile is taken for news of the moment of waking. So for as long as only such an answer
  /// vouches for the state, it may be older by the length of the sleep. Story (seed 7274): a poll is
  /// out, the device sleeps for 30 s; an event's answer reaches it after 1 s, three more events come;
  /// awake, the answer says *connected*; the next poll is swallowed by a dead connection, and for
  /// 100 s nobody can know: 124.8 s old, where the bound alone allows 124.7.
  static func bound(settings: MachineSettings, terms: Terms, latency: TimeSpan) -> TimeSpan {
    terms.longDeadline + settings.writeDue + latency * 2 + settings.quickDeadline
      + settings.late * 2 + settings.debounce
  }

  /// Whether a claim is true of a state that has been out of date for so long.
  static func allows(_ claim: Freshness.Claim, staleness: TimeSpan, bound: TimeSpan) -> Bool {
    switch claim {
    case .connected: staleness <= bound
    case .unknown, .halted, .resting, .connecting, .unreachable: true
    }
  }

  /// Whether a claim fits a status: what is halted says so, what rests says so.
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

  /// Just before the next input: says what was expected if the claim changed when it had not said
  /// so, or did not when it had.
  func look(_ found: Freshness.Claim, at now: Moment) -> String? {
    guard let claim else { return nil }
    if let changesAt, now >= changesAt {
      return found == claim ? "another claim than \(claim) since \(changesAt)" : nil
    }
    return found == claim ? nil : "\(claim) until \(changesAt.map { "\($0)" } ?? "the next input")"
  }

  /// Whether an outage that was told of is now told to have begun at another moment.
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
