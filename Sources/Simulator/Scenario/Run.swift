internal import SyncProtocols
internal import UpdateMachine

/// Runs the clients against the server's rules in virtual time, until a given moment.
struct Run {
  /// The most steps of one run. If it takes more, the rules or the machine are wrong.
  static var stepsMaximum: Int { 20_000_000 }

  private(set) var stage: Stage
  private let end: Moment
  private var agenda = Agenda<Happening>()
  private var tally: RunTally
  /// The server's budget for snapshots, if the rules set one.
  private var snapshots = TokenBucket()

  /// An event that reaches a client.
  private enum Happening {
    case answer(client: Int, RequestID, ServerRules.Reply)
    case timer(client: Int, TimerID)
    case write(client: Int, WriteID)
    case habit(Int, turn: Int)
  }

  init(_ stage: Stage, until end: Moment) {
    self.stage = stage
    self.end = end
    tally = RunTally(clients: stage.clients, registers: stage.registers, at: stage.now)
  }

  /// Runs to the end, and returns the summary.
  mutating func play(line: Int) throws(ScenarioError) -> [String] {
    for index in stage.clients.indices { resume(index) }
    for index in stage.habits.indices {
      agenda.add(.habit(index, turn: 0), at: stage.now + stage.habits[index].period)
    }
    var steps = 0
    while let (at, happening) = agenda.takeNext(until: end) {
      stage.now = at
      steps += 1
      guard steps <= Run.stepsMaximum else {
        throw ScenarioError(
          line: line, expected: "a run of at most \(Run.stepsMaximum) steps", found: "more")
      }
      take(happening)
      if let violation = tally.violation { return ["\(at): violated: \(violation.rule)"] }
    }
    stage.now = end
    stage.registers = tally.registers
    return tally.summary(of: stage)
  }

  /// Applies the rules to what was already open when the run began.
  private mutating func resume(_ index: Int) {
    if let request = stage.clients[index].body.status.outstanding {
      schedule(request, of: index)
    }
    if let armed = stage.clients[index].armed { schedule(armed, of: index) }
    if let id = stage.clients[index].writing?.id {
      agenda.add(.write(client: index, id), at: stage.now + stage.writeLatency)
    }
  }

  private mutating func take(_ happening: Happening) {
    switch happening {
    case .answer(let index, let id, let reply): answer(index, id, reply)
    case .timer(let index, let id):
      guard stage.clients[index].armed?.timer == id else { return }  // It was disarmed.
      put(.fired(id), into: index)
    case .write(let index, let id):
      put(stage.writesFail ? .writeFailed(id) : .written(id), into: index)
    case .habit(let index, let turn):
      let signal: AppSignal
      switch stage.habits[index].habit {
      case .signal(let said): signal = said
      case .toggled: signal = turn % 2 == 0 ? .backgrounded : .foregrounded
      }
      for client in stage.clients.indices { put(.app(signal), into: client) }
      agenda.add(.habit(index, turn: turn + 1), at: stage.now + stage.habits[index].period)
    }
  }

  private mutating func answer(_ index: Int, _ id: RequestID, _ reply: ServerRules.Reply) {
    switch reply {
    case .holds: return
    case .snapshot(let isComplete):
      stage.logCount += 1
      let finger = QueueFinger(queue: QueueID("s\(stage.logCount)"), lastEventID: -1)
      put(
        .snapshotArrived(id, (), finger: finger, terms: stage.terms, isComplete: isComplete),
        into: index)
    case .event(let isComplete):
      let next = stage.clients[index].body.finger.map { $0.lastEventID &+ 1 }
      put(.batchArrived(id, ScenarioBatch(to: next, isComplete: isComplete)), into: index)
    case .nothing(let isComplete):
      put(.batchArrived(id, ScenarioBatch(to: nil, isComplete: isComplete)), into: index)
    case .failed(let failure): put(.failed(id, failure, hasLeft: true), into: index)
    }
  }

  private mutating func put(_ input: Client.Body.Input, into index: Int) {
    let outcome = stage.clients[index].handle(input, at: stage.now)
    tally.note(outcome, of: index, stage.clients[index].body, at: stage.now)
    if let request = outcome.request { schedule(request, of: index) }
    if let timer = outcome.timer { schedule(timer, of: index) }
    if let write = outcome.write {
      agenda.add(.write(client: index, write), at: stage.now + stage.writeLatency)
    }
  }

  // MARK: Future events

  private mutating func schedule(_ arm: TimerArm, of index: Int) {
    let earliest = max(arm.range.earliest, stage.now).milliseconds
    let range = earliest...max(arm.range.latest.milliseconds, earliest)
    let drawn = Moment(milliseconds: stage.choices.draw(.timers, in: range))
    agenda.add(.timer(client: index, arm.timer), at: drawn)
  }

  private mutating func schedule(_ request: Outstanding, of index: Int) {
    let rule: ServerRules.Rule
    var turn: Int
    if stage.clients[index].body.finger == nil {
      rule = stage.rules.register
      turn = stage.clients[index].turns.register
      stage.clients[index].turns.register += 1
    } else if request.waits, !stage.rules.pollsShareList {
      rule = stage.rules.waiting
      turn = stage.clients[index].turns.waiting
      stage.clients[index].turns.waiting += 1
    } else {
      rule = stage.rules.quick
      turn = stage.clients[index].turns.quick
      stage.clients[index].turns.quick += 1
    }
    if stage.rules.isShared, request.waits { endOtherWaits(than: index, latency: rule.latency) }
    var reply = rule.reply(turn)
    if case .holds = reply { return }
    if case .snapshot = reply, let rate = stage.rules.snapshotsASecond {
      let isFree = snapshots.trySpending(
        at: stage.now, burst: rate - 1, interval: .milliseconds(1000 / rate))
      if !isFree { reply = .failed(.serverFault) }
    }
    agenda.add(
      .answer(client: index, request.id, reply), at: max(stage.now, request.sent + rule.latency))
  }

  /// A log has one reader at a time, the latest. The previous one gets an empty answer.
  private mutating func endOtherWaits(than index: Int, latency: TimeSpan) {
    for other in stage.clients.indices where other != index {
      guard let request = stage.clients[other].body.status.outstanding, request.waits else {
        continue
      }
      agenda.add(
        .answer(client: other, request.id, .nothing(isComplete: true)), at: stage.now + latency)
    }
  }
}
