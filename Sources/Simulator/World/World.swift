internal import SyncProtocols
internal import UpdateMachine

// World: the room of the simulated world, with clients, a server, the network between them, disks,
// users, and all faults.
//
// World may use: Agenda, Choices, Disk, Oracles, Pictures, Run, Situations.

/// Several clients and their server, in virtual time that jumps from step to step. It is never
/// copied.
///
/// At first everything that the configuration allows goes wrong. Then the faults stop, and every
/// client must be live and up to date within a bound. Then one more event must reach every client.
/// Oracles check after every step, and the first objection ends the run.
struct World<App: SimulatedApp> {
  typealias Client = SimulatedClient<App>
  typealias Server = App.Server
  typealias Place = Server.Place

  let configuration: SimulationConfiguration
  var faultPlan: FaultPlan
  var choices: Choices
  var now = Moment(milliseconds: 0)
  var agenda = Agenda<Step>()
  var server: Server
  var clients: [Client]
  var exchanges: [Exchange<App>] = []
  var freeExchanges: [Int] = []
  var generation: UInt64 = 0

  var phase = Phase.stormy
  var isServerDown = false
  var isUnsupported = false
  /// Whether the server has stopped answering (a plant).
  var isMute = false
  /// How the next page must be wrong (a plant), and how many pages were.
  var pageBreach: PageBreach?
  var pageBreachCount: Int64 = 0
  /// How the server may break its contract towards readers once the other faults have stopped.
  var breaches: [Fault] = []
  /// The truth at every position, for readers.
  var history: [App.Truth] = []
  /// The names of clients that the server has forgotten.
  var forgottenNames: [UInt64] = []
  var scheduledServerDue: Moment = .distantPast
  let faultBound: TimeSpan

  var checker: Checker<App>
  var serverOracle = ServerOracle<Place>()
  /// Whether other code runs the clients. Then inputs are handed over instead of fed here.
  var isHandingOver = false
  var deliveries: [Delivery<App>] = []
  var sleepers: [UInt64] = []
  var trace: Trace?
  /// Counts situations; `nil`: nobody asked for them.
  let situations: SituationWatch<App.Model, Server.Sync>?

  /// The phase of a run.
  enum Phase: Hashable, Sendable {
    case stormy
    /// The faults have stopped. Every client must be up to date by `until`.
    case calm(since: Moment, until: Moment)
    /// All clients look at everything again, before, while or after the server breaks its contract.
    /// By `until` they must be up to date, with their doubts settled.
    case looking(Look, until: Moment)
    /// One more event was committed. It must have reached every client by `until`.
    case lastEvent(until: Moment)
    case over
  }

  init(configuration: SimulationConfiguration, choices: Choices, trace: Trace? = nil) {
    self.configuration = configuration
    self.trace = trace
    situations =
      configuration.countsSituations
      ? SituationWatch(clients: configuration.clients, world: configuration.world.number) : nil
    var choices = choices
    var faultPlan = FaultPlan(
      &choices, allowed: configuration.faults, isSwarm: configuration.isSwarm,
      hasPages: World.isPartial, hasChanges: World.isChanging,
      hasNames: configuration.world.namesClients, cadences: Server.cadences)
    if World.isChanging {
      // Where users change things the state is durable, and an older outbox is a fault of its own.
      faultPlan.settings.isDurable = true
      faultPlan.faults.remove(.oldBackup)
    }
    server = Server(truth: App.beginning(&choices), settings: faultPlan.server, at: now)
    clients = (0..<configuration.clients).map {
      Client(settings: faultPlan.clientSettings(of: $0))
    }
    faultBound =
      LivenessOracle.bound(
        settings: faultPlan.settings, terms: server.terms,
        retryAfter: faultPlan.faults.contains(.rateLimit)
          ? faultPlan.settings.retry.retryAfterCap : .zero,
        trip: faultPlan.calmTrip) + App.User.bound
    self.faultPlan = faultPlan
    self.choices = choices
    checker = Checker(
      machines: (0..<configuration.clients).map { faultPlan.settings(of: $0) },
      latency: faultPlan.latencyMaximum, seed: configuration.seed)
  }

  /// Runs this world to its end.
  mutating func run() -> RunResult {
    begin()
    while isGoingOn, takeStep() { progress() }
    return conclude()
  }

  /// Schedules the first steps.
  mutating func begin() {
    if World.isPartial { history = [server.truth] }
    for client in clients.indices {
      choices.owner = client
      agenda.add(
        .happens(client: client, .starts),
        at: now + .milliseconds(choices.draw(.users, in: 0...2000)))
    }
    choices.owner = nil
    agenda.add(
      .workload, at: now + .milliseconds(choices.draw(.workload, in: 1...faultPlan.workloadGap)))
    agenda.add(
      .disturbance, at: now + .milliseconds(choices.draw(.faults, in: 1...faultPlan.disturbanceGap))
    )
    scheduleServer()
    trace?.noteStep("the world is drawn", choices: Int64(choices.record.count))
  }

  var isGoingOn: Bool { !checker.hasFound && phase != .over }

  /// Takes the next step. Returns `false` if none is due by `end`.
  mutating func takeStep(until end: Moment = Moment(milliseconds: .max)) -> Bool {
    while let next = agenda.takeNext(until: end) {
      now = next.at
      let name = isTraced ? name(of: next.step) : ""
      guard perform(next.step) else { continue }
      if isTraced { noteStep(name) }
      checker.result.steps += 1
      return true
    }
    return false
  }

  mutating func conclude() -> RunResult {
    checker.result.simulated = now - Moment(milliseconds: 0)
    checker.result.breaches = server.breachCount + pageBreachCount + (isMute ? 1 : 0)
    checker.result.choices = Int64(choices.record.count)
    for client in clients { checker.result.audits.add(client.user.audits) }
    if let situations { checker.result.situations = situations.counts }
    return checker.result
  }

  /// Moves from one phase to the next.
  mutating func progress() {
    guard isGoingOn else { return }
    if isHandingOver { judgeWords() }
    if phase == .stormy, checker.result.steps >= configuration.steps {
      if configuration.judgesLiveness { calmDown() } else { phase = .over }
    }
    switch phase {
    case .calm(let since, let until):
      if isEverybodyLevel {
        checker.result.convergence = now - since
        breaches.isEmpty ? commitLastEvent() : lookAnew(.atEverything)
      } else if now >= until {
        reportUnconverged(bound: until - since)
      }
    case .looking(let look, let until):
      if isEverybodyLevel, hasEverybodySettled {
        endLook(look)
      } else if now >= until {
        // A doubt about a flag cannot be settled while the cache shows its message in a place that
        // sends no events.
        if look == .atWhatIsBroken { return endLook(look) }
        reportUnconverged(bound: faultBound + World.lookBound)
      }
    case .lastEvent(let until):
      if isEverybodyLevel {
        phase = .over
      } else if now >= until {
        reportUnconverged(bound: faultBound)
      }
    case .stormy, .over: break
    }
  }

  /// Takes one step. Returns `false` if its target is gone.
  private mutating func perform(_ step: Step) -> Bool {
    choices.owner = client(of: step)
    defer { choices.owner = nil }
    switch step {
    case .requestArrives(let exchange): requestArrives(exchange)
    case .snapshotIsReady(let exchange, let queue): snapshotIsReady(exchange, queue: queue)
    case .answerArrives(let exchange): return answerArrives(exchange)
    case .releaseArrives(let queue):
      if isTraced { note("server", "release \(server.id(at: queue))") }
      serverOracle.noteEnd(of: queue)
      _ = server.release(server.id(at: queue))
      deliverFinished()
    case .timerFires(let client, let incarnation, let timer):
      return timerFires(client, incarnation: incarnation, timer)
    case .sleepEnds(let client, let incarnation, let sleeper):
      return sleepEnds(client, incarnation: incarnation, sleeper)
    case .writeEnds(let client, let incarnation, let write, let succeeds):
      return writeEnds(client, incarnation: incarnation, write, succeeds: succeeds)
    case .serverIsDue: return serverIsDue()
    case .workload: workload()
    case .disturbance: return disturbance()
    case .happens(let client, let incident): return happens(client, incident)
    case .isErased(let client, let incarnation): return isErased(client, incarnation: incarnation)
    case .rowsAreRead(let client, let incarnation):
      return rowsAreRead(client, incarnation: incarnation)
    case .userActs(let client, let incarnation): return userActs(client, incarnation: incarnation)
    case .fetches(let client, let incarnation, let fetching):
      return fetches(client, incarnation: incarnation, fetching)
    case .pushes(let client, let incarnation, let pushing):
      return pushes(client, incarnation: incarnation, pushing)
    case .serverRecovers: isServerDown = false
    case .serverIsSupportedAgain: isUnsupported = false
    case .judgement: break
    }
    return true
  }

  /// The client that a step is about; `nil`: no single one.
  private func client(of step: Step) -> Int? {
    switch step {
    case .requestArrives(let exchange), .snapshotIsReady(let exchange, _),
      .answerArrives(let exchange):
      exchanges[exchange].client
    case .timerFires(let client, _, _), .sleepEnds(let client, _, _),
      .writeEnds(let client, _, _, _), .happens(let client, _), .isErased(let client, _),
      .rowsAreRead(let client, _), .userActs(let client, _), .fetches(let client, _, _),
      .pushes(let client, _, _):
      client
    case .releaseArrives, .serverIsDue, .workload, .disturbance, .serverRecovers,
      .serverIsSupportedAgain, .judgement:
      nil
    }
  }

  // MARK: Time and trace

  var isTraced: Bool { trace != nil }

  /// - Parameter client: the client concerned; `nil` means all.
  mutating func note(
    _ who: String, _ what: String, about client: Int? = nil, isPicture: Bool = false,
    state: SpaceTime.LaneState? = nil, isSeam: Bool = false
  ) {
    trace?.note(
      now, step: checker.result.steps + 1, who, what, about: client, isPicture: isPicture,
      state: state, isSeam: isSeam)
  }

  /// Schedules the server's own next action, unless it is already scheduled.
  mutating func scheduleServer() {
    let due = server.nextDue
    guard due < scheduledServerDue || scheduledServerDue <= now else { return }
    scheduledServerDue = due
    agenda.add(.serverIsDue, at: max(due, now))
  }

  private mutating func serverIsDue() -> Bool {
    guard now >= server.nextDue else {
      scheduleServer()
      return false
    }
    server.advance(to: now)
    deliverFinished()
    scheduleServer()
    return true
  }

  private mutating func workload() {
    guard phase == .stormy else { return }
    armPlant()
    commit(App.nextEvent(server.truth, &choices))
    agenda.add(
      .workload, at: now + .milliseconds(choices.draw(.workload, in: 1...faultPlan.workloadGap)))
  }

  mutating func commit(_ event: App.Truth.Change) {
    if World.isPartial {
      for client in clients.indices {
        clients[client].user.note(event, from: server.truth, at: server.position + 1)
      }
    }
    server.commit(event, at: now)
    if World.isPartial { history.append(server.truth) }
    if isTraced {
      let what = App.describe(event)
      note("server", "commit \(server.position)" + (what.isEmpty ? "" : ": \(what)"))
    }
    deliverFinished()
  }
}
