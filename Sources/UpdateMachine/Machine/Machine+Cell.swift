// Packs a machine into 64 bytes, for hosts that keep a million of them. Machine+Packing.swift is
// for hosts that visit millions of states of a small world; this one keeps real settings' spans,
// and every number. It loses nothing, as long as its preconditions hold.

/// A machine without its settings and terms, which a herd shares, in 64 bytes: one line of most
/// processors' caches. Moments are milliseconds of the host's clock, which must be from 0 to 49
/// days.
@usableFromInline
package struct MachineCell: BitwiseCopyable, Equatable, Sendable {
  /// Stands for no moment, and for ``Moment/distantPast``.
  @inlinable static var none: UInt32 { .max }

  /// The finger, if there is one: the host says what the two numbers are.
  @usableFromInline package var log: UInt32 = 0
  @usableFromInline package var place: UInt32 = 0
  /// From the lowest: the status's code (4 bits), then a bit each: the request waits, a write is
  /// out, unwritten, started, in the foreground, the next poll is quick, failed, herd, finger,
  /// terms; then the exponents of the transient backoff, the slow one and the deadlines, 5 bits
  /// each.
  @usableFromInline var flags: UInt32 = 0
  @usableFromInline var sent = none
  @usableFromInline var requestCount: UInt32 = 0
  @usableFromInline var timerCount: UInt32 = 0
  @usableFromInline var writeCount: UInt32 = 0
  @usableFromInline var timerLatest = none
  @usableFromInline var touched = none
  @usableFromInline var registeredAt = none
  @usableFromInline var notBefore = none
  @usableFromInline var paceLevel = none
  @usableFromInline var wakesLevel = none
  @usableFromInline var slowFailure = none
  @usableFromInline var upToDateAsOf = none
  @usableFromInline var lostSince = none

  /// The cell of a machine that has never done anything; to be packed into.
  @inlinable
  package init() {}

  /// The number of the last request.
  @inlinable package var lastRequest: UInt32 { requestCount }
  /// The number of the last timer.
  @inlinable package var lastTimer: UInt32 { timerCount }
  /// Whether a finger is held.
  @inlinable package var hasFinger: Bool { flags & Flag.finger != 0 }
  /// Whether the request that is out may wait at the server.
  @inlinable package var waits: Bool { flags & Flag.waits != 0 }
  /// Whether the machine follows its log, and the model was up to date when it was last heard of.
  @inlinable
  package var isUpToDate: Bool {
    let code = flags & 15
    return lostSince == MachineCell.none && code >= 4 && code <= 6
  }

  /// Delays the request that is out and the timer, as if the present were so much later.
  @inlinable
  package mutating func delay(byMilliseconds span: UInt32) {
    if sent != MachineCell.none { sent += span }
    if timerLatest != MachineCell.none { timerLatest += span }
  }

  @usableFromInline
  enum Flag {
    @inlinable static var waits: UInt32 { 1 << 4 }
    @inlinable static var writing: UInt32 { 1 << 5 }
    @inlinable static var unwritten: UInt32 { 1 << 6 }
    @inlinable static var started: UInt32 { 1 << 7 }
    @inlinable static var foreground: UInt32 { 1 << 8 }
    @inlinable static var quick: UInt32 { 1 << 9 }
    @inlinable static var failed: UInt32 { 1 << 10 }
    @inlinable static var herd: UInt32 { 1 << 11 }
    @inlinable static var finger: UInt32 { 1 << 12 }
    @inlinable static var terms: UInt32 { 1 << 13 }
  }

  @inlinable
  static func packed(_ moment: Moment?) -> UInt32 {
    guard let moment, moment != .distantPast else { return none }
    precondition(
      moment.milliseconds >= 0 && moment.milliseconds < Int64(none),
      "a cell's moments are from 0 to 49 days")
    return UInt32(truncatingIfNeeded: moment.milliseconds)
  }

  @inlinable
  static func unpacked(_ number: UInt32) -> Moment? {
    number == none ? nil : Moment(milliseconds: Int64(number))
  }
}

extension Machine {
  /// Puts everything into a cell but the settings, the terms and the finger. Its
  /// ``MachineCell/log`` and ``MachineCell/place`` stay as they are.
  ///
  /// - Parameter terms: the terms of every snapshot; those of this machine, if it has had one.
  @inlinable
  package func pack(into cell: inout MachineCell, terms: ServerTerms) {
    precondition(nextAskAt == .distantPast, "a cell is for protocols whose polls wait")
    precondition(_terms == terms || _terms == .unspoken, "a cell is for terms that never change")
    var flags = UInt32(truncatingIfNeeded: _status.code)
    let request = _status.outstanding
    if request?.waits == true { flags |= MachineCell.Flag.waits }
    if writing != nil { flags |= MachineCell.Flag.writing }
    if isUnwritten { flags |= MachineCell.Flag.unwritten }
    if isStarted { flags |= MachineCell.Flag.started }
    if isForeground { flags |= MachineCell.Flag.foreground }
    if nextPollIsQuick { flags |= MachineCell.Flag.quick }
    if outage.hasFailed { flags |= MachineCell.Flag.failed }
    if outage.isHerd { flags |= MachineCell.Flag.herd }
    if _finger != nil { flags |= MachineCell.Flag.finger }
    if _terms == terms { flags |= MachineCell.Flag.terms }
    flags |= UInt32(retry.transient.exponent) << 14
    flags |= UInt32(retry.slow.backoff.exponent) << 19
    flags |= UInt32(retry.timeouts.exponent) << 24
    cell.flags = flags
    cell.sent = MachineCell.packed(request?.sent)
    cell.requestCount = UInt32(requestCount)
    cell.timerCount = UInt32(retry.timerCount)
    cell.writeCount = UInt32(writeCount)
    cell.timerLatest = MachineCell.packed(retry.timer?.latest)
    cell.touched = MachineCell.packed(touched)
    cell.registeredAt = MachineCell.packed(registeredAt)
    cell.notBefore = MachineCell.packed(retry.notBefore)
    cell.paceLevel = MachineCell.packed(retry.pace.level)
    cell.wakesLevel = MachineCell.packed(retry.wakes.level)
    cell.slowFailure = MachineCell.packed(retry.slow.lastFailure)
    cell.upToDateAsOf = MachineCell.packed(outage.upToDateAsOf)
    cell.lostSince = MachineCell.packed(outage.lostSince)
  }

  /// Takes a machine out of a cell.
  ///
  /// What the cell leaves out follows from the rest: the request, timer and write that are out are
  /// always the last ones, and the last slow wait follows from its exponent.
  @inlinable
  package init(
    unpacking cell: MachineCell, finger: Place?, incarnation: Incarnation, terms: ServerTerms,
    settings: MachineSettings
  ) {
    self.init(incarnation: incarnation, settings: settings)
    let flags = cell.flags
    _finger = flags & MachineCell.Flag.finger != 0 ? finger : nil
    if flags & MachineCell.Flag.terms != 0 { _terms = terms }
    requestCount = UInt64(cell.requestCount)
    writeCount = UInt64(cell.writeCount)
    let request = MachineCell.unpacked(cell.sent).map {
      Outstanding(
        id: RequestID(incarnation: incarnation, number: requestCount), sent: $0, waits: cell.waits)
    }
    _status = MachineStatus(code: Int(flags & 15), request: request)
    if flags & MachineCell.Flag.writing != 0 { writing = WriteID(writeCount) }
    isUnwritten = flags & MachineCell.Flag.unwritten != 0
    isStarted = flags & MachineCell.Flag.started != 0
    isForeground = flags & MachineCell.Flag.foreground != 0
    nextPollIsQuick = flags & MachineCell.Flag.quick != 0
    touched = MachineCell.unpacked(cell.touched)
    registeredAt = MachineCell.unpacked(cell.registeredAt)
    outage.hasFailed = flags & MachineCell.Flag.failed != 0
    outage.isHerd = flags & MachineCell.Flag.herd != 0
    outage.upToDateAsOf = MachineCell.unpacked(cell.upToDateAsOf)
    outage.lostSince = MachineCell.unpacked(cell.lostSince)
    retry.timerCount = UInt64(cell.timerCount)
    retry.timer = MachineCell.unpacked(cell.timerLatest).map {
      ArmedTimer(id: TimerID(UInt64(cell.timerCount)), latest: $0)
    }
    retry.notBefore = MachineCell.unpacked(cell.notBefore) ?? .distantPast
    retry.pace = TokenBucket(level: MachineCell.unpacked(cell.paceLevel) ?? .distantPast)
    retry.wakes = TokenBucket(level: MachineCell.unpacked(cell.wakesLevel) ?? .distantPast)
    retry.transient = Backoff(exponent: UInt8(truncatingIfNeeded: flags >> 14 & 31))
    retry.timeouts = Backoff(exponent: UInt8(truncatingIfNeeded: flags >> 24 & 31))
    retry.slow = SlowBackoff(
      exponent: UInt8(truncatingIfNeeded: flags >> 19 & 31),
      lastFailure: MachineCell.unpacked(cell.slowFailure), settings.retry)
  }
}

extension SlowBackoff {
  /// The backoff after so many waits.
  @inlinable
  init(exponent: UInt8, lastFailure: Moment?, _ settings: RetrySettings) {
    self.init()
    backoff = Backoff(exponent: exponent)
    self.lastFailure = lastFailure
    if exponent > 0 {
      lastWait = settings.slowFirst.doubled(times: Int64(exponent) - 1, cap: settings.slowCap)
    }
  }
}
