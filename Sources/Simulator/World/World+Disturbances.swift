internal import SyncProtocols
internal import UpdateMachine

// What goes wrong with the whole world or with one client, and how it passes.

extension World {
  /// Causes one disturbance and schedules the next. Returns `false` if this world has none, or no
  /// more.
  mutating func disturbance() -> Bool {
    guard phase == .stormy, !faultPlan.disturbances.isEmpty else { return false }
    agenda.add(
      .disturbance, at: now + .milliseconds(choices.draw(.faults, in: 1...faultPlan.disturbanceGap))
    )
    disturb()
    return true
  }

  /// Causes a disturbance now, in the middle of other activity. It never ends a process, because
  /// the activity needs the process. Returns `false` if nothing goes wrong here.
  mutating func coincide() -> Bool {
    guard phase == .stormy, !faultPlan.disturbances.isEmpty else { return false }
    disturb(endsProcesses: false)
    return true
  }

  private mutating func disturb(endsProcesses: Bool = true) {
    armPlant()
    let fault = choices.pick(.faults, faultPlan.disturbances)
    if !endsProcesses, fault == .crash || fault == .abandonedClient { return }
    disturb(fault, Int(choices.draw(.faults, below: UInt64(clients.count))))
  }

  /// - Parameter isBrief: whether it lasts a short time only.
  private mutating func disturb(_ fault: Fault, _ client: Int, isBrief: Bool = false) {
    if isTraced {
      note("fault", "\(fault.name), \(who(client))", about: fault.isOfServer ? nil : client)
    }
    if strikesServer(fault, near: client, isBrief) || strikesConnection(fault, client, isBrief)
      || strikesDevice(fault, client, isBrief)
    {
      checker.result.faults[fault] += 1
    }
    deliverFinished()
    scheduleServer()
  }

  // MARK: Hasty worlds

  /// A client has just begun something. In a hasty world something else may happen to it before
  /// that ends.
  ///
  /// - Parameter delay: how many milliseconds it takes; `nil`: a trip to the server and back.
  mutating func mayHappenMeanwhile(to client: Int, within delay: Int64? = nil) {
    guard let haste = faultPlan.haste, phase == .stormy, choices.happens(.haste, 1, in: haste)
    else { return }
    let most = delay ?? choices.pick(.haste, faultPlan.latencies) * 2
    agenda.add(
      .happens(client: client, .isStruck),
      at: now + .milliseconds(choices.draw(.haste, in: 0...most)))
  }

  /// The user acts, or something goes wrong, for a short time.
  private mutating func isStruck(_ client: Int) -> Bool {
    guard phase == .stormy else { return false }
    if App.User.acts, clients[client].isRunning, now >= clients[client].asleepUntil,
      choices.happens(.haste, 1, in: 3)
    {
      act(client)
      return true
    }
    let meetings = choices.happens(.haste, 1, in: 2) ? faultPlan.meetings : []
    let faults = meetings.isEmpty ? faultPlan.disturbances : meetings
    guard !faults.isEmpty else { return false }
    disturb(choices.pick(.haste, faults), client, isBrief: true)
    return true
  }

  /// How many milliseconds a disturbance lasts; a brief one about as long as a trip to the server
  /// and back.
  private mutating func span(
    _ isBrief: Bool, _ stream: Choices.Stream, _ spans: [Int64]
  ) -> Int64 {
    guard isBrief else { return choices.pick(stream, spans) }
    return choices.draw(.haste, in: 1...(choices.pick(.haste, faultPlan.latencies) * 2))
  }

  // MARK: What goes wrong

  private mutating func strikesServer(
    _ fault: Fault, near client: Int, _ isBrief: Bool
  ) -> Bool {
    switch fault {
    case .unknownEvent: server.announceNothing()
    case .refusedEvent:
      guard let event = App.eventToRefuse(server.truth) else { return false }
      commit(event)
    case .silentChange, .oldCache:
      guard let change = App.nextBreach(fault, server.truth, &choices) else { return false }
      commit(change)
    case .gentleRestart: restartServer(keepingQueues: true, isBrief)
    case .killedServer: restartServer(keepingQueues: false, isBrief)
    case .queueExpiry:
      guard let queue = clients[client].body.finger?.log else { return false }
      expire(queue)
      mayForget(client)
    case .secondPoller:
      guard let queue = clients[client].body.finger?.log else { return false }
      serverOracle.mayEndWaits = true
      server.interrupt(queue)
    case .unsupportedServer:
      isUnsupported = true
      let end = now + .milliseconds(span(isBrief, .faults, [5000, 60_000, 600_000]))
      agenda.add(.serverIsSupportedAgain, at: end)
      for client in clients.indices {
        let patience = TimeSpan.milliseconds(choices.draw(.users, in: 0...30_000))
        agenda.add(.happens(client: client, .retries), at: end + patience)
      }
    default: return false
    }
    return true
  }

  private mutating func expire(_ log: Place.Log) {
    if let number = server.index(of: log) { serverOracle.noteEnd(of: number) }
    server.expire(log)
  }

  private mutating func restartServer(keepingQueues: Bool, _ isBrief: Bool) {
    serverOracle.noteRestart(keepingLogs: keepingQueues && World.hasQueues)
    server.restart(keepingQueues: keepingQueues, at: now)
    isServerDown = true
    agenda.add(
      .serverRecovers, at: now + .milliseconds(span(isBrief, .faults, [500, 5000, 30_000])))
  }

  private mutating func strikesConnection(
    _ fault: Fault, _ client: Int, _ isBrief: Bool
  ) -> Bool {
    switch fault {
    case .brokenConnection: return breakConnection(client)
    case .partition:
      guard clients[client].connection == .open else { return false }
      let isSilent = choices.happens(.faults, 1, in: 2)
      clients[client].connection = isSilent ? .silent : .refused
      if !isSilent { _ = breakConnection(client) }
      let end = now + .milliseconds(span(isBrief, .faults, [2000, 40_000, 600_000]))
      agenda.add(.happens(client: client, .reconnects), at: end)
      if choices.happens(.users, 1, in: 2) {
        agenda.add(.happens(client: client, .changesNetwork), at: end + .milliseconds(1))
      }
    case .endlessPartition:
      guard mayLoseOne else { return false }
      clients[client].isLostForEver = true
      let isSilent = choices.happens(.weather, 1, in: 2)
      clients[client].connection = isSilent ? .silent : .refused
      if !isSilent { _ = breakConnection(client) }
    case .revokedCredentials:
      clients[client].isRevoked = true
      agenda.add(
        .happens(client: client, .getsCredentials),
        at: now + .milliseconds(span(isBrief, .faults, [5000, 60_000, 900_000])))
    case .networkChanges:
      for change in 0...choices.draw(.users, in: 0...3) {
        agenda.add(.happens(client: client, .changesNetwork), at: now + .milliseconds(change * 150))
      }
    default: return false
    }
    return true
  }

  /// Breaks the connection of the open request; the client is told.
  private mutating func breakConnection(_ client: Int) -> Bool {
    guard let index = clients[client].exchange, exchanges[index].client == client,
      exchanges[index].isWaiting
    else { return false }
    exchanges[index].isWaiting = false
    exchanges[index].references -= 1
    server.abandon(waiter: UInt64(index) | exchanges[index].generation << 32)
    fail(index, .unreachable, after: latency())
    return true
  }

  private mutating func strikesDevice(
    _ fault: Fault, _ client: Int, _ isBrief: Bool
  ) -> Bool {
    guard clients[client].isRunning, now >= clients[client].asleepUntil else { return false }
    switch fault {
    case .background:
      signal(client, .backgrounded)
      let back: Int64 = span(isBrief, .users, [5000, 60_000, 700_000, 4_000_000])
      agenda.add(.happens(client: client, .foregrounds), at: now + .milliseconds(back))
    case .suspension:
      clients[client].asleepSince = now
      clients[client].asleepUntil =
        now
        + .milliseconds(
          span(isBrief, .faults, [3000, 30_000, 300_000, 3_600_000]))
      agenda.add(.happens(client: client, .wakes), at: clients[client].asleepUntil)
    case .crash:
      crash(client)
      agenda.add(
        .happens(client: client, .starts),
        at: now + .milliseconds(span(isBrief, .faults, [100, 10_000, 600_000])))
    case .abandonedClient:
      guard mayLoseOne else { return false }
      clients[client].isLostForEver = true
      crash(client)
    case .stopAndStart, .logOut:
      signal(client, fault == .logOut ? .loggedOut : .stopped)
      agenda.add(
        .happens(client: client, .isStartedAgain),
        at: now + .milliseconds(span(isBrief, .users, [1000, 60_000, 900_000])))
    case .storm: storm(client)
    case .fullDisk:
      let span: Int64 = span(isBrief, .storage, [5000, 60_000, 900_000])
      clients[client].fullUntil = now + .milliseconds(span)
    default: return false
    }
    return true
  }

  /// Whether a client may be lost. At most one per world may be, and at least one other must be
  /// left to become up to date.
  private var mayLoseOne: Bool {
    for client in clients.indices where clients[client].isLostForEver { return false }
    return clients.count > 1
  }

  /// Causes many signals of one kind, or many lost logs, in a short time.
  private mutating func storm(_ client: Int) {
    switch choices.draw(.faults, below: 4) {
    case 0:
      for number: Int64 in 0..<25 {
        agenda.add(
          .happens(client: client, .changesNetwork), at: now + .milliseconds(number * 200))
      }
    case 1:
      for number: Int64 in 0..<12 {
        agenda.add(
          .happens(client: client, number % 2 == 0 ? .backgrounds : .foregrounds),
          at: now + .milliseconds(number * 1000))
      }
    case 2:
      for number: Int64 in 0..<15 {
        agenda.add(.happens(client: client, .retries), at: now + .milliseconds(number * 300))
      }
    default:
      for queue in server.aliveQueues { expire(queue) }
    }
  }

  /// Performs the later consequence of a disturbance. Returns `false` if its target is gone.
  mutating func happens(_ client: Int, _ incident: Incident) -> Bool {
    switch incident {
    case .starts:
      guard !clients[client].isRunning else { return false }
      begin(client)
      return true
    case .reconnects:
      guard !clients[client].isLostForEver else { return false }
      clients[client].connection = .open
      return true
    case .wakes:
      guard now >= clients[client].asleepUntil else { return false }  // It was put to sleep again.
      wake(client)
      return true
    case .isLookedAt: return isLookedAt(client)
    case .isStruck: return isStruck(client)
    case .crashes:
      guard phase == .stormy, clients[client].isRunning, now >= clients[client].asleepUntil else {
        return false
      }
      crash(client)
      let pause: Int64 = choices.pick(.storage, [100, 10_000, 600_000])
      agenda.add(.happens(client: client, .starts), at: now + .milliseconds(pause))
      return true
    case .loads, .foregrounds, .backgrounds, .changesNetwork, .retries, .getsCredentials,
      .isStopped, .isStartedAgain:
      if postpone(.happens(client: client, incident), for: client) { return false }
      guard clients[client].isRunning else { return false }
    }
    switch incident {
    case .loads: load(client)
    case .foregrounds: signal(client, .foregrounded)
    case .backgrounds:
      guard phase == .stormy else { return false }
      signal(client, .backgrounded)
    case .changesNetwork: signal(client, .networkChanged)
    case .retries: signal(client, .retryRequested)
    case .getsCredentials:
      clients[client].isRevoked = false
      signal(client, .credentialsChanged)
    case .isStopped:
      guard phase == .stormy else { return false }
      signal(client, .stopped)
    case .isStartedAgain: signal(client, .started(foreground: true))
    case .starts, .crashes, .reconnects, .wakes, .isLookedAt, .isStruck: break
    }
    return true
  }

  // MARK: The calm

  /// Stops the faults. Their consequences remain: dead connections, long waits, lost queues.
  mutating func calmDown() {
    phase = .calm(since: now, until: now + faultBound)
    if isTraced {
      note("world", "no more faults: every client must be up to date within \(faultBound)")
    }
    breaches = faultPlan.faults.list.filter { $0.breaksContract }
    faultPlan.calm()
    if let change = App.endOfBreaches(server.truth) { commit(change) }
    isServerDown = false
    isUnsupported = false
    server.liftLimits()
    for client in clients.indices {
      if !clients[client].isLostForEver { clients[client].connection = .open }
      clients[client].isRevoked = false
      clients[client].fullUntil = now
      if now < clients[client].asleepUntil { wake(client) }
      agenda.add(.happens(client: client, .isLookedAt), at: now + .milliseconds(1))
    }
    agenda.add(.judgement, at: now + faultBound)
  }

  /// The user looks at the app, and makes sure that it can go on.
  private mutating func isLookedAt(_ client: Int) -> Bool {
    agenda.add(.happens(client: client, .isLookedAt), at: now + .milliseconds(15_000))
    guard !isLevel(client), !clients[client].isLostForEver else { return false }
    guard clients[client].isRunning else {
      begin(client)
      return true
    }
    if !clients[client].body.machine.isInForeground {
      signal(client, .foregrounded)
      return true
    }
    tidy(client)
    switch clients[client].body.status {
    case .halted(.stopped): signal(client, .started(foreground: true))
    case .halted(.credentials): signal(client, .credentialsChanged)
    case .halted(.unsupported): signal(client, .retryRequested)
    case .stale, .idle, .registering, .registerFailed, .live, .pollFailed: break
    }
    return true
  }

  mutating func commitLastEvent() {
    phase = .lastEvent(until: now + faultBound)
    if isTraced { note("world", "every client is up to date; one more commit follows") }
    commit(App.nextEvent(server.truth, &choices))
    if isTraced { noteBreach() }
    agenda.add(.judgement, at: now + faultBound)
  }

  /// Arms a breach of the contract, if there is a plant.
  mutating func armPlant() {
    guard let plant = configuration.plant, phase == .stormy, !server.isArmed else { return }
    if let breach = PageBreach(rawValue: plant.name) {
      if choices.happens(.faults, 1, in: 3) { pageBreach = breach }
    } else if let breach = Server.Breach(rawValue: plant.name) {
      guard choices.happens(.faults, 1, in: 6) else { return }
      if isTraced { note("plant", "the server will break its contract: \(plant.name)") }
      server.arm(breach)
    } else if plant == .neverAnswersAgain, !isMute, choices.happens(.faults, 1, in: 20) {
      if isTraced { note("plant", "the server will never answer again") }
      isMute = true
    }
  }
}
