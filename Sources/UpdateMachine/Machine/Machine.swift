// Machine: the room of all decisions about when to ask a server, what to believe and how long to
// wait. It owns status, finger, terms, waits and freshness. Its specification is the article
// TheMachine. It imports nothing.
//
// Machine may use: Values.

/// Keeps one replica's place in a server's log: registers, polls for ever, and is honest about how
/// fresh the replica is.
///
///     stale ──started──▶ registering ──snapshotArrived──▶ live ⇄ pollFailed
///       ▲                     │  ▲                       │  ▲
///       └──backgrounded       ▼  │ timer      expired    │  │ timer, foregrounded
///                       registerFailed ◀─────────────────┘ idle ◀──backgrounded── live
///
///     any ──stopped, loggedOut, refused for good──▶ halted
///
/// A plain value: it never awaits, logs, reads a clock or draws a random number. ``handle(_:at:)``
/// is the only way in: it takes what happened and when, and returns what to do. Where chance is
/// needed, the effect carries a range, and the host draws from it. So equal machines stay equal.
///
/// `Place` is the protocol's finger. Source: the article TheMachine, whose rules were
/// model-checked; the design is that of Zulip's note on "update machines".
@usableFromInline
package struct Machine<Place: Finger>: Equatable, Sendable {
  /// The machine's numbers; they never change.
  @usableFromInline package let settings: MachineSettings
  /// Identifies this run of the machine; part of every request's ID.
  @usableFromInline package let incarnation: Incarnation

  @usableFromInline var _status: MachineStatus
  @usableFromInline var _finger: Place?
  @usableFromInline var _terms: ServerTerms

  /// The write that is out, and whether newer data waits to be written.
  @usableFromInline var writing: WriteID?
  @usableFromInline var isUnwritten = false

  @usableFromInline var isStarted = false
  @usableFromInline var isForeground = true
  /// Whether the next poll is quick, so that freshness is known within a round trip.
  @usableFromInline var nextPollIsQuick = true

  /// A lower bound on when the server last noted that we want our log. The log's lifetime counts
  /// from there. `nil`: not known.
  @usableFromInline var touched: Moment?
  /// When this machine got its finger; `nil` if it was restored.
  @usableFromInline var registeredAt: Moment?

  /// When the protocol's own rhythm allows the next poll (``Cadence/every(_:)``).
  @usableFromInline var nextAskAt: Moment = .distantPast
  /// Pace, wakes, backoffs, the server's floor, and the only timer. What the timer is for follows
  /// from the status.
  @usableFromInline var retry = Retry(.machine)

  @usableFromInline var outage = Outage()

  @usableFromInline var requestCount: UInt64 = 0
  @usableFromInline var writeCount: UInt64 = 0

  /// A machine without a finger, not started, in the foreground.
  @inlinable
  package init(incarnation: Incarnation, settings: MachineSettings = MachineSettings()) {
    self.incarnation = incarnation
    self.settings = settings
    _status = .stale
    _terms = .unspoken
  }

  /// A machine restored with its saved finger, not started, in the foreground.
  ///
  /// - Parameters:
  ///   - finger: the place up to which the saved model has taken everything.
  ///   - terms: what the server promised with the last snapshot.
  ///   - age: how long ago the state was written by the wall clock; `nil` if that is not known, for
  ///     example because the clock went back.
  ///   - now: the present moment.
  ///   - incarnation: a number that no other start of this replica has used.
  ///   - settings: the machine's numbers.
  @inlinable
  package init(
    restoring finger: Place, terms: ServerTerms, age: TimeSpan?, at now: Moment,
    incarnation: Incarnation,
    settings: MachineSettings = MachineSettings()
  ) {
    self.init(incarnation: incarnation, settings: settings)
    _status = .idle
    _finger = finger
    _terms = terms
    touched = age.map { now - TimeSpan(milliseconds: $0.milliseconds) }
  }

  /// Takes one input, and returns what to do about it, in order. Never fails: inputs that are late,
  /// repeated or out of place are absorbed. Moments never go back from one call to the next.
  @inlinable
  package mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    handle(input, at: now, &effects)
    return effects
  }

  /// As ``handle(_:at:)``, but adds to the effects of earlier inputs of the same step.
  @inlinable
  mutating func handle(_ input: Input, at now: Moment, _ effects: inout Effects) {
    let overslept = isOverdue(at: now)
    if overslept { noteOversleeping() }
    switch input {
    case .app(let signal): heard(signal, at: now, &effects)
    case .snapshotArrived(let id, let finger, let terms, let isComplete):
      snapshotArrived(
        id, finger: finger, terms: terms, isComplete: isComplete, at: now, &effects)
    case .polled(let id, let finger, let isComplete):
      polled(
        id, movedTo: finger, isComplete: isComplete, overslept: overslept, at: now, &effects)
    case .failed(let id, let failure): failed(id, failure, at: now, &effects)
    case .fired(let timer): fired(timer, overslept: overslept, at: now, &effects)
    case .written(let write): written(write, at: now, &effects)
    case .writeFailed(let write): writeFailed(write, at: now, &effects)
    }
  }

  // MARK: Building blocks of the table's rows (TheMachine §4)

  /// Does what is due first: rests, writes, waits or asks.
  @inlinable
  mutating func proceed(refreshing: Bool = false, at now: Moment, _ effects: inout Effects) {
    disarm(&effects)
    guard isForeground || refreshing else { return rest(at: now, &effects) }
    if isHopelesslyOld(at: now) {
      dropFinger()
      if !isForeground { return rest(at: now, &effects) }
    }
    if settings.isDurable, _finger != nil, isUnwritten || writing != nil {
      if writing == nil { persist(&effects) }
      _status = .live(.writing)
      return
    }
    let floor = max(retry.ready(settings.retry), nextAskAt)
    if now < floor {
      effects.arm = retry.arm(MomentRange(at: floor))
      _status =
        _finger == nil ? .registerFailed : now < retry.notBefore ? .pollFailed : .live(.pausing)
      return
    }
    ask(at: now, &effects)
  }

  @inlinable
  mutating func ask(at now: Moment, _ effects: inout Effects) {
    retry.spend(at: now, settings.retry)
    requestCount += 1
    let id = RequestID(incarnation: incarnation, number: requestCount)
    let deadline: TimeSpan
    if let finger = _finger {
      let waits = !nextPollIsQuick && _terms.cadence.pollsWait
      deadline =
        waits
        ? _terms.longDeadline
        : min(
          _terms.longDeadline, retry.deadline(first: settings.quickDeadline, settings.retry))
      _status = .live(.polling(Outstanding(id: id, sent: now, waits: waits)))
      effects.request = .poll(id, finger: finger, waits: waits)
    } else {
      deadline = retry.deadline(first: settings.registerDeadline, settings.retry)
      _status = .registering(Outstanding(id: id, sent: now, waits: false))
      effects.request = .register(id)
    }
    let end = max(now + deadline, now + .milliseconds(1))
    effects.arm = retry.arm(MomentRange(at: end))
  }

  /// Comes to rest: no request is out, and nothing is due but the refresh.
  @inlinable
  mutating func rest(at now: Moment, _ effects: inout Effects) {
    disarm(&effects)
    outage.lose(at: now)
    guard _finger != nil else {
      _status = .stale
      return
    }
    _status = .idle
    if isStarted, let period = settings.refreshPeriod {
      let due = max(now + period, now + .milliseconds(1))
      effects.arm = retry.arm(MomentRange(at: due))
    }
  }

  /// Waits for up to `wait`, and at least until the server's floor; in the background, rests.
  @inlinable
  mutating func wait(
    _ wait: TimeSpan, pausing: Bool = false, at now: Moment, _ effects: inout Effects
  ) {
    guard isForeground else { return rest(at: now, &effects) }
    effects.arm = retry.arm(within: wait, at: now)
    _status = _finger == nil ? .registerFailed : pausing ? .live(.pausing) : .pollFailed
  }

  @inlinable
  mutating func persist(_ effects: inout Effects) {
    guard writing == nil else {
      isUnwritten = true
      return
    }
    writeCount += 1
    writing = WriteID(writeCount)
    isUnwritten = false
    effects.persist = writing
  }

  @inlinable
  mutating func disarm(_ effects: inout Effects) {
    guard let timer = retry.disarm() else { return }
    // The host does not know a timer that was armed in this step.
    if effects.arm?.timer == timer { effects.arm = nil } else { effects.disarm = timer }
  }

  /// Cancels the request that is out, if there is one.
  @inlinable
  mutating func cancel(at now: Moment, _ effects: inout Effects) {
    guard let request = _status.outstanding else { return }
    // The host does not know a request that was made in this step.
    if effects.request?.id == request.id {
      effects.request = nil
    } else {
      effects.cancel = request.id
    }
    noteEnd(of: request, at: now)
  }

  /// Updates `touched` when a poll ends. The server notes when a wait begins, which is not before
  /// we sent the poll. Only a poll that really waited counts there.
  @inlinable
  mutating func noteEnd(of request: Outstanding, at now: Moment) {
    if request.waits, now - request.sent >= settings.reallyWaited { touched = request.sent }
  }

  @inlinable
  mutating func dropFinger() {
    _finger = nil
    touched = nil
    isUnwritten = false
  }

  /// Makes the next poll quick, and due now whatever the protocol's rhythm.
  @inlinable
  mutating func askSoon() {
    nextPollIsQuick = true
    nextAskAt = .distantPast
  }

  @inlinable
  mutating func payWake(at now: Moment) -> Bool { retry.payWake(at: now, settings.retry) }
}

extension Cadence {
  /// Whether the server may hold open a poll that is not quick.
  @inlinable
  var pollsWait: Bool {
    switch self {
    case .waits, .pushed: true
    case .every: false
    }
  }
}
