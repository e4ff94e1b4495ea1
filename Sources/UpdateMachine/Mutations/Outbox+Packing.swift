// Packs an outbox into few bits, for the explorer, which visits millions of them. Outboxes with
// equal bits behave alike. Only for a small world: up to seven mutations, IDs up to 7, spans of a
// few milliseconds, a server that counts IDs, and mutations that never throw.

extension Outbox {
  /// The bits for a moment; then the bits for a ticket, an ID or a version.
  static var momentWidth: UInt8 { 4 }
  static var numberWidth: UInt8 { 3 }
  static var idMaximum: UInt64 { 7 }

  /// The versions in use, to be packed as ranks.
  var versionRanks: OutboxVersionRanks {
    var ranks = OutboxVersionRanks(base: stored)
    ranks.note(version)
    ranks.note(sending.decisionVersion)
    for pending in queue { ranks.note(pending.version) }
    for refused in refused { ranks.note(refused.version) }
    return ranks
  }

  // MARK: The saved part

  /// Packs what a saved form keeps, except its versions.
  package func packSaved(into bits: inout Bits, tickets: UInt64) {
    pack(into: &bits, tickets: tickets, nil)
  }

  /// Unpacks what ``packSaved(into:tickets:)`` packed. Call ``restored(in:)`` next.
  ///
  /// - Parameters:
  ///   - bits: the packed bits.
  ///   - client: its client ID.
  ///   - tickets: how many tickets were packed.
  ///   - settings: its numbers.
  ///   - change: returns the change of a ticket.
  package init(
    unpackingSaved bits: inout Bits, of client: ClientID, tickets: UInt64,
    settings: OutboxSettings, change: (MutationTicket) -> Change
  ) {
    self.init(client: client, settings: settings)
    unpack(from: &bits, tickets: tickets, hasVersions: false, change)
  }

  private func pack(into bits: inout Bits, tickets: UInt64, _ ranks: OutboxVersionRanks?) {
    let width = Outbox.numberWidth
    bits.put(lastTicket.number, width: width)
    bits.put(lastID.number, width: width)
    bits.put(confirmed.number, width: width)
    bits.put(knownRefusal.number, width: width)
    for id in 1...Outbox.idMaximum { bits.put(voided.contains(MutationID(id))) }
    for ticket in 1...tickets { packFate(of: MutationTicket(ticket), into: &bits, ranks) }
  }

  private func packFate(
    of ticket: MutationTicket, into bits: inout Bits, _ ranks: OutboxVersionRanks?
  ) {
    let version: OutboxVersion
    if let index = index(of: ticket) {
      let pending = queue[index]
      precondition(pending.refusal == nil, "mutations that throw are not packed")
      precondition(pending.rank == ticket.number, "nor such as threw or were coalesced")
      bits.put(code(of: pending.stage), width: 3)
      bits.put(pending.id?.number ?? 0, width: Outbox.numberWidth)
      bits.put(pending.mayHaveCopy)
      version = pending.version
    } else if let item = refused.first(where: { $0.tickets.contains(ticket) }) {
      bits.put(5, width: 3)
      bits.put(item.refusal.id.number, width: Outbox.numberWidth)
      bits.put(item.mayHaveCopy)
      version = item.version
    } else {
      return bits.put(discards.contains { $0.contains(ticket) } ? 6 : 0, width: 3)
    }
    if let ranks { bits.put(ranks.rank(of: version), width: Outbox.numberWidth) }
  }

  private func code(of stage: Pending.Stage) -> UInt64 {
    switch stage {
    case .unsent: return 1
    case .marked: return 2
    case .sent: return 3
    case .accepted: return 4
    case .uncertain: preconditionFailure("what may be sent again is not uncertain")
    }
  }

  private mutating func unpack(
    from bits: inout Bits, tickets: UInt64, hasVersions: Bool, _ change: (MutationTicket) -> Change
  ) {
    let width = Outbox.numberWidth
    lastTicket = MutationTicket(bits.take(width: width))
    lastID = MutationID(bits.take(width: width))
    confirmed = MutationID(bits.take(width: width))
    knownRefusal = MutationID(bits.take(width: width))
    for id in 1...Outbox.idMaximum where bits.takeFlag() { voided.append(MutationID(id)) }
    for number in 1...tickets {
      let ticket = MutationTicket(number)
      let code = bits.take(width: 3)
      guard code != 0, code != 6 else {
        if code == 6 { discards.append(ticket...ticket) }
        continue
      }
      let id = MutationID(bits.take(width: width))
      let mayHaveCopy = bits.takeFlag()
      let rank = hasVersions ? bits.take(width: width) : 0
      let version = OutboxVersionRanks.version(ofRank: rank)
      if code == 5 {
        refused.append(
          Refused(
            tickets: TicketSet(ticket), rank: number, change: change(ticket),
            refusal: MutationRefusal(id), mayHaveCopy: mayHaveCopy, version: version))
      } else {
        queue.append(
          Pending(
            tickets: TicketSet(ticket), change: change(ticket), stage: .init(code: code, id),
            mayHaveCopy: mayHaveCopy, version: version))
      }
    }
    stored = OutboxVersionRanks.version(ofRank: 0)
    version = stored
    size = measuredSize
  }

  // MARK: The whole outbox

  /// Packs all of it, as seen from `now`.
  func pack(
    into bits: inout Bits, at now: Moment, tickets: UInt64, _ ranks: OutboxVersionRanks
  ) {
    precondition(queueVersion == replayedVersion, "it is packed when it is replayed")
    precondition(countsIDs && !sending.isHeldBack, "such an outbox is not packed")
    let width = Outbox.numberWidth
    pack(into: &bits, tickets: tickets, ranks)
    bits.put(ranks.rank(of: version), width: width)
    bits.put(ranks.rank(of: sending.decisionVersion), width: width)
    bits.put(sending.isStarted)
    bits.put(sending.isForeground)
    bits.put(sending.wantsPull)
    pack(sending.status, into: &bits)
    let late = settings.machine.late
    let past = late + .milliseconds(1)
    bits.put(sending.resendAt, at: now, past: past, width: Outbox.momentWidth)
    let resends = Backoff.steps(from: settings.resendFirst, to: settings.resendCap)
    bits.put(UInt64(min(sending.resends.exponent, resends)), width: width)
    sending.retry.pack(
      into: &bits, at: now, settings.machine, deadline: settings.pushDeadline,
      width: Outbox.momentWidth)
  }

  /// Unpacks an outbox, as seen from the moment 0. Its pushes and timers get other numbers: the
  /// current one is number 8.
  init(
    unpacking bits: inout Bits, of client: ClientID, incarnation: Incarnation, tickets: UInt64,
    settings: OutboxSettings, change: (MutationTicket) -> Change
  ) {
    self.init(client: client, settings: settings, incarnation: incarnation)
    let width = Outbox.numberWidth
    unpack(from: &bits, tickets: tickets, hasVersions: true, change)
    version = OutboxVersionRanks.version(ofRank: bits.take(width: width))
    sending.decisionVersion = OutboxVersionRanks.version(ofRank: bits.take(width: width))
    sending.isStarted = bits.takeFlag()
    sending.isForeground = bits.takeFlag()
    sending.wantsPull = bits.takeFlag()
    sending.pushCount = 8
    sending.status = Outbox.takeStatus(&bits, incarnation)
    let past = settings.machine.late + .milliseconds(1)
    sending.resendAt = bits.takeMoment(past: past, width: Outbox.momentWidth)
    sending.resends = Backoff(exponent: UInt8(bits.take(width: width)))
    sending.retry.unpack(from: &bits, settings.machine, width: Outbox.momentWidth)
  }

  private func pack(_ status: OutboxStatus, into bits: inout Bits) {
    switch status {
    case .resting: bits.put(0, width: 3)
    case .storing: bits.put(1, width: 3)
    case .pushing(let push):
      bits.put(2, width: 3)
      bits.put(push.first.number, width: Outbox.numberWidth)
      bits.put(push.last.number, width: Outbox.numberWidth)
    case .waiting: bits.put(3, width: 3)
    case .pausing: bits.put(4, width: 3)
    case .confirming: bits.put(5, width: 3)
    case .halted(let halt):
      bits.put(6, width: 3)
      bits.put(halt == .credentials ? 0 : halt == .unsupported ? 1 : 2, width: 2)
    }
  }

  private static func takeStatus(_ bits: inout Bits, _ incarnation: Incarnation) -> OutboxStatus {
    switch bits.take(width: 3) {
    case 0: return .resting
    case 1: return .storing
    case 2:
      let first = MutationID(bits.take(width: numberWidth))
      let last = MutationID(bits.take(width: numberWidth))
      let id = RequestID(incarnation: incarnation, part: .outbox, number: 8)
      let count = Int(truncatingIfNeeded: last.number &- first.number &+ 1)
      return .pushing(OutstandingPush(id: id, first: first, last: last, count: count))
    case 3: return .waiting
    case 4: return .pausing
    case 5: return .confirming
    default:
      switch bits.take(width: 2) {
      case 0: return .halted(.credentials)
      case 1: return .halted(.unsupported)
      default: return .halted(.stopped)
      }
    }
  }
}

extension PendingMutation.Stage {
  fileprivate init(code: UInt64, _ id: MutationID) {
    switch code {
    case 1: self = .unsent
    case 2: self = .marked(id)
    case 3: self = .sent(id)
    case 4: self = .accepted(id, at: .distantPast)
    default: preconditionFailure("no stage is packed so")
    }
  }
}

/// Ranks of versions above the durable one. Behaviour depends on nothing but their order.
struct OutboxVersionRanks {
  /// The durable version. It and all below have rank 0.
  let base: OutboxVersion
  /// A bit for each version in use above it.
  private var above: UInt64 = 0

  init(base: OutboxVersion) { self.base = base }

  mutating func note(_ version: OutboxVersion) {
    guard version > base else { return }
    above |= 1 << (version.number - base.number - 1)
  }

  func rank(of version: OutboxVersion) -> UInt64 {
    guard version > base else { return 0 }
    let below = above & ((1 << (version.number - base.number - 1)) - 1)
    return UInt64(below.nonzeroBitCount) + 1
  }

  /// Returns the version that stands for a rank when an outbox is unpacked.
  static func version(ofRank rank: UInt64) -> OutboxVersion { OutboxVersion(16 + rank) }
}

extension Backoff {
  /// Returns how many doublings bring a wait to its cap, at most 7. More change nothing.
  static func steps(from first: TimeSpan, to cap: TimeSpan) -> UInt8 {
    var count: UInt8 = 0
    while count < 7, first.doubled(times: Int64(count), cap: cap) < cap { count += 1 }
    return count
  }
}

extension Retry {
  /// Packs all of it, as seen from `now`. `deadline`: the first, which doubles with each timeout.
  func pack(
    into bits: inout Bits, at now: Moment, _ settings: MachineSettings, deadline: TimeSpan,
    width: UInt8
  ) {
    let numbers = settings.retry
    bits.put(timer?.latest, at: now, past: settings.late + .milliseconds(1), width: width)
    bits.put(notBefore, at: now, past: .zero, width: width)
    bits.put(pace.level, at: now, past: .zero, width: width)
    bits.put(wakes.level, at: now, past: .zero, width: width)
    let waits = Backoff.steps(from: numbers.transientFirst, to: numbers.transientCap)
    bits.put(UInt64(min(transient.exponent, waits)), width: 3)
    let deadlines = Backoff.steps(from: deadline, to: numbers.deadlineCap)
    bits.put(UInt64(min(timeouts.exponent, deadlines)), width: 3)
    let slowWaits = Backoff.steps(from: numbers.slowFirst, to: numbers.slowCap) + 1
    slow.pack(into: &bits, at: now, numbers, maximum: slowWaits, width: width)
  }

  /// Unpacks what ``pack(into:at:_:deadline:width:)`` packed. The armed timer gets number 8.
  mutating func unpack(from bits: inout Bits, _ settings: MachineSettings, width: UInt8) {
    timerCount = 8
    timer = bits.takeMoment(past: settings.late + .milliseconds(1), width: width)
      .map { ArmedTimer(id: TimerID(part: part, 8), latest: $0) }
    notBefore = bits.takeMoment(past: .zero, width: width) ?? .distantPast
    pace = TokenBucket(level: bits.takeMoment(past: .zero, width: width) ?? .distantPast)
    wakes = TokenBucket(level: bits.takeMoment(past: .zero, width: width) ?? .distantPast)
    transient = Backoff(exponent: UInt8(bits.take(width: 3)))
    timeouts = Backoff(exponent: UInt8(bits.take(width: 3)))
    slow = SlowBackoff(unpacking: &bits, settings.retry, width: width)
  }
}
