internal import SyncProtocols
internal import UpdateMachine

// What each input must lead to by TheMachine §4 and §5, written independently of the machine: which
// failures cost the finger, which machines halt, which log is released, when a poll is quick.

extension Checker {
  /// What is remembered of a client to predict the result of its next input.
  struct Table: Sendable {
    /// Whether nothing vouches for the state now. Then the next poll must be quick.
    var isLost = true
    /// When the server last noted interest in the log, as far as a client can know.
    var touched: Moment?
    /// Whether the app wants to be kept up to date: it has started, and has not stopped since.
    var isStarted = false
    /// When the app last came to the foreground from rest. An outage is counted from then at the
    /// earliest.
    var returnedAt: Moment = .distantPast
    /// When the user or the system last sent a signal. For the debounce after it, an outage need
    /// not be shown.
    var saidAt: Moment = .distantPast
    /// When a write first failed after the last answer. The outage is counted from then. Story
    /// (seed 5655, directory): a write fails on a full disk after 11.9 s, the next begins 0.1 s
    /// later, and for the rest of the debounce nothing is shown.
    var writeFailedAt: Moment?
    /// When a subscription was out last. Unlike a poll, it is out during a write, so the outage may
    /// begin when a slow write is long overdue. Story (seed 1471, client-view).
    var subscribedAt: Moment = .distantPast
    /// When the first incomplete answer since the last complete one came: the outage begins there
    /// at the latest.
    var incompleteAt: Moment?
    /// Whether the client waits because the server lost all logs, and nothing else has failed.
    var isHerd = false
  }

  /// The failure, if this input ended a request without success.
  static func failure(_ before: Before, _ effects: Effects) -> SyncFailure? {
    switch before.kind {
    case .failed: return before.isCurrent ? before.failure : nil
    case .fired:
      // A poll that was slept through is not a failure.
      return before.isAwaiting && effects.cancel != nil && !before.isOverdue ? .timedOut : nil
    case .restored, .snapshotArrived, .polled, .started, .stopped, .loggedOut, .foregrounded,
      .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .written, .writeFailed:
      return nil
    }
  }

  mutating func judgeTable(
    _ before: Before, _ effects: Effects, _ client: Int, _ machine: Machine<Place>,
    wasLoaded: Bool, at now: Moment
  ) {
    let failure = Checker.failure(before, effects)
    let objection =
      Checker.haltObjection(failure, before, machine)
      ?? Checker.fingerObjection(failure, before, effects, machine)
      ?? signalObjection(before, effects, client, machine, at: now)
      ?? Checker.restObjection(before, effects, machine)
      ?? herdObjection(failure, before, effects, client, machine, at: now)
    if let objection {
      let texts = effects.texts(at: now)
      report(
        objection.oracle, client, now, objection.expected,
        "\(before.status), \(before.kind) → \(machine): \(texts)")
    }
    accounts[client].table.isHerd =
      losesLog(failure, before, client, machine, at: now) && isEarly(client, machine, at: now)
      && settings.spread > .zero && !before.hasFailed
    noteTouched(failure, before, effects, client, machine, at: now)
    judgeQuickness(failure, before, effects, client, machine, at: now)
    judgeSleep(before, client, machine, at: now)
    switch before.kind {
    case .started: accounts[client].table.isStarted = true
    case .stopped, .loggedOut: accounts[client].table.isStarted = false
    default: break
    }
    if machine.status == .idle, accounts[client].table.isStarted,
      settings.refreshPeriod != nil, !accounts[client].walls.hasTimer
    {
      report(.liveness, client, now, "the next refresh is due at some time", "\(machine)")
    }
  }

  typealias Objection = WallsOracle.Objection

  // MARK: Halting and going on

  private static func haltObjection(
    _ failure: SyncFailure?, _ before: Before, _ machine: Machine<Place>
  ) -> Objection? {
    let status = machine.status
    switch failure {
    case .unauthorized?: return expect(status == .halted(.credentials), "credentials halt it")
    case .unsupported?: return expect(status == .halted(.unsupported), "the server halts it")
    case nil: break
    case _?: return expect(!status.isHalted, "a failure that may pass does not halt the machine")
    }
    switch before.kind {
    case .stopped, .loggedOut:
      return expect(status == .halted(.stopped), "a machine that is told to stop is stopped")
    case .credentialsChanged where before.status == .halted(.credentials):
      return expect(!status.isHalted, "new credentials are tried")
    case .restored, .started: return nil  // A start or a stop may have been waiting for the load.
    case .retryRequested where before.status != .halted(.stopped): return nil
    default:
      return expect(
        status.isHalted == before.status.isHalted && (!status.isHalted || status == before.status),
        "only the app begins or ends this halt")
    }
  }

  private static func expect(
    _ holds: Bool, _ expected: @autoclosure () -> String, _ oracle: Oracle = .ownership
  ) -> Objection? {
    holds ? nil : Objection(oracle: oracle, expected: expected())
  }

  // MARK: The finger and its log

  private static func fingerObjection(
    _ failure: SyncFailure?, _ before: Before, _ effects: Effects, _ machine: Machine<Place>
  ) -> Objection? {
    var release: Place.Log?
    switch failure {
    case .unreachable?, .timedOut?, .serverFault?, .rateLimited?, .unauthorized?:
      if machine.finger != before.finger {
        return Objection(oracle: .budget, expected: "a failure that may pass costs no finger")
      }
    case .expired?:
      if machine.finger != nil {
        return Objection(oracle: .ownership, expected: "a log that is gone is not followed")
      }
    case .unsupported?, .rejected?, .malformed?, .modelRefused?:
      if machine.finger != nil {
        return Objection(oracle: .replica, expected: "state that may be wrong is not followed")
      }
      release = before.finger?.log
      // If the model refused a snapshot, the client releases that snapshot's own log.
      if before.isRegistering { release = effects.release }
    case nil: release = wantedRelease(before)
    }
    if before.kind == .loggedOut, !effects.erase || machine.finger != nil {
      return Objection(oracle: .ownership, expected: "after a log-out nothing is left")
    }
    return expect(
      effects.release == release, "the log released is \(release.map { $0.description } ?? "none")")
  }

  /// The log that an input without a failure releases.
  private static func wantedRelease(_ before: Before) -> Place.Log? {
    switch before.kind {
    case .loggedOut: before.finger?.log
    case .snapshotArrived:
      before.isCurrent || before.status.isHalted || before.log == before.finger?.log
        ? nil : before.log
    default: nil
    }
  }

  /// Checks what the client releases besides: the log of a snapshot that its model refused, and the
  /// log of a saved form that was read after a log-out.
  mutating func judgeRelease(
    _ input: Body.Input?, _ given: Given, _ found: Place.Log?, machine release: Place.Log?,
    isRefused: Bool, _ client: Int, _ body: Body, wasLoaded: Bool, at now: Moment
  ) {
    var expected = release
    if given.isForm, wasLoaded {
      expected = given.log == body.finger?.log ? release : given.log
    } else if given.isAnswer, isRefused {
      expected = release ?? given.log
    }
    if given.signal == .loggedOut, body.model != nil {
      report(.ownership, client, now, "after a log-out nothing is left", "\(body)")
    }
    guard found != expected else { return }
    report(
      .ownership, client, now,
      "the log released is \(expected.map { $0.description } ?? "none")",
      "\(found.map { $0.description } ?? "none"), \(words(of: input))")
  }

  // MARK: Signals and rest

  private func signalObjection(
    _ before: Before, _ effects: Effects, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) -> Objection? {
    switch before.kind {
    case .started, .foregrounded, .backgrounded, .networkChanged, .retryRequested,
      .credentialsChanged:
      if case .registering = before.status, !effects.isEmpty || machine.status != before.status {
        return Objection(
          oracle: .budget, expected: "a register is never cut: it costs a snapshot and a log")
      }
    default: break
    }
    switch before.kind {
    case .foregrounded, .networkChanged, .retryRequested:
      if case .live(.polling(let request)) = before.status, !request.waits, !effects.isEmpty {
        return Objection(
          oracle: .budget, expected: "a quick poll ends within a round trip: it is not cut")
      }
    default: break
    }
    if before.kind == .networkChanged, before.status == .registerFailed, !effects.isEmpty,
      accounts[client].budget.isSlowWaitOn(at: now)
    {
      return Objection(oracle: .budget, expected: "a change of network does not cut a slow wait")
    }
    return nil
  }

  private static func restObjection(
    _ before: Before, _ effects: Effects, _ machine: Machine<Place>
  ) -> Objection? {
    if machine.status.isHalted, effects.persist != nil {
      return Objection(oracle: .ownership, expected: "a halted machine writes nothing")
    }
    if before.kind == .fired, before.status == .idle, machine.status == .idle, effects.arm != nil {
      return Objection(oracle: .liveness, expected: "a refresh asks")
    }
    if let terms = before.terms, before.isCurrent, effects.report == nil,
      machine.terms != terms
    {
      return Objection(oracle: .walls, expected: "the terms are those that came with the finger")
    }
    guard let request = effects.request, !machine.isInForeground else { return nil }
    if before.kind == .fired, before.status == .idle, case .poll(_, _, waits: false) = request {
      return nil
    }
    return Objection(
      oracle: .ownership,
      expected: "in the background nothing is asked but the refresh's quick poll"
    )
  }

  // MARK: Herds

  /// If a log is lost early, all clients have lost theirs, and all of them come back. So the wait
  /// is spread. A log whose time was over is replaced at once.
  private func herdObjection(
    _ failure: SyncFailure?, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) -> Objection? {
    guard losesLog(failure, before, client, machine, at: now) else { return nil }
    guard isEarly(client, machine, at: now) else {
      let isPatient = effects.arm.map { $0.range.earliest != $0.range.latest } ?? false
      return Checker.expect(
        effects.request != nil || !isPatient, "a log whose time was over is replaced at once",
        .budget)
    }
    let wait = effects.arm.map { $0.range.latest - now }
    return Checker.expect(
      effects.request == nil && wait.map { $0 >= settings.spread } ?? false,
      "a log lost before its time is replaced within \(settings.spread)", .budget)
  }

  /// Whether this input tells a client in the foreground that its log is gone, and not soon after
  /// its register.
  private func losesLog(
    _ failure: SyncFailure?, _ before: Before, _ client: Int, _ machine: Machine<Place>,
    at now: Moment
  ) -> Bool {
    failure == .expired && !before.isRegistering && machine.isInForeground
      && !accounts[client].budget.isYoung(at: now)
  }

  /// Whether a log that is gone now was lost before its time. Asked before ``Table/touched`` is
  /// noted anew.
  private func isEarly(_ client: Int, _ machine: Machine<Place>, at now: Moment) -> Bool {
    accounts[client].table.touched.map { machine.terms.lifetime > now - $0 } ?? false
  }

  /// Notes what kept the log alive. A wait counts from when its request left the client, and only
  /// if it was long enough. A request that found the log gone kept nothing alive.
  private mutating func noteTouched(
    _ failure: SyncFailure?, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) {
    if before.kind == .restored {
      accounts[client].table.touched = before.age.map { now - $0 }
    }
    let isOver = before.isCurrent || effects.cancel != nil
    if isOver, before.waits, failure != .expired, now - before.sent >= settings.reallyWaited {
      accounts[client].table.touched = before.sent
    }
    if before.kind == .snapshotArrived, before.isCurrent, failure == nil {
      accounts[client].table.touched = now
    }
    if machine.finger == nil { accounts[client].table.touched = nil }
  }

  // MARK: Quick polls

  /// After a start, a failure or a sleep the next poll must be quick, so that freshness is known
  /// within one round trip. When the state is up to date, the poll must wait, unless the server
  /// wants to be asked at intervals.
  private mutating func judgeQuickness(
    _ failure: SyncFailure?, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) {
    var isLost = accounts[client].table.isLost
    if before.isOverdue || failure != nil || effects.cancel != nil { isLost = true }
    switch before.kind {
    case .snapshotArrived where before.isCurrent && failure == nil:
      isLost = !before.isComplete || now - before.sent > settings.quickDeadline
    case .polled where before.isCurrent && failure == nil:
      isLost = !before.isComplete || before.isOverdue
    case .writeFailed where effects.report == .store && before.status.isLive: isLost = true
    default: break
    }
    var mayWait = true
    if case .every = machine.terms.cadence { mayWait = false }
    if case .poll(_, _, let waits)? = effects.request, waits == (isLost || !mayWait) {
      let expected = waits ? "a quick poll, to know where we are" : "a waiting poll: up to date"
      report(.honesty, client, now, expected, "\(effects.texts(at: now)), \(machine)")
    }
    switch machine.status {
    case .live: accounts[client].table.isLost = isLost
    case .stale, .idle, .registering, .registerFailed, .pollFailed, .halted:
      accounts[client].table.isLost = true
    }
  }

  /// Checks that a poll that the device slept through makes the state lost, but does not count as a
  /// failure (SyncBugs 12).
  private mutating func judgeSleep(
    _ before: Before, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    guard before.isOverdue else { return }
    let claim = machine.freshness(at: now).claim
    if before.isAwaiting, claim == .connected {
      report(
        .honesty, client, now, "not connected after sleeping through a poll", "\(machine)")
    }
    if before.kind == .fired, before.isAwaiting, case .unreachable = claim, !before.hasFailed {
      report(.honesty, client, now, "sleep is not a failure", "\(claim)")
    }
  }

  // MARK: News

  /// Checks what an answer vouches for. A snapshot or a quick answer vouches for the moment when
  /// its request was sent, and a wait for the moment when it ended. Nothing else vouches for
  /// anything.
  mutating func judgeLevel(
    _ before: Before, _ effects: Effects, from old: Moment?,
    to upToDateAsOf: Moment?, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    var expected = old
    let isGood = before.isCurrent && Checker.failure(before, effects) == nil
    switch before.kind {
    case .snapshotArrived where isGood: expected = before.isComplete ? before.sent : nil
    case .polled where isGood && before.isComplete && !before.isOverdue:
      expected = before.waits ? now : before.sent
    case .loggedOut: expected = nil
    default: break
    }
    judgeRest(before, isGood: isGood, client, machine, at: now)
    guard upToDateAsOf != expected else { return }
    report(
      .honesty, client, now, "up to date as of \(expected.map { "\($0)" } ?? "none")",
      "\(upToDateAsOf.map { "\($0)" } ?? "none"), after \(before.kind)")
  }

  /// Checks that an answer which was not all that the server had does not count as up to date, even
  /// if nothing more happens.
  private mutating func judgeRest(
    _ before: Before, isGood: Bool, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    guard isGood, before.kind == .snapshotArrived || before.kind == .polled, !before.isComplete,
      machine.freshness(at: now + settings.debounce).claim == .connected
    else { return }
    report(
      .honesty, client, now, "not connected after an answer that was not all there is",
      "\(machine)")
  }
}

extension Checker {
  // MARK: What the user reads

  /// Notes what delays or dates an outage. Called before the claim is judged.
  mutating func noteReturn(_ before: Before, _ client: Int, at now: Moment) {
    if before.isSubscribed { accounts[client].table.subscribedAt = now }
    switch before.kind {
    case .foregrounded:
      accounts[client].table.saidAt = now
      if before.status.isResting { accounts[client].table.returnedAt = now }
    case .started, .networkChanged, .retryRequested, .credentialsChanged:
      accounts[client].table.saidAt = now
    case .writeFailed:
      accounts[client].table.writeFailedAt = accounts[client].table.writeFailedAt ?? now
    case .snapshotArrived, .polled:
      guard before.isCurrent else { return }
      let since = accounts[client].table.incompleteAt ?? now
      accounts[client].table.writeFailedAt = nil
      accounts[client].table.incompleteAt = before.isComplete ? nil : since
    default: break
    }
  }

  /// An outage must be shown neither too early nor too late, and must not be counted from before
  /// the user's return.
  mutating func judgeClaim(
    _ claim: Freshness.Claim, _ client: Int, _ machine: Machine<Place>, at now: Moment
  ) {
    let table = accounts[client].table
    let begun = max(
      table.saidAt, table.subscribedAt, table.writeFailedAt ?? .distantPast,
      table.incompleteAt ?? .distantPast)
    let isPatient = now < begun + settings.debounce
    let longest = machine.terms.longDeadline + settings.writeDue + settings.late
    let isTrusted = accounts[client].upToDateAsOf.map { now <= $0 + longest } ?? false
    if table.isHerd, case .unreachable = claim {
      report(.honesty, client, now, "the return of a herd is not a failure", "\(claim)")
    }
    switch claim {
    case .connecting(let since), .unreachable(let since):
      if isTrusted, now < since + settings.debounce {
        report(
          .honesty, client, now, "an outage is kept from the user for \(settings.debounce)",
          "\(claim)")
      }
      if since < table.returnedAt, machine.status != .live(.writing) {
        report(
          .honesty, client, now, "an outage since the user came back, at \(table.returnedAt)",
          "\(claim)")
      }
    case .connected:
      guard machine.status == .live(.writing), !isPatient,
        let level = accounts[client].upToDateAsOf,
        now > level + settings.writeDue + settings.late
      else { return }
      report(
        .honesty, client, now, "a write that takes longer than \(settings.writeDue) is told of",
        "\(claim), up to date as of \(level)")
    case .unknown, .halted, .resting: break
    }
  }
}
