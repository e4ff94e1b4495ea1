// Packs a machine into few bits, for hosts that visit millions of machines (Architecture §6). Data
// that cannot affect the machine's future is left out: machines that are packed alike behave alike.
// So there are finitely many packed forms, as long as the settings' spans are small. Whether an
// outage is a herd's only changes what is shown, and is left out, too.

extension Machine {
  /// How to pack machines with the same settings and terms, and from what age a moment is merely
  /// past.
  @usableFromInline
  package struct Packing: Hashable, Sendable {
    @usableFromInline package let settings: MachineSettings
    @usableFromInline package let terms: ServerTerms
    /// The machine compares nothing with a moment that is older than this.
    @usableFromInline let past: TimeSpan
    @usableFromInline let transientMaximum: UInt8
    @usableFromInline let slowMaximum: UInt8
    @usableFromInline let timeoutsMaximum: UInt8
    /// Whether age never matters: a log practically never expires, a write may take as long, an
    /// outage is shown at once, and polls do not wait. Then it makes no difference when the model
    /// was up to date.
    @usableFromInline let isAgeless: Bool

    /// - Parameters:
    ///   - settings: spans of at most some ten milliseconds, as made up for a small world.
    ///   - terms: the terms of every snapshot.
    @inlinable
    package init(settings: MachineSettings, terms: ServerTerms) {
      self.settings = settings
      self.terms = terms
      let one = TimeSpan.milliseconds(1)
      let ever = TimeSpan.seconds(1_000_000)
      let isAgeless =
        terms.lifetime >= ever && settings.writeDue >= ever && settings.debounce == .zero
        && !terms.cadence.pollsWait
      self.isAgeless = isAgeless
      past =
        isAgeless
        ? max(settings.quickDeadline, settings.retry.healthy) + one
        : max(
          terms.lifetime + settings.collector + terms.longDeadline,
          terms.longDeadline + settings.writeDue + settings.late + one,
          max(settings.quickDeadline, settings.retry.healthy, settings.productive) + one,
          max(settings.reallyWaited, settings.debounce, settings.writeDue + settings.late) + one)
          + one
      transientMaximum = Packing.steps(
        from: settings.retry.transientFirst, to: settings.retry.transientCap)
      slowMaximum = Packing.steps(from: settings.retry.slowFirst, to: settings.retry.slowCap) + 1
      timeoutsMaximum = max(
        Packing.steps(from: settings.quickDeadline, to: settings.retry.deadlineCap),
        Packing.steps(from: settings.registerDeadline, to: settings.retry.deadlineCap))
    }

    /// Returns after how many doublings a span reaches its cap; more change nothing.
    @inlinable
    static func steps(from first: TimeSpan, to cap: TimeSpan) -> UInt8 {
      var count: UInt8 = 0
      while count < 15, first.doubled(times: Int64(count), cap: cap) < cap { count += 1 }
      return count
    }

    /// The width of a moment, in bits.
    @inlinable static var width: UInt8 { 5 }
  }

  /// Puts everything but the finger into `bits`, with moments as seen from `now`.
  @inlinable
  package func pack(into bits: inout Bits, at now: Moment, _ packing: Packing) {
    let width = Packing.width
    let past = packing.past
    bits.put(UInt64(_status.code), width: 4)
    bits.put(sent(at: now, packing), at: now, past: past, width: width)
    bits.put(_status.outstanding?.waits ?? false)
    bits.put(retry.timer?.latest, at: now, past: settings.late + .milliseconds(1), width: width)
    bits.put(writing != nil)
    bits.put(isUnwritten)
    bits.put(isStarted)
    bits.put(isForeground)
    bits.put(nextPollIsQuick)
    bits.put(packing.isAgeless ? nil : touched, at: now, past: past, width: width)
    let age = _finger == nil || settings.retry.healthy <= .zero ? nil : registeredAt
    bits.put(age, at: now, past: settings.retry.healthy, width: width)
    bits.put(retry.notBefore, at: now, past: .zero, width: width)
    bits.put(nextAskAt, at: now, past: .zero, width: width)
    bits.put(retry.pace.level, at: now, past: .zero, width: width)
    bits.put(retry.wakes.level, at: now, past: .zero, width: width)
    bits.put(UInt64(min(retry.transient.exponent, packing.transientMaximum)), width: 3)
    bits.put(UInt64(min(retry.timeouts.exponent, packing.timeoutsMaximum)), width: 3)
    retry.slow.pack(
      into: &bits, at: now, settings.retry, maximum: packing.slowMaximum, width: width)
    let upToDateAsOf = packing.isAgeless ? nil : outage.upToDateAsOf
    bits.put(upToDateAsOf, at: now, past: past, width: width)
    bits.put(outage.lostSince, at: now, past: settings.debounce, width: width)
    bits.put(outage.hasFailed)
  }

  /// When the request that is out was sent, as far as that makes a difference.
  @inlinable
  func sent(at now: Moment, _ packing: Packing) -> Moment? {
    guard let request = _status.outstanding else { return nil }
    if case .registering = _status { return request.sent }
    return packing.isAgeless ? now : request.sent
  }

  /// Unpacks a machine that behaves as the packed one would, with moments as seen from the moment
  /// 0. Only its numbers differ: the request, timer and write that are out are each number 8.
  @inlinable
  package init(
    unpacking bits: inout Bits, finger: Place?, incarnation: Incarnation, _ packing: Packing
  ) {
    self.init(incarnation: incarnation, settings: packing.settings)
    let width = Packing.width
    let past = packing.past
    requestCount = 8
    retry.timerCount = 8
    writeCount = 8
    _finger = finger
    _terms = packing.terms
    let code = bits.take(width: 4)
    let sent = bits.takeMoment(past: past, width: width)
    let waits = bits.takeFlag()
    let request = sent.map {
      Outstanding(id: RequestID(incarnation: incarnation, number: 8), sent: $0, waits: waits)
    }
    _status = MachineStatus(code: Int(code), request: request)
    retry.timer = bits.takeMoment(past: settings.late + .milliseconds(1), width: width)
      .map { ArmedTimer(id: TimerID(8), latest: $0) }
    writing = bits.takeFlag() ? WriteID(8) : nil
    isUnwritten = bits.takeFlag()
    isStarted = bits.takeFlag()
    isForeground = bits.takeFlag()
    nextPollIsQuick = bits.takeFlag()
    touched = bits.takeMoment(past: past, width: width)
    registeredAt = bits.takeMoment(past: settings.retry.healthy, width: width)
    retry.notBefore = bits.takeMoment(past: .zero, width: width) ?? .distantPast
    nextAskAt = bits.takeMoment(past: .zero, width: width) ?? .distantPast
    retry.pace = TokenBucket(level: bits.takeMoment(past: .zero, width: width) ?? .distantPast)
    retry.wakes = TokenBucket(level: bits.takeMoment(past: .zero, width: width) ?? .distantPast)
    retry.transient = Backoff(exponent: UInt8(bits.take(width: 3)))
    retry.timeouts = Backoff(exponent: UInt8(bits.take(width: 3)))
    retry.slow = SlowBackoff(unpacking: &bits, settings.retry, width: width)
    outage.upToDateAsOf = bits.takeMoment(past: past, width: width)
    outage.lostSince = bits.takeMoment(past: settings.debounce, width: width)
    outage.hasFailed = bits.takeFlag()
  }
}

extension SlowBackoff {
  /// Packs the backoff. If the next failure would reset it, its history is left out.
  @inlinable
  func pack(
    into bits: inout Bits, at now: Moment, _ settings: RetrySettings, maximum: UInt8, width: UInt8
  ) {
    let next = backoff.next(first: settings.slowFirst, cap: settings.slowCap)
    let isOver = lastFailure.map { now - $0 > settings.healthy + next } ?? true
    bits.put(UInt64(isOver ? 0 : min(backoff.exponent, maximum)), width: 3)
    let past = settings.healthy + settings.slowCap
    bits.put(isOver ? nil : lastFailure, at: now, past: past, width: width)
  }

  @inlinable
  init(unpacking bits: inout Bits, _ settings: RetrySettings, width: UInt8) {
    self.init()
    let exponent = UInt8(bits.take(width: 3))
    backoff = Backoff(exponent: exponent)
    lastFailure = bits.takeMoment(past: settings.healthy + settings.slowCap, width: width)
    if exponent > 0 {
      lastWait = settings.slowFirst.doubled(times: Int64(exponent) - 1, cap: settings.slowCap)
    }
  }
}

extension MachineStatus {
  /// The state with this ``code``; `request` is for states that have one out.
  @inlinable
  init(code: Int, request: Outstanding?) {
    switch (code, request) {
    case (0, nil): self = .stale
    case (1, nil): self = .idle
    case (2, let request?): self = .registering(request)
    case (3, nil): self = .registerFailed
    case (4, let request?): self = .live(.polling(request))
    case (5, nil): self = .live(.writing)
    case (6, nil): self = .live(.pausing)
    case (7, nil): self = .pollFailed
    case (8, nil): self = .halted(.credentials)
    case (9, nil): self = .halted(.unsupported)
    case (10, nil): self = .halted(.stopped)
    default: preconditionFailure("no status is packed so")
    }
  }
}
