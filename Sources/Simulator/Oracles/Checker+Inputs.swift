internal import SyncProtocols
internal import UpdateMachine

// The inputs of a client's machine, one by one. The checker repeats them on a machine of its own,
// and oracles E and G check the results. The statistics and the hash are kept here, too.

extension Checker {
  /// What a checker needs to know of an input. It is looked up once, because each access to an
  /// input copies it.
  struct Given: Sendable {
    var signal: InputKind?
    /// Whether it answers a request.
    var isAnswer = false
    /// Whether it brings the saved form.
    var isForm = false
    /// The log of the saved form, or of the snapshot.
    var log: Place.Log?

    init(_ input: Body.Input?) {
      switch input {
      case .app(let signal): self.signal = InputKind(signal)
      case .loaded(let saved, _):
        isForm = true
        log = saved?.finger?.log
      case .snapshotArrived(_, _, let finger, _, _):
        isAnswer = true
        log = finger.log
      case .batchArrived, .pushAnswered, .pageArrived, .failed: isAnswer = true
      case .changesLoaded, .loadFailed, .written, .writeFailed, .rowsRead, .rowsFailed, .erased,
        .fired, .window,
        .lists, .mutation, .saveRequested, nil:
        break
      }
    }
  }

  mutating func judgeHeard(
    _ input: Body.Input?, _ given: Given, _ effects: Body.Effects, _ client: Int, _ body: Body,
    _ server: Server, wasLoaded: Bool, at now: Moment
  ) {
    accounts[client].endsOutage = false
    // The start of a process does not count as a user's action. A user's changes, decisions and
    // windows are counted where the world performs them.
    if let signal = given.signal, signal != .started || wasLoaded {
      result.userActions += 1
    }
    var machine =
      accounts[client].machine.take()
      ?? Machine(incarnation: body.machine.incarnation, settings: accounts[client].settings)
    let count = effects.heard.count
    var release: Place.Log?
    var isRefused = false
    effects.heard.each { heard in
      let before = Before(heard, machine, at: now)
      var own = Effects()
      switch heard {
      case .restored(let finger, let terms, let age):
        accounts[client].cell.noteRestored()
        machine = Machine(
          restoring: finger, terms: terms, age: age, at: now, incarnation: machine.incarnation,
          settings: accounts[client].settings)
      case .input(let input): own = machine.handle(input, at: now)
      }
      release = release ?? own.release
      if case .input(.failed(_, .modelRefused)) = heard { isRefused = true }
      // The effects that the client adds are compared separately from the machine's.
      if count == 1 { own = effects.machine }
      judge(heard, before, own, client, machine, server, wasLoaded: wasLoaded, at: now)
    }
    judgeRelease(
      input, given, effects.machine.release, machine: release, isRefused: isRefused, client, body,
      wasLoaded: wasLoaded, at: now)
    if machine != body.machine {
      report(.walls, client, now, "the machine is what it was told: \(machine)", "\(body.machine)")
      machine = body.machine
    }
    if let unpacked = accounts[client].cell.objection(to: machine) {
      report(.walls, client, now, "a machine out of its cell is \(machine)", "\(unpacked)")
    }
    accounts[client].machine = machine
  }

  private mutating func judge(
    _ heard: Heard, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, _ server: Server, wasLoaded: Bool, at now: Moment
  ) {
    noteReturn(before, client, at: now)
    noteStatistics(before, effects, machine.status)
    accounts[client].endsOutage = accounts[client].endsOutage || Checker.endsOutage(before)
    judgeInput(heard, before, effects, client, machine, at: now)
    let levelBefore = accounts[client].upToDateAsOf
    let upToDateAsOf = machine.freshness(at: now).upToDateAsOf
    if upToDateAsOf != levelBefore {
      accounts[client].upToDateAsOf = upToDateAsOf
      judgeNews(before, upToDateAsOf, client, machine, at: now)
      if accounts[client].hasAskedSinceSleep { accounts[client].sleep = .zero }
    }
    if effects.request != nil { accounts[client].hasAskedSinceSleep = true }
    let objection = accounts[client].walls.perform(effects, status: machine.status, at: now)
    if let objection {
      report(
        objection.oracle, client, now, objection.expected,
        "\(effects.texts(at: now)), \(machine)")
    }
    judgeBudget(before, effects, client, machine, at: now)
    judgeFinger(before, client, machine, at: now)
    judgeDrop(before, client, machine, server, at: now)
    judgeTable(before, effects, client, machine, wasLoaded: wasLoaded, at: now)
    judgeLevel(before, effects, from: levelBefore, to: upToDateAsOf, client, machine, at: now)
  }

  /// An answer that nobody awaits must change nothing.
  private mutating func judgeInput(
    _ heard: Heard, _ before: Before, _ effects: Effects, _ client: Int,
    _ machine: Machine<Place>, at now: Moment
  ) {
    guard case .input(let input) = heard else { return }
    switch input {
    case .snapshotArrived(let id, _, _, _), .polled(let id, _, _), .failed(let id, _):
      guard let old = before.machine else {
        if before.isSubscribed, before.kind == .polled { return }
        return accounts[client].walls.noteAnswer(to: id)
      }
      guard !before.isOverdue,
        !SupersededOracle.holds(before: old, after: machine, effects: effects)
      else { return }
      report(
        .ownership, client, now, "an answer that is not awaited changes nothing",
        "\(input), then \(machine)")
    case .fired(let timer): accounts[client].walls.noteFired(timer)
    case .written(let write), .writeFailed(let write): accounts[client].walls.noteWriteEnded(write)
    case .app: break
    }
  }

  /// A second copy of an answer must change nothing. In a subscription it is one more sign of life,
  /// but it must bring nothing.
  mutating func judgeTwice(
    _ input: Body.Input?, _ given: Given, _ client: Int, _ body: Body, _ checksum: UInt64?,
    at now: Moment
  ) {
    // A write that began with old news is overdue at once. Whatever input comes next notes that, so
    // the second copy would change something.
    guard given.isAnswer, let input, !body.machine.isOverdue(at: now) else { return }
    var twice = body
    let effects = twice.handle(input, at: now)
    var holds = SupersededOracle.holds(
      before: body.machine, after: twice.machine, effects: effects.machine)
    if case .batchArrived(let id, _) = input, body.machine.terms.cadence == .pushed,
      let request = body.status.outstanding, request.waits, request.id == id
    {
      holds = twice.finger == body.finger && twice.status.outstanding?.id == request.id
    }
    holds = holds && effects.outbox.push == nil && effects.pages.fetch.isEmpty
    holds = holds && twice.local?.outbox.currentVersion == body.local?.outbox.currentVersion
    holds = holds && twice.local?.outbox.status == body.local?.outbox.status
    guard !holds || twice.model.map(App.checksum) != checksum else { return }
    report(
      .idempotence, client, now, "the same answer again changes nothing: \(body)", "\(twice)")
  }

  // MARK: Statistics and hash

  mutating func noteStatistics(_ before: Before, _ effects: Effects, _ status: MachineStatus) {
    result.statuses |= 1 << UInt64(status.code)
    if effects.request != nil { result.requests += 1 }
    if let failure = before.failure, before.isCurrent {
      result.rows.note(failure, isRegistering: before.isRegistering)
    } else if before.kind == .fired, before.isAwaiting, effects.cancel != nil, !before.isOverdue {
      result.rows.note(.timedOut, isRegistering: before.isRegistering)
    } else if effects.report == .store {
      result.rows.storeFailures += 1
    }
  }

  mutating func foldHash(_ client: Int, _ body: Body, at now: Moment) {
    result.hash.fold(now.milliseconds)
    result.hash.fold(UInt64(client) << 8 | UInt64(body.status.code))
    if let finger = body.finger {
      result.hash.fold(Int64(accounts[client].logNumber ?? -1))
      result.hash.fold(Server.number(of: finger))
    }
    if let checksum = accounts[client].checksum { result.hash.fold(checksum) }
  }
}
