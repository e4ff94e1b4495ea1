internal import SyncProtocols
internal import UpdateMachine

// Users: what they do, and what they are owed.

/// Why all clients look at everything again. The looks follow one another in this order.
enum Look: String, Sendable {
  /// Before the server breaks its contract, so that every client holds everything.
  case atEverything = "to hold it"
  /// While the server's contract is broken.
  case atWhatIsBroken = "what is broken"
  /// After the server has begun to keep its contract again.
  case once = "the first time"
  /// Once more. After this look, whatever can be repaired must be.
  case twice = "the second time"
}

extension World {
  /// Whether the models hold partial lists.
  static var isPartial: Bool { App.Model.Lists.arePartial }
  static var isChanging: Bool { App.Model.Change.isPossible }

  /// Schedules the first action of a new process's user.
  mutating func beginActing(_ client: Int) {
    guard App.User.acts else { return }
    clients[client].user.begin()
    clients[client].readMemory = clients[client].disk.saved == nil ? nil : clients[client].memory
    let pause = choices.draw(.users, in: 1...App.User.pause.first)
    agenda.add(
      .userActs(client: client, incarnation: clients[client].incarnation),
      at: now + .milliseconds(pause))
  }

  mutating func userActs(_ client: Int, incarnation: UInt64) -> Bool {
    guard clients[client].isRunning, clients[client].incarnation == incarnation else {
      return false
    }
    if postpone(.userActs(client: client, incarnation: incarnation), for: client) { return false }
    guard phase == .stormy else { return false }
    let pause = choices.draw(.users, in: 1...(faultPlan.workloadGap * App.User.pause.times))
    agenda.add(.userActs(client: client, incarnation: incarnation), at: now + .milliseconds(pause))
    act(client)
    return true
  }

  mutating func act(_ client: Int) {
    let actions = clients[client].user.act(clients[client].body, server.truth, &choices)
    for action in actions { perform(action, by: client) }
    if faultPlan.faults.contains(.undo) { undoSome(client) }
  }

  /// The user undoes or redoes something, now and then.
  private mutating func undoSome(_ client: Int) {
    guard choices.happens(.undo, 1, in: 4) else { return }
    for _ in 0...choices.draw(.undo, below: 3) {
      let body = clients[client].body
      guard body.undoable != nil || body.redoable != nil else { return }
      let isRedo =
        body.undoable == nil || body.redoable != nil && choices.happens(.undo, 1, in: 2)
      checker.result.faults[.undo] += 1
      perform(isRedo ? .redoes : .undoes, by: client)
    }
  }

  /// After the faults, the user deals with what is pending or set aside.
  mutating func tidy(_ client: Int) {
    guard App.User.acts, clients[client].isRunning else { return }
    for action in clients[client].user.tidy(clients[client].body) { perform(action, by: client) }
  }

  /// Has the user judge the client: oracles B, F and H.
  mutating func judgeUser(_ client: Int, _ body: Client.Body) {
    let position = checker.accounts[client].position
    checker.result.checks += 1
    if isTraced {
      for line in clients[client].user.news(of: body, server.truth) {
        note(who(client), line, about: client, isPicture: true)
      }
    }
    clients[client].user.fold(body, into: &checker.result.hash)
    let device = clients[client]
    let objection = device.user.objection(
      to: body, server.truth, at: body.finger == nil ? -1 : position, history,
      disk: device.disk.saved, reading: { device.disk.rows(for: $0) })
    if let objection { report(objection, client) }
  }

  mutating func report(_ objection: UserObjection, _ client: Int) {
    checker.report(objection.oracle, client, now, objection.expected, objection.found)
  }

  // MARK: Breaches of the contract

  /// All clients are up to date. Each looks at everything once more.
  mutating func lookAnew(_ look: Look) {
    phase = .looking(look, until: now + faultBound + World.lookBound)
    if isTraced { note("world", "every client looks at everything again: \(look.rawValue)") }
    for client in clients.indices where !clients[client].isLostForEver {
      for action in clients[client].user.lookAnew(clients[client].body) {
        perform(action, by: client)
      }
    }
    agenda.add(.judgement, at: now + faultBound + World.lookBound)
  }

  /// All doubts of a look are settled. Goes on to the next one.
  mutating func endLook(_ look: Look) {
    switch look {
    case .atEverything:
      breakContract()
      lookAnew(.atWhatIsBroken)
    case .atWhatIsBroken:
      if let change = App.endOfBreaches(server.truth) { commit(change) }
      lookAnew(.once)
    case .once: lookAnew(.twice)
    case .twice:
      judgeAfterLooks()
      if isGoingOn { commitLastEvent() }
    }
  }

  /// The faults are over, and all clients hold everything. Now the server breaks its contract,
  /// mixed with ordinary changes.
  private mutating func breakContract() {
    for _ in 0...choices.draw(.weather, below: 12) {
      if choices.happens(.weather, 1, in: 2) {
        commit(App.nextEvent(server.truth, &choices))
        continue
      }
      let fault = choices.pick(.weather, breaches)
      guard let change = App.nextBreach(fault, server.truth, &choices) else { continue }
      commit(change)
      checker.result.faults[fault] += 1
    }
  }

  /// The time that a look may take beyond the bound after faults. The open poll may have left
  /// before a page came, so the doubt waits for the next poll, which a heartbeat answers at the
  /// latest. Then comes the pause before a second reading. All of this counts twice, because an
  /// answer may be lost.
  static var lookBound: TimeSpan { .seconds(400) }

  var hasEverybodySettled: Bool {
    for client in clients.indices where !clients[client].isLostForEver {
      guard let model = clients[client].body.model else { return false }
      if !clients[client].user.hasSettled(model) { return false }
    }
    return true
  }

  /// Oracle B, after two looks.
  private mutating func judgeAfterLooks() {
    for client in clients.indices where !clients[client].isLostForEver {
      checker.result.checks += 1
      let device = clients[client]
      guard let model = device.body.model,
        let objection = device.user.objectionAfterLooks(
          to: model, server.truth, reading: { device.disk.rows(for: $0) })
      else { continue }
      return report(objection, client)
    }
  }
}
