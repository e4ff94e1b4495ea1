internal import SyncProtocols
internal import UpdateMachine

/// The counts of a run.
struct RunTally {
  private(set) var violation: Violation?
  /// When each register was sent, including those before the run, in ascending order.
  private(set) var registers: [Moment]
  /// As of which moment each client was up to date when the run began.
  private var levelBefore: [Moment?]
  /// When each client first became connected through an answer of this run, in ascending order.
  private var levels: [Moment] = []
  private var isLevel: [Bool]
  private let begin: Moment

  init(clients: [Client], registers: [Moment], at now: Moment) {
    self.registers = registers
    levelBefore = clients.map { $0.body.freshness(at: now).upToDateAsOf }
    isLevel = [Bool](repeating: false, count: clients.count)
    begin = now
  }

  mutating func note(
    _ outcome: Client.Outcome, of index: Int, _ client: Client.Body, at now: Moment
  ) {
    for _ in 0..<outcome.registers { registers.append(now) }
    if !isLevel[index] {
      let freshness = client.freshness(at: now)
      if freshness.claim == .connected, freshness.upToDateAsOf != levelBefore[index] {
        isLevel[index] = true
        levels.append(now)
      }
    }
    if violation == nil { violation = client.violation() }
  }

  func summary(of stage: Stage) -> [String] {
    func count(_ number: Int, _ noun: String) -> String {
      "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
    let requests = stage.clients.reduce(0) { $0 + $1.requestCount }
    var lines = ["\(count(requests, "request")) so far, \(count(registers.count, "register"))"]
    if stage.clients.count == 1 {
      if let level = levels.first {
        lines.append("up to date after \(level - begin)")
      } else {
        lines.append("never up to date")
      }
      lines.append(
        "\(Stage.line(stage.clients[0].body, at: stage.now)), finger "
          + (stage.clients[0].body.finger?.description ?? "none"))
      return lines
    }
    if !registers.isEmpty {
      lines.append("\(worstWindow(of: .milliseconds(100))) registers in the worst 0.1 s")
    }
    var level = "\(levels.count) up to date"
    if levels.count == stage.clients.count {
      level += ": half after \(part(50)), 99 % after \(part(99)), all after \(part(100))"
    }
    lines.append(level)
    return lines + stage.statusCounts
  }

  private func part(_ percent: Int) -> TimeSpan {
    levels[max(0, (levels.count * percent + 99) / 100 - 1)] - begin
  }

  /// The most registers in any window of this length.
  private func worstWindow(of span: TimeSpan) -> Int {
    var worst = 0
    var first = 0
    for last in registers.indices {
      while registers[last] - registers[first] >= span { first += 1 }
      worst = max(worst, last - first + 1)
    }
    return worst
  }
}
