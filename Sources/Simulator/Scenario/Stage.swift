internal import SyncProtocols
internal import UpdateMachine

/// The stage of a scenario: the clients, the time, and the rules of a run.
struct Stage {
  var now = Moment(milliseconds: 0)
  var terms = ServerTerms.unspoken
  var clients = [Client(settings: MachineSettings())]
  var rules = ServerRules()
  var writeLatency: TimeSpan = .zero
  var writesFail = false
  var habits: [(period: TimeSpan, habit: Directive.Habit)] = []
  var choices = Choices(seed: 1)
  /// When each register was sent.
  var registers: [Moment] = []
  /// The number of logs that a run's server has made. It names the next one.
  var logCount: Int64 = 0
  /// Whether something has happened. From then on the set of clients is fixed.
  private var hasBegun = false
  /// Whether a client was described. From then on its settings are fixed.
  private var isDescribed = false

  /// Performs one line; returns its output.
  mutating func perform(_ directive: Directive, line: Int) throws(ScenarioError) -> [String] {
    switch directive {
    case .machine(let settings):
      guard !hasBegun, !isDescribed else {
        throw ScenarioError(
          line: line, expected: "\"machine\" before restored, clients and inputs", found: "it later"
        )
      }
      isDescribed = true
      clients = [Client(settings: settings)]
    case .terms(let terms): self.terms = terms
    case .restored(let finger, let age):
      try requireBeginning(line, "\"restored\" before the first input")
      isDescribed = true
      let form = Client.Form(finger: finger, terms: terms, written: age.map { now - $0 })
      for index in clients.indices { clients[index].durable = form }
      return [clients[0].diskText]
    case .clients(let count, let shareFinger):
      try requireBeginning(line, "\"clients\" before the first input")
      isDescribed = true
      clients = Array(repeating: clients[0], count: count)
      rules.isShared = shareFinger
    case .step(let time, let step):
      hasBegun = true
      try move(to: time, line: line)
      return try take(step, line: line)
    case .server(let kind, let rule):
      rules.set(kind, rule)
      for index in clients.indices { clients[index].turns = (0, 0, 0) }
    case .capacity(let count): rules.snapshotsASecond = count
    case .writes(let latency, let fail):
      writeLatency = latency
      writesFail = fail
    case .habit(let period, let habit): habits.append((period, habit))
    case .seed(let seed): choices = Choices(seed: seed)
    case .run(let span):
      hasBegun = true
      var run = Run(self, until: now + span)
      let summary = try run.play(line: line)
      self = run.stage
      return summary
    }
    return []
  }

  private func requireBeginning(_ line: Int, _ expected: String) throws(ScenarioError) {
    if hasBegun { throw ScenarioError(line: line, expected: expected, found: "it later") }
  }

  private mutating func move(to time: Directive.Time, line: Int) throws(ScenarioError) {
    switch time {
    case .now: return
    case .after(let span): now = now + span
    case .at(let moment):
      guard moment >= now else {
        throw ScenarioError(
          line: line, expected: "a moment from \(now) on", found: "\(moment), which is over")
      }
      now = moment
    }
  }

  // MARK: Steps

  private mutating func take(
    _ step: Directive.Step, line: Int
  ) throws(ScenarioError) -> [String] {
    switch step {
    case .look: return looks
    case .backup:
      for index in clients.indices { clients[index].backup = clients[index].durable }
      return []
    case .restart(let fromBackup):
      for index in clients.indices { clients[index].restart(fromBackup: fromBackup) }
      return [clients[0].diskText]
    case .signal, .snapshotArrived, .polled, .failed, .fired, .written, .writeFailed: break
    }
    var texts: [String] = []
    for index in clients.indices {
      guard let input = try input(for: step, to: clients[index], line: line) else { continue }
      let outcome = clients[index].handle(input, at: now, withTexts: clients.count == 1)
      for _ in 0..<outcome.registers { registers.append(now) }
      texts = outcome.texts
      if let violation = clients[index].body.violation() {
        texts.append("violated: \(violation.rule)")
      }
    }
    guard clients.count == 1 else { return statusCounts }
    return [Stage.line(clients[0].body, at: now)] + texts
  }

  private var looks: [String] {
    guard clients.count == 1 else { return statusCounts }
    let body = clients[0].body
    var lines = [Stage.line(body, at: now)]
    if let next = body.freshness(at: now).nextAttempt { lines.append("next try by \(next)") }
    if let change = body.machine.freshnessChange(after: now) {
      lines.append(
        "at \(change): \(body.freshness(at: change)), if nothing happens")
    }
    return lines
  }

  /// A line like "50: live.polling · connected, as of 50".
  static func line(_ body: Client.Body, at now: Moment) -> String {
    "\(now): \(body.status) · \(body.freshness(at: now))"
  }

  /// The number of clients in each status, if there are several clients.
  var statusCounts: [String] {
    let names = MachineStatus.names
    var counts = names.map { _ in 0 }
    for client in clients { counts[client.body.status.code] += 1 }
    return counts.indices.filter { counts[$0] > 0 }.map { "\(now): \(counts[$0]) × \(names[$0])" }
  }

  /// The input of a step, if it has one.
  private func input(
    for step: Directive.Step, to client: Client, line: Int
  ) throws(ScenarioError) -> Client.Body.Input? {
    func missing(_ what: String) -> ScenarioError {
      ScenarioError(line: line, expected: "a number, for no \(what) is out", found: "none")
    }
    func request(_ id: Directive.ID?) throws(ScenarioError) -> RequestID {
      if let id {
        return RequestID(
          incarnation: id.incarnation ?? client.body.machine.incarnation, number: id.number)
      }
      guard let out = client.body.status.outstanding else { throw missing("request") }
      return out.id
    }
    switch step {
    case .look, .backup, .restart: return nil
    case .signal(let signal): return .app(signal)
    case .snapshotArrived(let id, let finger, let isComplete):
      return .snapshotArrived(
        try request(id), (), finger: finger, terms: terms, isComplete: isComplete)
    case .polled(let id, let lastEventID, let isComplete):
      return .batchArrived(
        try request(id), ScenarioBatch(to: lastEventID, isComplete: isComplete))
    case .failed(let id, let failure): return .failed(try request(id), failure, hasLeft: true)
    case .fired(let timer):
      guard let timer = timer ?? client.armed?.timer else { throw missing("timer") }
      return .fired(timer)
    case .written(let write):
      guard let write = write ?? client.writing?.id else { throw missing("write") }
      return .written(write)
    case .writeFailed(let write):
      guard let write = write ?? client.writing?.id else { throw missing("write") }
      return .writeFailed(write)
    }
  }
}
