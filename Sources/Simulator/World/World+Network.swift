internal import SyncProtocols
internal import UpdateMachine

// The way to the server and back, with all its faults.

extension World {
  /// A client sends a request. Returns the number of the exchange.
  @discardableResult
  mutating func send(
    _ client: Int, _ kind: Exchange<App>.Kind, _ request: RequestID? = nil
  ) -> UInt64 {
    judgeAcknowledgement(client, kind, request)
    if case .poll = kind { clients[client].askedAt = now }
    generation += 1
    let index = place(
      Exchange<App>(
        client: client, request: request, kind: kind, name: name(of: client), generation: generation
      ))
    clients[client].exchange = index
    drawDeparture(.request, client, generation, World.words(kind))
    depart(index, from: client)
    if case .register = kind { mayHappenMeanwhile(to: client) }
    return generation
  }

  /// The name under which a client registers. It outlives a model that cannot be read; `nil`: the
  /// server names the client.
  private func name(of client: Int) -> UInt64? {
    let body = clients[client].body
    if let name = body.model.flatMap(App.clientName) { return name }
    guard let owner = body.outbox?.client, owner != .nameless else { return nil }
    return owner.number
  }

  /// A name as the server knows it; `nil`: it has forgotten it, and gives another one.
  private func remembered(_ name: UInt64?) -> UInt64? {
    name.flatMap { forgottenNames.contains($0) ? nil : $0 }
  }

  /// The server may have forgotten a client together with its log.
  mutating func mayForget(_ client: Int) {
    guard faultPlan.faults.contains(.forgottenName), let name = remembered(name(of: client)),
      choices.happens(.names, 1, in: 2)
    else { return }
    forgottenNames.append(name)
    checker.result.faults[.forgottenName] += 1
    if isTraced { note("fault", "\(Fault.forgottenName.name): \(name)", about: client) }
  }

  private mutating func place(_ exchange: Exchange<App>) -> Int {
    guard let free = freeExchanges.popLast() else {
      exchanges.append(exchange)
      return exchanges.count - 1
    }
    exchanges[free] = exchange
    return free
  }

  private mutating func depart(_ index: Int, from client: Int) {
    switch clients[client].connection {
    case .open: break
    case .refused: return fail(index, .unreachable, after: latency())
    case .silent: return free(index)  // The request vanishes, and so would its answer.
    }
    switch strike(faultPlan.outgoing, client) {
    case .lostRequest:
      // The transport may notice; otherwise nobody does until the deadline.
      choices.happens(.network, 1, in: 2)
        ? free(index) : fail(index, .unreachable, after: latency())
    case .refusedConnection: fail(index, .unreachable, after: latency())
    case .sourceTimeout:
      fail(index, .timedOut, after: choices.draw(.network, in: 1...20_000))
    case .halfOpen:
      exchanges[index].isHalfOpen = true
      schedule(.requestArrives(index), index, after: latency())
    case .slowNetwork:
      let late = choices.draw(.network, in: 1...FaultPlan.slowTrip)
      schedule(.requestArrives(index), index, after: latency() + late)
    default: schedule(.requestArrives(index), index, after: latency())
    }
  }

  /// A request arrives at the server.
  mutating func requestArrives(_ index: Int) {
    exchanges[index].references -= 1
    if isTraced { drawArrival(.request, exchanges[index].client, exchanges[index].generation) }
    guard !isMute else { return freeIfUnused(index) }
    if isServerDown { return answer(index, .reply(.refused(.badGateway))) }
    if isUnsupported { return answer(index, .failed(.unsupported)) }
    if clients[exchanges[index].client].isRevoked {
      return answer(index, .reply(.refused(.unauthorized)))
    }
    if configuration.faults != .none { server.waver(&choices, at: now) }
    switch exchanges[index].kind {
    case .register: registerArrives(index)
    case .poll(let finger, let waits): pollArrives(index, finger, waits: waits)
    }
    deliverFinished()
    scheduleServer()
  }

  private mutating func registerArrives(_ index: Int) {
    var delay = choices.draw(.server, in: 1...FaultPlan.quickSnapshot)
    let fault = strike(faultPlan.answering, exchanges[index].client) { world, fault in
      fault != .refusedSnapshot || App.snapshotToRefuse(world.server.truth) != nil
    }
    switch fault {
    case .slowSnapshot: delay = choices.draw(.server, in: 1...FaultPlan.slowSnapshot)
    case .expiredRegister: return answer(index, .reply(.refused(.badQueue)))
    case .refusedSnapshot:
      exchanges[index].outcome = .failed(.modelRefused)  // A mark, read by snapshotIsReady.
    case let fault?:
      if let outcome = outcome(of: fault) { return answer(index, outcome) }
    case nil: break
    }
    switch server.beginRegister(at: now) {
    case .failure(let refusal): answer(index, .reply(.refused(refusal.answer)))
    case .success(let queue):
      guard let number = server.index(of: queue) else { return }
      serverOracle.noteUse(of: number, at: now)
      if isTraced { drawAtServer("opens log \(queue) for \(who(exchanges[index].client))") }
      if fault == .slowSnapshot, choices.happens(.server, 1, in: 2) {
        // The snapshot is read at once and then long on its way, so it is old on arrival.
        exchanges[index].outcome = .reply(
          server.finishRegister(queue, for: remembered(exchanges[index].name), at: now))
        exchanges[index].left = now
        drawAnswer(index)
        return schedule(.answerArrives(index), index, after: delay)
      }
      schedule(.snapshotIsReady(index, queue: number), index, after: delay)
    }
  }

  private mutating func pollArrives(_ index: Int, _ finger: Place, waits: Bool) {
    if let fault = strike(
      faultPlan.answering, exchanges[index].client, where: { !$1.isOfRegisters }),
      let outcome = outcome(of: fault)
    {
      return answer(index, outcome)
    }
    if let name = exchanges[index].name, remembered(name) == nil {
      return answer(index, .reply(.refused(.badQueue)))
    }
    let token = UInt64(index) | exchanges[index].generation << 32
    let heartbeat = choices.draw(.server, in: 45_000...55_000)
    let asked = asked(finger, waits: waits)
    let reply = server.poll(
      finger, waits: waits, waiter: token, heartbeatAfter: .milliseconds(heartbeat), at: now)
    judge(reply, to: asked, from: finger, exchanges[index].client)
    if let reply { return answer(index, .reply(reply)) }
    if exchanges[index].isCancelled {
      server.abandon(waiter: token)
      return freeIfUnused(index)
    }
    exchanges[index].isWaiting = true
    exchanges[index].waitsUntil = now + .milliseconds(heartbeat)
    exchanges[index].references += 1
  }

  /// The answer that a fault puts in place of the correct one.
  private mutating func outcome(of fault: Fault) -> Exchange<App>.Outcome? {
    switch fault {
    case .serverError: .reply(.refused(.serverError))
    case .portal: .reply(.refused(.portal))
    case .rateLimit:
      .reply(.refused(.rateLimited(after: choices.pick(.server, World.retryAfters))))
    case .malformedAnswer: .failed(.malformed)
    case .rejectedRequest: .reply(.refused(.badRequest))
    default: nil
    }
  }

  /// Values of retry-after seen from servers: nothing, nonsense, a moment, a minute, an hour.
  private static var retryAfters: [TimeSpan?] {
    [nil, .zero, .seconds(-5), .milliseconds(180), .milliseconds(54_370), .seconds(3600)]
  }

  /// The server has read the snapshot of a register.
  mutating func snapshotIsReady(_ index: Int, queue: Int) {
    exchanges[index].references -= 1
    guard !isMute else { return freeIfUnused(index) }
    armPlant()
    var reply = server.finishRegister(
      server.id(at: queue), for: remembered(exchanges[index].name), at: now)
    if exchanges[index].outcome != nil, case .registered(_, let finger, let terms) = reply,
      let snapshot = App.snapshotToRefuse(server.truth)
    {
      reply = .registered(snapshot, finger, terms)
    }
    answer(index, .reply(reply))
  }

  /// Answers the waits that ended at the server.
  mutating func deliverFinished() {
    let ended = server.hasFinished ? server.takeFinished() : []
    for finished in ended {
      let index = Int(finished.waiter & 0xFFFF_FFFF)
      guard exchanges[index].generation == finished.waiter >> 32 else { continue }
      exchanges[index].references -= 1
      exchanges[index].isWaiting = false
      answer(index, .reply(finished.reply))
    }
    judgeTwin()
    judgeWaits(ended: ended)
  }

  /// An answer leaves the server.
  mutating func answer(_ index: Int, _ outcome: Exchange<App>.Outcome) {
    exchanges[index].outcome = outcome
    exchanges[index].left = now
    let client = exchanges[index].client
    drawAnswer(index)
    if exchanges[index].isHalfOpen || isMute || clients[client].connection == .silent {
      return freeIfUnused(index)
    }
    if clients[client].connection == .refused {
      return fail(index, .unreachable, after: latency())
    }
    switch strike(
      faultPlan.incoming, client,
      where: { $1 != .repeatedEvents || $0.repeatingBatch(in: index) != nil })
    {
    case .lostAnswer:
      choices.happens(.network, 1, in: 2)
        ? freeIfUnused(index) : fail(index, .unreachable, after: latency())
    case .repeatedAnswer:
      schedule(.answerArrives(index), index, after: latency())
      schedule(
        .answerArrives(index), index, after: latency() + choices.draw(.network, in: 0...5000))
    case .slowNetwork:
      let late = choices.draw(.network, in: 1...FaultPlan.slowTrip)
      schedule(.answerArrives(index), index, after: latency() + late)
    case .repeatedEvents:
      if let batch = repeatingBatch(in: index) {
        exchanges[index].outcome = .reply(.batch(batch))
      }
      schedule(.answerArrives(index), index, after: latency())
    default: schedule(.answerArrives(index), index, after: latency())
    }
  }

  /// The batch, preceded by the event that the client acknowledged last, as if the server had
  /// forgotten the acknowledgement. `nil` if there is no batch, or no such event.
  private func repeatingBatch(in index: Int) -> Server.Sync.Batch? {
    guard case .poll(let finger, _) = exchanges[index].kind,
      case .reply(.batch(let batch)) = exchanges[index].outcome
    else { return nil }
    return server.repeating(batch, from: finger)
  }

  /// An answer reaches the client. Returns `false` if no process is there to take it.
  mutating func answerArrives(_ index: Int) -> Bool {
    if postpone(.answerArrives(index), for: exchanges[index].client) { return false }
    exchanges[index].references -= 1
    if isTraced { drawArrival(.answer, exchanges[index].client, exchanges[index].generation) }
    defer { freeIfUnused(index) }
    guard !exchanges[index].isCancelled, let outcome = exchanges[index].outcome else {
      return false
    }
    give(outcome, of: index)
    return true
  }

  private mutating func give(_ outcome: Exchange<App>.Outcome, of index: Int) {
    let client = exchanges[index].client
    checker.noteAnswer(for: client, left: exchanges[index].left)
    if case .reply(let reply) = outcome { judgeMeaning(reply, for: client) }
    guard let request = exchanges[index].request else {
      return deliveries.append(.answer(generation: exchanges[index].generation, outcome))
    }
    switch outcome {
    case .failed(let failure): feed(client, .failed(request, failure, hasLeft: true))
    case .reply(let reply):
      if let failure = reply.failure() {
        feed(client, .failed(request, failure, hasLeft: true))
      } else if case .registered(let snapshot, let finger, let terms) = reply {
        feed(
          client,
          .snapshotArrived(
            request, snapshot, finger: finger, terms: terms,
            isComplete: Server.isComplete(snapshot)))
      } else if case .batch(let batch) = reply {
        feed(client, .batchArrived(request, batch))
      }
    }
  }

  /// A client gives a request up.
  mutating func cancel(_ client: Int, _ request: RequestID) {
    switch request.part {
    case .machine: break
    case .outbox, .pages: return giveUp(request, client)
    case .storage: return  // The disk answers this one.
    }
    guard let index = clients[client].exchange, exchanges[index].client == client,
      exchanges[index].request == request
    else { return }
    _ = giveUp(client, exchanges[index].generation)
  }

  /// A client gives up a push or a request for a page. The server processes it all the same, and an
  /// answer may or may not come.
  private mutating func giveUp(_ request: RequestID, _ client: Int) {
    if faultPlan.faults.contains(.lateAnswer), choices.happens(.network, 1, in: 2) {
      checker.result.faults[.lateAnswer] += 1
      if isTraced { note("fault", "late-answer, \(who(client))", about: client) }
      return
    }
    if let fetch = clients[client].fetches.first(where: { $0.id == request }) {
      giveUp(fetch: fetch.number, client)
    }
    if let push = clients[client].pushes.lastIndex(where: { $0.push.id == request }) {
      giveUp(push: push, client)
    }
  }

  /// The client no longer waits for this request.
  mutating func giveUp(fetch number: UInt64, _ client: Int) {
    clients[client].fetches.removeAll { $0.number == number }
  }

  /// The client no longer waits for this push.
  mutating func giveUp(push number: Int, _ client: Int) {
    clients[client].pushes[number].isGivenUp = true
  }

  /// A client gives an exchange up. The server may notice. Returns `true` if an answer on its way
  /// still arrives.
  mutating func giveUp(_ client: Int, _ generation: UInt64) -> Bool {
    guard let index = clients[client].exchange, exchanges[index].generation == generation else {
      return false
    }
    clients[client].exchange = nil
    let isOnItsWay = exchanges[index].outcome != nil && exchanges[index].references > 0
    if faultPlan.faults.contains(.lateAnswer), isOnItsWay || !isHandingOver,
      choices.happens(.network, 1, in: 2)
    {
      checker.result.faults[.lateAnswer] += 1
      if isTraced { note("fault", "late-answer, \(who(client))", about: client) }
      return true
    }
    exchanges[index].isCancelled = true
    guard exchanges[index].isWaiting else { return false }
    exchanges[index].isWaiting = false
    exchanges[index].references -= 1
    server.abandon(waiter: UInt64(index) | exchanges[index].generation << 32)
    freeIfUnused(index)
    return false
  }

  // MARK: Helpers

  private mutating func drawAnswer(_ index: Int) {
    guard isTraced, let outcome = exchanges[index].outcome else { return }
    let exchange = exchanges[index]
    if case .reply(.registered(_, let finger, _)) = outcome {
      drawAtServer(
        "has read the snapshot for \(who(exchange.client)), at commit \(server.position); "
          + "finger \(finger)")
    }
    drawDeparture(.answer, exchange.client, exchange.generation, World.words(outcome))
  }

  /// Nothing more comes of an exchange: what is still on its way is lost.
  private mutating func drawEnd(_ index: Int) {
    drawLoss(.request, exchanges[index].client, exchanges[index].generation)
    drawLoss(.answer, exchanges[index].client, exchanges[index].generation)
  }

  mutating func fail(_ index: Int, _ failure: SyncFailure, after delay: Int64) {
    if isTraced { drawEnd(index) }
    exchanges[index].outcome = .failed(failure)
    schedule(.answerArrives(index), index, after: delay)
  }

  private mutating func schedule(_ step: Step, _ index: Int, after delay: Int64) {
    exchanges[index].references += 1
    agenda.add(step, at: now + .milliseconds(delay))
  }

  mutating func latency() -> Int64 { choices.pick(.network, faultPlan.latencies) }

  /// Returns the fault, if any, that strikes this client now, and counts it. A fault that can do
  /// nothing here does not strike.
  mutating func strike(
    _ faults: [Fault], _ client: Int, where canStrike: (World, Fault) -> Bool = { _, _ in true }
  ) -> Fault? {
    guard !faults.isEmpty, choices.happens(.network, faultPlan.strength, in: 64) else { return nil }
    let fault = choices.pick(.network, faults)
    guard canStrike(self, fault) else { return nil }
    checker.result.faults[fault] += 1
    if isTraced { note("fault", "\(fault.name), \(who(client))", about: client) }
    return fault
  }

  private mutating func free(_ index: Int) {
    if isTraced { drawEnd(index) }
    exchanges[index].outcome = nil
    freeExchanges.append(index)
  }

  private mutating func freeIfUnused(_ index: Int) {
    if exchanges[index].references == 0 { free(index) }
  }
}
