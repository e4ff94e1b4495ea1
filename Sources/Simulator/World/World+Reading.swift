internal import SyncProtocols
internal import UpdateMachine

// Pages: what clients ask for beside the machine's one request, on its way to the server and back.

/// Where a reader's question is, or what else is pending for a reader.
enum Reading: Sendable {
  case arrives(UInt64)
  case isRead(UInt64)
  case isAnswered(UInt64)
  case fails(UInt64, ReadingFailure)
  case fires(UInt64)
  case userActs
}

/// Why a reader's question is not answered. Without the text that a ``SyncFailure`` may carry, so that
/// steps are plain bits: the agenda moves them many times.
enum ReadingFailure: Sendable {
  case unreachable
  case timedOut
  case serverFault
  case rateLimited(after: TimeSpan?)
  case unauthorized
  case rejected
  case malformed

  var failure: SyncFailure {
    switch self {
    case .unreachable: .unreachable
    case .timedOut: .timedOut
    case .serverFault: .serverFault
    case .rateLimited(let after): .rateLimited(after: after)
    case .unauthorized: .unauthorized
    case .rejected: .rejected(.none)
    case .malformed: .malformed
    }
  }
}

/// Why everybody looks at everything anew.
enum Look: String, Sendable {
  /// So that everybody holds everything.
  case atEverything = "to hold it"
  /// While the server breaks its contract.
  case atWhatIsBroken = "what is broken"
  /// From here on the server keeps its contract, and what can be mended must be, …
  case once = "the first time"
  /// … after this.
  case twice = "the second time"
}

extension World {
  /// After an input: the reader sees what has changed, and oracle B judges what is held.
  mutating func lookAgain(_ client: Int) {
    guard App.Reader.reads, clients[client].isRunning else { return }
    with(client) { $0.look(&$1, at: $2) }
    judgeReading(client)
  }

  /// The user of a process that begins will do something.
  mutating func beginReading(_ client: Int) {
    guard App.Reader.reads else { return }
    clients[client].reader.begin(life: Life(clients[client].life))
    let pause = choices.draw(.users, in: 1...500)
    schedule(.userActs, client, after: pause)
  }

  mutating func reads(_ client: Int, life: UInt64, _ reading: Reading) -> Bool {
    guard clients[client].isRunning, clients[client].life == life else { return false }
    switch reading {
    case .arrives(let question): arrives(question, client)
    case .isRead(let question):
      armPlant()
      if clients[client].reader.read(
        question, in: server.truth, at: server.position, breach: pageBreach)
      {
        pageBreach = nil
        pageBreachCount += 1
        if isTraced { note("plant", "page \(question) is wrong", about: client) }
      }
      depart(.isAnswered(question), question, client)
      return true
    case .isAnswered, .fails, .fires, .userActs:
      if postpone(.reads(client: client, life: life, reading), for: client) { return false }
      guard reaches(client, reading) else { return false }
    }
    judgeReading(client)
    return true
  }

  private mutating func reaches(_ client: Int, _ reading: Reading) -> Bool {
    switch reading {
    case .isAnswered(let question):
      if isTraced { note(who(client), "page \(question) comes", about: client) }
      with(client) { $0.take(question, &$1, at: $2) }
    case .fails(let question, let reason):
      let failure = reason.failure
      if isTraced { note(who(client), "page \(question) fails, \(failure)", about: client) }
      with(client) { $0.fail(question, failure, &$1, at: $2) }
    case .fires(let timer):
      with(client) { $0.fire(timer, &$1, at: $2) }
    case .userActs:
      guard phase == .stormy else { return false }
      let pause = choices.draw(.users, in: 1...climate.workloadGap * 2)
      schedule(.userActs, client, after: pause)
      var (reader, replica) = (clients[client].reader, clients[client].replica)
      let effects = reader.act(&replica, server.truth, at: now, &choices)
      (clients[client].reader, clients[client].replica) = (reader, replica)
      perform(effects, by: client)
    case .arrives, .isRead: break
    }
    return true
  }

  /// Takes the reader and the replica out, for both are changed at once.
  private mutating func with(
    _ client: Int,
    _ body: (inout App.Reader, inout App.Reader.Body, Moment) -> ReaderEffects
  ) {
    var (reader, replica) = (clients[client].reader, clients[client].replica)
    let effects = body(&reader, &replica, now)
    (clients[client].reader, clients[client].replica) = (reader, replica)
    perform(effects, by: client)
  }

  private mutating func perform(_ effects: ReaderEffects, by client: Int) {
    if isTraced, let words = clients[client].reader.words(effects) {
      note(who(client), words, about: client)
    }
    for question in effects.ask { depart(.arrives(question), question, client) }
    guard let arm = effects.arm else { return }
    let range = arm.range.earliest.milliseconds...arm.range.latest.milliseconds
    let moment = Moment(milliseconds: choices.draw(.timers, in: range))
    agenda.add(
      .reads(client: client, life: clients[client].life, .fires(arm.timer)), at: max(moment, now))
  }

  /// One way of a question or of its answer.
  private mutating func depart(_ reading: Reading, _ question: UInt64, _ client: Int) {
    switch clients[client].connection {
    case .open: break
    case .refused:
      let delay = latency()
      return schedule(.fails(question, .unreachable), client, after: delay)
    case .silent: return
    }
    var delay = latency()
    switch strike(climate.outgoing, client) {
    case .lostRequest, .halfOpen: return
    case .refusedConnection: return schedule(.fails(question, .unreachable), client, after: delay)
    case .sourceTimeout: return schedule(.fails(question, .timedOut), client, after: delay)
    case .slowNetwork: delay += choices.draw(.network, in: 1...Climate.slowTrip)
    default: break
    }
    schedule(reading, client, after: delay)
  }

  private mutating func arrives(_ question: UInt64, _ client: Int) {
    let delay = choices.draw(.server, in: 1...Climate.quickSnapshot)
    if isMute { return }
    if isServerDown { return schedule(.fails(question, .serverFault), client, after: delay) }
    if clients[client].isRevoked {
      return schedule(.fails(question, .unauthorized), client, after: delay)
    }
    switch strike(climate.answering, client) {
    case .serverError, .portal:
      return schedule(.fails(question, .serverFault), client, after: delay)
    case .rateLimit:
      let wait = choices.pick(.server, [nil, TimeSpan.seconds(-5), .seconds(54), .seconds(3600)])
      return schedule(.fails(question, .rateLimited(after: wait)), client, after: delay)
    case .malformedAnswer: return schedule(.fails(question, .malformed), client, after: delay)
    case .rejectedRequest:
      return schedule(.fails(question, .rejected), client, after: delay)
    default: break
    }
    clients[client].reader.find(question, in: server.truth)
    schedule(.isRead(question), client, after: delay)
  }

  private mutating func schedule(_ reading: Reading, _ client: Int, after delay: Int64) {
    agenda.add(
      .reads(client: client, life: clients[client].life, reading), at: now + .milliseconds(delay))
  }

  // MARK: Oracles B and F

  private mutating func judgeReading(_ client: Int) {
    let position = jury.accounts[client].position
    guard let model = clients[client].replica.model else { return }
    if isTraced {
      for line in clients[client].reader.news(of: model, server.truth) {
        note(who(client), line, about: client, isPicture: true)
      }
    }
    guard clients[client].replica.finger != nil, position >= 0,
      let objection = clients[client].reader.judge(model, at: position, history)
    else { return }
    jury.report(objection.oracle, client, now, objection.expected, objection.found)
  }

  /// Whether everything that this client's user looks at is there.
  func hasRead(_ client: Int) -> Bool {
    guard App.Reader.reads else { return true }
    guard let model = clients[client].replica.model else { return false }
    return clients[client].reader.isLevel(with: server.truth, model)
  }

  // MARK: Breaches of the contract

  /// Everybody is level, and looks at everything once more.
  mutating func lookAnew(_ look: Look) {
    phase = .looking(look, until: now + faultBound + World.lookBound)
    if isTraced { note("world", "everybody looks at everything anew: \(look.rawValue)") }
    for client in clients.indices where !clients[client].isLostForEver {
      with(client) { $0.lookAnew(&$1, at: $2) }
      judgeReading(client)
    }
    agenda.add(.judgement, at: now + faultBound + World.lookBound)
  }

  /// All is settled that a look has shown.
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

  /// Nothing else goes wrong, and everybody holds everything: now the server breaks its contract, and
  /// other things happen, too.
  private mutating func breakContract() {
    for _ in 0...choices.draw(.weather, below: 12) {
      if choices.happens(.weather, 1, in: 2) {
        commit(App.nextEvent(server.truth, &choices))
        continue
      }
      let fault = choices.pick(.weather, breaches)
      guard let change = App.nextBreach(fault, server.truth, &choices) else { continue }
      commit(change)
      jury.result.faults[fault] += 1
    }
  }

  /// The poll that is out may have left before a page came, the next is answered by a heartbeat at
  /// the latest; then comes the pause before a second reading. Twice, for an answer may be lost.
  static var lookBound: TimeSpan { .seconds(400) }

  var hasEverybodySettled: Bool {
    for client in clients.indices where !clients[client].isLostForEver {
      guard let model = clients[client].replica.model else { return false }
      if !clients[client].reader.hasSettled(model) { return false }
    }
    return true
  }

  /// Oracle B after two looks.
  private mutating func judgeAfterLooks() {
    for client in clients.indices where !clients[client].isLostForEver {
      jury.result.checks += 1
      guard let model = clients[client].replica.model,
        let objection = clients[client].reader.objectionAfterLooks(to: model, server.truth)
      else { continue }
      return jury.report(.interval, client, now, objection.expected, objection.found)
    }
  }
}
