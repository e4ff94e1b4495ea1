internal import SyncProtocols
internal import UpdateMachine

// Where the oracles are asked.

extension World {
  mutating func report(
    _ oracle: Oracle, _ client: Int?, expected: String, found: String
  ) {
    guard result.finding == nil else { return }
    result.finding = Finding(oracle, client: client, at: now, expected: expected, found: found)
  }

  /// Just before an input: what the app could have seen until now.
  mutating func lookBefore(_ client: Int) {
    guard let replica = clients[client].replica, replica.isLoaded else { return }
    result.checks += 1
    let claim = replica.freshness(at: now).claim
    if let expected = clients[client].honesty.look(claim, at: now) {
      report(.honesty, client, expected: expected, found: "\(claim)")
    }
    judgeHonesty(client, claim, of: replica)
  }

  /// After an input, before its effects are performed.
  mutating func judge(
    _ client: Int, _ input: Client.Replica.Input, before: Machine<QueueFinger>,
    _ effects: Client.Replica.Effects
  ) {
    guard let replica = clients[client].replica else { return }
    let after = replica.machine
    result.checks += 3
    if let violation = replica.violation() {
      report(.walls, client, expected: violation.rule, found: violation.found)
    }
    judgeAnswer(client, input, before: before, effects)
    if let objection = clients[client].walls.perform(effects, status: after.status, at: now) {
      let texts = effects.texts(at: now)
      report(objection.oracle, client, expected: objection.expected, found: "\(texts), \(after)")
    }
    if effects.request != nil, let expected = clients[client].budget.noteRequest(at: now) {
      report(.budget, client, expected: expected, found: "a request, \(after)")
    }
  }

  /// An answer that is not awaited changes nothing, and neither does one that is given twice.
  private mutating func judgeAnswer(
    _ client: Int, _ input: Client.Replica.Input, before: Machine<QueueFinger>,
    _ effects: Client.Replica.Effects
  ) {
    guard var replica = clients[client].replica else { return }
    switch input {
    case .snapshotArrived(let id, _, _, _), .batchArrived(let id, _), .failed(let id, _):
      let isOverdue = before.isOverdue(at: now)
      if !before.isCurrent(id) {
        if !isOverdue,
          !SupersededOracle.holds(before: before, after: replica.machine, effects: effects)
        {
          report(
            .ownership, client, expected: "an answer that is not awaited changes nothing",
            found: "\(input), then \(replica.machine)")
        }
        return
      }
      clients[client].walls.noteAnswer(to: id)
      noteFailure(client, input, isRegistering: before.finger == nil, effects)
      let once = replica.machine
      // A write that began with old news is overdue at once; the next input notes that, whatever
      // it is.
      guard !once.isOverdue(at: now) else { return }
      let checksum = replica.model.map(App.checksum)
      let again = replica.handle(input, at: now)
      if !SupersededOracle.holds(before: once, after: replica.machine, effects: again)
        || replica.model.map(App.checksum) != checksum
      {
        report(
          .idempotence, client, expected: "the same answer again changes nothing: \(once)",
          found: "\(replica.machine)")
      }
    case .fired(let timer): clients[client].walls.noteFired(timer)
    case .written(let write), .writeFailed(let write):
      clients[client].walls.noteWriteEnded(write)
    case .loaded, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged:
      clients[client].budget.noteOther()
    }
  }

  private mutating func noteFailure(
    _ client: Int, _ input: Client.Replica.Input, isRegistering: Bool,
    _ effects: Client.Replica.Effects
  ) {
    guard case .failed(_, let failure) = input else { return clients[client].budget.noteOther() }
    switch failure {
    case .unreachable, .timedOut, .serverFault:
      let wait = effects.arm.map { $0.range.latest - now }
      let expected = clients[client].budget.noteFailure(
        isSlow: isRegistering && failure != .unreachable, asks: effects.request != nil,
        wait: wait, at: now)
      if let expected {
        let texts = effects.texts(at: now)
        report(.budget, client, expected: expected, found: "\(texts)")
      }
    case .rateLimited(let after): clients[client].budget.noteRateLimit(after: after, at: now)
    case .unauthorized, .unsupported, .expired, .rejected, .malformed, .modelRefused:
      clients[client].budget.noteOther()
    }
  }

  /// After the effects: the replica against the truth, and what it says of itself.
  mutating func judgeAfter(_ client: Int) {
    guard let replica = clients[client].replica, replica.isLoaded else { return }
    result.checks += 2
    judgeReplica(client, replica)
    let claim = replica.freshness(at: now).claim
    clients[client].honesty.note(
      claim, changesAt: replica.machine.freshnessChange(after: now))
    judgeHonesty(client, claim, of: replica)
    if !HonestyOracle.fits(claim, replica.status) {
      report(.honesty, client, expected: "a claim that fits \(replica.status)", found: "\(claim)")
    }
  }

  private mutating func judgeReplica(_ client: Int, _ replica: Client.Replica) {
    guard let finger = replica.finger else { return }
    if clients[client].queueIndex.map({ server.id(at: $0) == finger.queue }) != true {
      clients[client].queueIndex = server.index(of: finger.queue)
    }
    let position = clients[client].queueIndex.flatMap {
      server.position(inQueue: $0, eventID: finger.lastEventID)
    }
    let expected = position.map { server.checksum(at: $0) }
    if !ReplicaOracle.holds(expected: expected, found: replica.model.map(App.checksum)) {
      let truth = position.map { App.describe(server.truth(at: $0)) }
      report(
        .replica, client,
        expected: truth.map { "at \(finger) \($0)" } ?? "a finger that the server gave",
        found: "at \(finger) \(replica.model.map(App.describe) ?? "no model")")
    }
    clients[client].position = position ?? -1
  }

  /// Never *connected* with an older state than promised.
  private mutating func judgeHonesty(
    _ client: Int, _ claim: Freshness.Claim, of replica: Client.Replica
  ) {
    guard claim == .connected else { return }
    let position = clients[client].position
    var staleness = TimeSpan.forever
    if position == server.position {
      staleness = .zero
    } else if position >= 0 {
      staleness = now - committedAt[Int(position)]
    }
    let bound = HonestyOracle.bound(
      settings: climate.settings, terms: replica.machine.terms, latency: honestLatency)
    if !HonestyOracle.allows(claim, staleness: staleness, bound: bound) {
      report(
        .honesty, client, expected: "connected only if at most \(bound) old",
        found: "connected, \(staleness) old, \(replica.machine)")
    }
  }

  // MARK: Level

  func isLevel(_ client: Int) -> Bool {
    guard now >= clients[client].asleepUntil, let replica = clients[client].replica,
      case .live(.polling(let request)) = replica.status, request.waits,
      clients[client].position == server.position
    else { return false }
    return replica.freshness(at: now).claim == .connected
  }

  var isEverybodyLevel: Bool {
    for client in clients.indices where !isLevel(client) { return false }
    return true
  }

  /// Somebody is not level though the faults have stopped long ago.
  mutating func reportUnconverged(bound: TimeSpan) {
    for client in clients.indices where !isLevel(client) {
      let replica = clients[client].replica
      report(
        .liveness, client,
        expected: "live and level with \(App.describe(server.truth)) within \(bound)",
        found: "\(replica.map { "\($0)" } ?? "no process"), "
          + "\(replica?.freshness(at: now).claim ?? .unknown), "
          + "\(replica?.model.map(App.describe) ?? "no model")")
    }
  }

  // MARK: Statistics, hash and trace

  mutating func noteStatistics(
    _ client: Int, _ input: Client.Replica.Input, before: Machine<QueueFinger>,
    _ effects: Client.Replica.Effects
  ) {
    guard let after = clients[client].replica?.machine else { return }
    result.statuses |= 1 << UInt64(after.status.code)
    let isRegistering = before.finger == nil
    if case .failed(let id, let failure) = input, before.isCurrent(id) {
      result.rows.note(failure, isRegistering: isRegistering)
    } else if case .fired = input, before.status.outstanding != nil, effects.cancel != nil,
      !before.isOverdue(at: now)
    {
      result.rows.note(.timedOut, isRegistering: isRegistering)
    } else if case .failure(let failure) = effects.report {
      result.rows.note(failure, isRegistering: isRegistering)
    }
    if effects.report == .store { result.rows.storeFailures += 1 }
    if effects.request != nil { result.requests += 1 }
  }

  mutating func foldHash(_ client: Int) {
    guard let replica = clients[client].replica else { return }
    result.hash.fold(now.milliseconds)
    result.hash.fold(UInt64(client) << 8 | UInt64(replica.status.code))
    if let finger = replica.finger {
      result.hash.fold(UInt64(clients[client].queueIndex ?? -1) &+ 1)
      result.hash.fold(finger.lastEventID)
    }
    if let model = replica.model { result.hash.fold(App.checksum(of: model)) }
  }

  mutating func noteTrace(
    _ client: Int, _ input: Client.Replica.Input, _ effects: Client.Replica.Effects
  ) {
    guard let replica = clients[client].replica else { return }
    let texts = effects.texts(at: now)
    var line = "\(input) → \(replica.status)"
    for (index, text) in texts.enumerated() { line += (index == 0 ? ": " : ", ") + text }
    if isTraced { note(who(client), line) }
  }
}
