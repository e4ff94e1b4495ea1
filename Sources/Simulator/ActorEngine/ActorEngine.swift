// ActorEngine: the room in which the driver itself is simulated: real actors and tasks, on an
// executor owned by the world, with the world's clock, network and disks.
//
// ActorEngine may use: Choices, Disk, Oracles, Run, World.

#if !hasFeature(Embedded)

  internal import SyncProtocols
  internal import UpdateMachine

  /// Runs a world with real drivers in place of bare clients. The world still decides what happens
  /// and when. Inputs are handed to a client's actor, and the actor's calls correspond to the
  /// effects of the value engine. The same checker judges every input.
  ///
  /// Everything happens on the thread that calls ``run()``: the world takes a step, then the
  /// executor runs until no job is ready.
  final class ActorEngine<App: SimulatedApp>: @unchecked Sendable {
    typealias Driver = UpdateMachine<SimulatedSource<App>>

    var world: World<App>
    let executor = WorldExecutor()
    /// Whether the order of ready jobs is drawn; otherwise the oldest runs next.
    private let choosesJobs: Bool
    private(set) var incarnations: [SimulatedIncarnation<App>?]
    private(set) var drivers: [Driver?]
    /// The registers, polls, pushes and page requests that await answers.
    private var calls: [SimulatedCall<Exchange<App>.Outcome>] = []
    private var pushes: [SimulatedCall<SimulatedSource<App>.Pushed>] = []
    private var pages: [SimulatedCall<SimulatedSource<App>.Paged>] = []
    /// The pending sleeps, in the order of their numbers.
    private(set) var sleepers: [SimulatedSleeper] = []
    private var sleeperCount: UInt64 = 0

    init(world: World<App>, choosesJobs: Bool) {
      self.world = world
      self.choosesJobs = choosesJobs
      self.world.isHandingOver = true
      incarnations = world.clients.map { _ in nil }
      drivers = world.clients.map { _ in nil }
    }

    func run() -> RunResult {
      world.begin()
      while world.isGoingOn, world.takeStep() {
        handOver()
        // Events at the same moment may come before all jobs have run.
        while choosesJobs, !executor.isIdle, world.isGoingOn, world.takeStep(until: world.now) {
          handOver()
        }
        if choosesJobs, !executor.isIdle, world.choices.happens(.jobs, 1, in: 8), world.coincide() {
          handOver()
        }
        drain()
        for client in incarnations.indices {
          judgeOperations(of: client)
          judgeAudience(of: client)
          judgeScreens(of: client)
        }
        world.progress()
      }
      let result = world.conclude()
      for client in incarnations.indices { end(client) }
      return result
    }

    private func handOver() {
      for delivery in world.takeDeliveries() {
        if !mayInterrupt(delivery) { drain() }
        perform(delivery)
        if choosesJobs, delivery.mayBeInterrupted {
          drain(atMost: Int64(world.choices.draw(.jobs, below: 16)))
        } else {
          drain()
        }
      }
    }

    /// Whether a delivery may come while jobs are ready: answers and timers may, and so may
    /// signals, one at a time. Reports from its disk come after all earlier jobs.
    private func mayInterrupt(_ delivery: Delivery<App>) -> Bool {
      switch delivery {
      case .sleepEnds, .answer, .page, .pushed: true
      case .signal(_, .started), .begins, .crashes, .loads, .loadFails, .writeEnds, .rowsAreRead,
        .action:
        false
      case .signal(let client, _): incarnations[client]?.signals == 0
      }
    }

    /// The number of jobs run.
    var jobs: Int64 { executor.count }

    private func drain(atMost most: Int64 = .max) {
      executor.drain(atMost: most) { count in
        choosesJobs ? Int(world.choices.draw(.jobs, below: UInt64(count))) : 0
      }
      guard executor.isStuck else { return }
      world.checker.report(
        .liveness, nil, world.now, "a step comes to its end", "jobs that go on for ever")
    }

    /// Checks between two steps that a driver does exactly what its client has asked for.
    private func judgeOperations(of client: Int) {
      guard let incarnation = incarnations[client], !executor.isStuck else { return }
      let body = world.clients[client].body
      let asked = calls.awaited(by: client) + pushes.awaited(by: client) + pages.awaited(by: client)
      if asked != body.requestsOut {
        world.checker.report(
          .ownership, client, world.now, "requests out: \(body.requestsOut)", "\(asked), \(body)")
      }
      let isStopped = body.status == .halted(.stopped)
      if !isStopped, !incarnation.awaitsStart, incarnation.usesStore != body.awaitsStore {
        world.checker.report(
          .ownership, client, world.now,
          "a client waits for its store while that is at work, and only then",
          "\(incarnation.usesStore ? "at work" : "idle"), \(body)")
      }
      if asked == 0, !sleepers.contains(where: { $0.client == client }), isStopped,
        !incarnation.awaitsStart, incarnation.runs > 0, !incarnation.usesStore,
        !calls.contains(where: { $0.client == client }),
        !pushes.contains(where: { $0.client == client }),
        !pages.contains(where: { $0.client == client })
      {
        world.checker.report(
          .ownership, client, world.now, "run() returns once nothing is going on", "\(body)")
      }
      let armed = body.timersArmed
      let shared = incarnation.sharedMoments
      var running = 0
      var unclear = 0
      for sleeper in sleepers where sleeper.client == client {
        // A banner may change in the moment of a timer. Then either sleep may be the timer's.
        if !shared.isEmpty, shared.contains(sleeper.due) {
          unclear += 1
        } else if sleeper.isTimer {
          running += 1
        }
      }
      if !(running...(running + unclear) ~= armed) {
        world.checker.report(
          .walls, client, world.now, "timers that run: \(armed)", "\(running), \(body)")
      }
    }

    // MARK: From the world to the actors

    private func perform(_ delivery: Delivery<App>) {
      switch delivery {
      case .begins(let client, let incarnation, let foreground):
        begin(client, incarnation, foreground)
      case .crashes(let client): end(client)
      case .loads(let client, let saved, let age): load(client, saved, age: age)
      case .loadFails(let client):
        let load = incarnations[client]?.load
        incarnations[client]?.load = nil
        load?.resume(returning: .failed)
      case .rowsAreRead(let client, let answers):
        let read = incarnations[client]?.read
        incarnations[client]?.read = nil
        read?.resume(returning: answers)
      case .writeEnds(let client, let succeeds):
        let save = incarnations[client]?.save
        incarnations[client]?.save = nil
        save?.resume(returning: succeeds)
      case .sleepEnds(let number):
        guard let index = sleepers.firstIndex(where: { $0.number == number }) else { return }
        sleepers.remove(at: index).end(true)
      case .answer(let generation, let outcome):
        calls.take(generation)?.end(with: outcome)
      case .page(let client, let fetch, let page): pages.take(fetch, of: client)?.end(with: page)
      case .pushed(let client, let push, let answer):
        pushes.take(push, of: client)?.end(with: answer)
      case .signal(let client, let signal): give(signal, to: client)
      case .action(let client, let action): give(action, to: client)
      }
    }

    private func begin(_ client: Int, _ number: UInt64, _ foreground: Bool) {
      let incarnation = SimulatedIncarnation(client: client, number: number, engine: self)
      let clock = SimulatedClock(incarnation: incarnation)
      incarnations[client] = incarnation
      let driver = Driver(
        source: SimulatedSource(incarnation: incarnation), replicas: incarnation.makeStore(),
        settings: world.faultPlan.settings(of: client), pages: world.faultPlan.pages, clock: clock,
        chance: clock,
        executor: DriverExecutor(executor),
        tap: { [weak incarnation] input, effects, body, now in
          guard let incarnation else { return }
          incarnation.engine?.look(at: input, effects, body, now, incarnation)
        })
      drivers[client] = driver
      letAudienceRead(driver, incarnation)
      run(driver, incarnation, foreground: foreground)
    }

    private func run(_ driver: Driver, _ incarnation: SimulatedIncarnation<App>, foreground: Bool) {
      // A driver that was told to stop may be started again while it is still stopping; but once: a
      // log-out may be going on without a run, and then one start waits for it already.
      let isEnding =
        !world.clients[incarnation.client].word.wantsSync && incarnation.runs == 1
        && !incarnation.awaitsStart
      guard incarnation.runs == 0 || isEnding else { return }
      incarnation.runs += 1
      incarnation.awaitsStart = true
      world.clients[incarnation.client].word.isInFront = foreground
      Task(executorPreference: executor) {
        await driver.run(inForeground: foreground)
        incarnation.runs -= 1
      }
    }

    /// Ends a process: its adapters are disconnected, and all their waits end.
    private func end(_ client: Int) {
      guard let incarnation = incarnations[client], let driver = drivers[client] else { return }
      incarnation.engine = nil
      incarnations[client] = nil
      drivers[client] = nil
      incarnation.screens.close()
      let load = incarnation.load
      incarnation.load = nil
      load?.resume(returning: .found(nil))
      let read = incarnation.read
      incarnation.read = nil
      read?.resume(returning: nil)
      let save = incarnation.save
      incarnation.save = nil
      save?.resume(returning: false)
      Task(executorPreference: executor) { await driver.stop() }
      drain()
      endCalls(of: client)
      drain()
    }

    private func endCalls(of client: Int) {
      for call in calls where call.client == client { call.end(with: .failed(.unreachable)) }
      calls.removeAll { $0.client == client }
      for call in pushes where call.client == client {
        call.end(with: SimulatedSource<App>.noAnswer)
      }
      pushes.removeAll { $0.client == client }
      for call in pages where call.client == client { call.end(with: .failure(.unreachable)) }
      pages.removeAll { $0.client == client }
      for sleeper in sleepers where sleeper.client == client {
        world.forget(sleeper: sleeper.number)
        sleeper.end(false)
      }
      sleepers.removeAll { $0.isOver }
    }

    private func load(
      _ client: Int, _ saved: SavedReplica<App.Model, App.Server.Place>?, age: TimeSpan?
    ) {
      guard let continuation = incarnations[client]?.load else { return }
      incarnations[client]?.load = nil
      // An unknown age means that the wall clock has gone back since.
      let written = world.now - (age ?? .milliseconds(-1))
      let replica = saved.map {
        DatedReplica(replica: $0, writtenAt: WallTime(milliseconds: written.milliseconds))
      }
      continuation.resume(returning: .found(replica))
    }

    private func give(_ signal: AppSignal, to client: Int) {
      guard let driver = drivers[client], let incarnation = incarnations[client] else { return }
      if case .started(let foreground) = signal {
        return run(driver, incarnation, foreground: foreground)
      }
      world.noteDecision(client, signal)
      incarnation.signals += 1
      let before = incarnation.inputs.app
      Task(executorPreference: executor) {
        switch signal {
        case .started: break
        case .stopped: await driver.stop()
        case .loggedOut:
          do throws(StoreError) { try await driver.logOut() } catch {}
        case .foregrounded: await driver.enterForeground()
        case .backgrounded: await driver.enterBackground()
        case .networkChanged: await driver.networkChanged()
        case .retryRequested: await driver.retryNow()
        case .credentialsChanged: await driver.credentialsChanged()
        }
        self.judgeReach("\(signal)", incarnation.inputs.app - before, incarnation)
        incarnation.signals -= 1
      }
    }

    /// Checks that what an app says to its machine has reached the client.
    private func judgeReach(
      _ what: String, _ inputs: Int, _ incarnation: SimulatedIncarnation<App>
    ) {
      guard inputs == 0, incarnation.engine != nil else { return }
      world.checker.report(
        .ownership, incarnation.client, world.now, "a client hears \(what)", "it does not")
    }

    /// Gives a user's actions to its driver one after the other.
    private func give(_ action: App.User.Action, to client: Int) {
      guard let incarnation = incarnations[client] else { return }
      incarnation.actions.append(action)
      if incarnation.action == nil { giveNext(to: incarnation) }
    }

    private func giveNext(to incarnation: SimulatedIncarnation<App>) {
      guard !incarnation.actions.isEmpty, let driver = drivers[incarnation.client] else { return }
      let action = incarnation.actions.removeFirst()
      incarnation.action = action
      let before = incarnation.inputs.user
      Task(executorPreference: executor) {
        await self.perform(action, on: driver, incarnation)
        self.judgeReach("what its user does", incarnation.inputs.user - before, incarnation)
        incarnation.action = nil
        self.giveNext(to: incarnation)
      }
    }

    private func perform(
      _ action: App.User.Action, on driver: Driver, _ incarnation: SimulatedIncarnation<App>
    ) async {
      switch action {
      case .mutates(let change):
        do throws(MutationError<App.Model.Change.Refusal>) {
          let ticket = try await driver.mutate(change).ticket
          letAudienceWait(for: ticket, driver, incarnation)
        } catch {}  // The user judges what a refusal means.
      case .undoes, .redoes:
        do throws(MutationError<App.Model.Change.Refusal>) {
          _ = try await action.isRedo ? driver.redo() : driver.undo()
        } catch {}  // As above.
      case .decides(.retried(let ticket)): await driver.retry(ticket)
      case .decides(.edited(let ticket, let change)): await driver.edit(ticket, to: change)
      case .decides(.discarded(let ticket)): await driver.discard(ticket)
      case .opens(let narrow, let window):
        show(await driver.openWindow(on: narrow, showing: window), incarnation)
      case .changes(.moved(let id, let window)): await driver.moveWindow(id, to: window)
      case .changes(.closed(let id)):
        if !leave(id, incarnation) { await driver.closeWindow(id) }
      case .changesLists(let change): await driver.changeLists(change)
      case .signals: break
      }
    }

    // MARK: From the actors to the world

    private func look(
      at input: Driver.Client.Input?, _ effects: Driver.Client.Effects, _ body: Driver.Client,
      _ now: Moment, _ incarnation: SimulatedIncarnation<App>
    ) {
      noteBannerChange(body, now, incarnation)
      incarnation.screens.note(body.outbox)
      var saves = false
      effects.each { effect in
        switch effect {
        case .arm(_, let range): incarnation.armed.append(range)
        case .fetch(let id, let request): incarnation.fetches.append((id, request))
        case .cancel(let id): incarnation.fetches.removeAll { $0.id == id }
        case .save: saves = true
        default: break
        }
      }
      switch input {
      case .app(.stopped), .app(.loggedOut):
        incarnation.awaitsStart = false  // Cancels a start that waited.
        if case .app(.loggedOut) = input { incarnation.screens.noteLogOut() }
      case .app(.started(let foreground)): judgeStart(foreground, now, incarnation)
      default: break
      }
      let isByUser =
        switch input {
        case .window(.closed(let id)): !incarnation.screens.left.contains(id)
        case nil, .mutation, .saveRequested, .window, .lists: true
        default: false
        }
      if case .app = input { incarnation.inputs.app += 1 }
      if isByUser, let action = incarnation.action {
        incarnation.inputs.user += 1
        world.look(incarnation.client, action, effects, body)
      } else if let input {
        world.look(incarnation.client, input, effects, body)
      }
      // The user's memory is saved as it is when the save is taken.
      if saves { incarnation.memory = world.clients[incarnation.client].user.memory }
    }

    private func judgeStart(
      _ foreground: Bool, _ now: Moment, _ incarnation: SimulatedIncarnation<App>
    ) {
      if !incarnation.awaitsStart {
        world.checker.report(
          .ownership, incarnation.client, now, "no start that was taken back", "a start")
      }
      if foreground != world.clients[incarnation.client].word.isInFront {
        world.checker.report(
          .ownership, incarnation.client, now, "a start that knows whether the user is there",
          "in front: \(foreground)")
      }
      incarnation.awaitsStart = false
      world.noteDecision(incarnation.client, .started(foreground: foreground))
    }

    func send(
      _ kind: Exchange<App>.Kind, _ call: SimulatedCall<Exchange<App>.Outcome>,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      let body = world.clients[incarnation.client].body
      if body.status.outstanding == nil {
        world.checker.report(
          .ownership, incarnation.client, world.now, "what was given up is not sent", "\(body)")
      }
      call.client = incarnation.client
      call.number = world.send(incarnation.client, kind)
      calls.append(call)
    }

    func giveUp(
      _ call: SimulatedCall<Exchange<App>.Outcome>, _ incarnation: SimulatedIncarnation<App>
    ) {
      guard call.continuation != nil, let generation = call.number else { return }
      guard !world.giveUp(incarnation.client, generation) else { return }
      calls.removeAll { $0 === call }
      call.end(with: .failed(.unreachable))
    }

    func send(
      _ push: PushRequest<App.Model.Change>, at finger: App.Server.Place?,
      over state: App.Model.Change.State?,
      _ call: SimulatedCall<SimulatedSource<App>.Pushed>,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      call.client = incarnation.client
      call.number = world.send(push, at: finger, over: state, by: incarnation.client)
      pushes.append(call)
    }

    func giveUp(_ call: SimulatedCall<SimulatedSource<App>.Pushed>) {
      guard call.continuation != nil else { return }
      if let number = call.number { world.giveUp(push: Int(number), call.client) }
      pushes.removeAll { $0 === call }
      call.end(with: SimulatedSource<App>.noAnswer)
    }

    func fetch(
      _ request: SimulatedSource<App>.Request, _ call: SimulatedCall<SimulatedSource<App>.Paged>,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      guard let index = incarnation.fetches.firstIndex(where: { $0.request == request }) else {
        world.checker.report(
          .ownership, incarnation.client, world.now, "a page that is wanted is asked for",
          "\(request)")
        return call.end(with: .failure(.unreachable))
      }
      let id = incarnation.fetches.remove(at: index).id
      call.client = incarnation.client
      call.number = world.fetch(request, id, by: incarnation.client)
      pages.append(call)
    }

    func giveUp(_ call: SimulatedCall<SimulatedSource<App>.Paged>) {
      guard call.continuation != nil else { return }
      if let number = call.number { world.giveUp(fetch: number, call.client) }
      pages.removeAll { $0 === call }
      call.end(with: .failure(.unreachable))
    }

    func release(_ queue: App.Server.Place.Log, _ incarnation: SimulatedIncarnation<App>) {
      world.release(queue, by: incarnation.client)
    }

    /// - Parameter step: the step that a store of rows made of the save; `nil`: there is no such
    ///   store.
    func save(
      _ saved: DatedReplica<App.Model, App.Server.Place>, _ step: DiskStep?,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      judgeStore(incarnation)
      let disk = world.clients[incarnation.client].disk
      var setsAside = step == nil
      if case .replace = step { setsAside = true }
      if !setsAside, disk.isUnreadable {
        world.checker.report(
          .durability, incarnation.client, world.now,
          "what cannot be read is set aside before anything takes its place", "it is overwritten")
      }
      if case .append = step, disk.saved == nil {
        world.checker.report(
          .durability, incarnation.client, world.now, "a step is one from what is saved",
          "a step from nothing")
      }
      let memory = incarnation.memory ?? world.clients[incarnation.client].user.memory
      let dated = Moment(milliseconds: saved.writtenAt.milliseconds)
      world.save(
        saved.replica, step, memory: memory, after: world.now - dated, on: incarnation.client)
    }

    func erase(_ incarnation: SimulatedIncarnation<App>) {
      judgeStore(incarnation)
      world.erase(on: incarnation.client)
    }

    func load(
      _ continuation: CheckedContinuation<SimulatedIncarnation<App>.Loaded, Never>,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      judgeStore(incarnation)
      incarnation.load = continuation
      world.beginLoading(incarnation.client)
    }

    func read(
      _ queries: [RowQuery], _ continuation: CheckedContinuation<[RowAnswer]?, Never>,
      _ incarnation: SimulatedIncarnation<App>
    ) {
      judgeStore(incarnation)
      incarnation.read = continuation
      world.read(queries, nil, on: incarnation.client)
    }

    /// Checks that a store gets one request at a time.
    private func judgeStore(_ incarnation: SimulatedIncarnation<App>) {
      let isBusy = incarnation.load != nil || incarnation.read != nil
      guard isBusy || world.clients[incarnation.client].write != nil else { return }
      world.checker.report(
        .walls, incarnation.client, world.now, "a store that is busy is not asked for more",
        "\(world.clients[incarnation.client].body)")
    }

    func sleep(
      until moment: Moment, _ sleeper: SimulatedSleeper, _ incarnation: SimulatedIncarnation<App>
    ) {
      noteBannerChange(of: incarnation)
      // A drawn moment is that of the machine's timer. Any other must be the time limit of a
      // release, or, if anybody observes, the moment at which a banner changes.
      if let drawn = incarnation.drawn.firstIndex(of: moment) {
        sleeper.isTimer = true
        incarnation.drawn.remove(at: drawn)
        if incarnation.bannerChanges.contains(moment) { incarnation.sharedMoments.append(moment) }
      } else if incarnation.bannerChanges.contains(moment) {
        sleeper.isAlarm = true
      } else if moment != world.now + Driver.releaseTime {
        world.checker.report(
          .walls, incarnation.client, world.now, "a timer runs to the moment that chance drew",
          "to \(moment)")
      }
      sleeperCount += 1
      sleeper.client = incarnation.client
      sleeper.number = sleeperCount
      sleeper.due = moment
      sleepers.append(sleeper)
      world.sleep(incarnation.client, until: moment, sleeper: sleeperCount)
    }

    /// Ends a sleep early.
    func wake(_ sleeper: SimulatedSleeper) {
      sleepers.removeAll { $0 === sleeper }
      world.forget(sleeper: sleeper.number)
    }

    func draw(_ range: MomentRange, _ incarnation: SimulatedIncarnation<App>) -> Moment {
      let bounds = range.earliest.milliseconds...range.latest.milliseconds
      let moment = Moment(milliseconds: world.choices.draw(.timers, in: bounds))
      incarnation.drawn.append(moment)
      if let index = incarnation.armed.firstIndex(of: range) {
        incarnation.armed.remove(at: index)
      } else {
        world.checker.report(
          .walls, incarnation.client, world.now, "chance is asked for the range that was given",
          range.text(at: world.now))
      }
      return moment
    }
  }

  extension Delivery {
    /// Whether other events may come before all of this delivery's jobs have run.
    fileprivate var mayBeInterrupted: Bool {
      switch self {
      case .begins, .crashes, .loads, .loadFails, .writeEnds, .rowsAreRead, .signal(_, .started):
        false
      case .sleepEnds, .answer, .page, .pushed, .action, .signal: true
      }
    }
  }

#endif
