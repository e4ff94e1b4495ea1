internal import SyncProtocols
internal import UpdateMachine

// What the world as a whole owes: every client becomes up to date again.

extension World {
  func isLevel(_ client: Int) -> Bool {
    let device = clients[client]
    guard device.isRunning, now >= device.asleepUntil else { return false }
    return isLevel(client, device.held)
  }

  private func isLevel(_ client: Int, _ held: borrowing Client.Held) -> Bool {
    checker.isLevel(client, held.body, server, at: now)
      && (!App.User.acts || clients[client].user.isLevel(held.body, with: server.truth))
  }

  var isEverybodyLevel: Bool {
    for client in clients.indices where !isLevel(client) {
      if !clients[client].isLostForEver { return false }
    }
    return true
  }

  /// Whether a client is not up to date, or still has doubts from its last look.
  private func isOwing(_ client: Int) -> Bool {
    guard isLevel(client), case .looking = phase else { return !isLevel(client) }
    return clients[client].body.model.map { !clients[client].user.hasSettled($0) } ?? true
  }

  /// Reports a client that is not up to date although the faults stopped long ago.
  mutating func reportUnconverged(bound: TimeSpan) {
    guard let client = clients.indices.first(where: { isOwing($0) && !clients[$0].isLostForEver })
    else { return }
    let body = clients[client].body
    let model = body.model.map(App.describe) ?? "no model"
    checker.report(
      .liveness, client, now,
      "live and up to date with \(App.describe(server.truth)) within \(bound)",
      clients[client].isRunning
        ? "\(body), \(body.freshness(at: now).claim), \(model) "
          + clients[client].user.words(body) : "no process")
  }

  mutating func noteTrace(
    _ client: Int, _ input: Client.Body.Input?, _ effects: Client.Body.Effects
  ) {
    effects.heard.each { noteHeard(client, $0) }
    var line = input.map { "\($0)" } ?? "so"
    // An input that the machine does not hear changes no status.
    if !effects.heard.isEmpty { line += " → \(clients[client].body.status)" }
    for (index, text) in effects.texts(at: now).enumerated() {
      line += (index == 0 ? ": " : ", ") + text
    }
    note(
      who(client), line, about: client,
      state: .status(clients[client].body.status.code), isSeam: isSeam(client, input))
    drawPending(of: client)
  }

  /// Whether a client has just taken a snapshot.
  private func isSeam(_ client: Int, _ input: Client.Body.Input?) -> Bool {
    guard case .snapshotArrived(let id, _, _, _, _) = input else { return false }
    return !clients[client].body.machine.isCurrent(id) && clients[client].body.status.isLive
  }

  /// Notes the end of a step.
  mutating func noteStep(_ name: String) {
    noteBreach()
    drawLogs()
    trace?.noteStep(name, choices: Int64(choices.record.count))
  }

  /// A name for a step, for those without visible events.
  func name(of step: Step) -> String {
    switch step {
    case .requestArrives(let index): "a request of \(who(exchanges[index].client)) arrives"
    case .snapshotIsReady(let index, _): "the snapshot for \(who(exchanges[index].client)) is ready"
    case .answerArrives(let index): "an answer to \(who(exchanges[index].client)) arrives"
    case .releaseArrives: "a release arrives"
    case .timerFires(let client, _, _): "a timer of \(who(client)) fires"
    case .sleepEnds(let client, _, _): "a sleep of \(who(client)) ends"
    case .writeEnds(let client, _, _, _): "a write of \(who(client)) ends"
    case .serverIsDue: "the server looks at its queues"
    case .workload: "something happens at the server"
    case .disturbance: "a disturbance"
    case .isErased(let client, _): "the disk of \(who(client)) is erased"
    case .rowsAreRead(let client, _): "rows of \(who(client)) are read"
    case .userActs(let client, _): "the user of \(who(client)) acts"
    case .fetches(let client, _, _): "something about the pages of \(who(client))"
    case .pushes(let client, _, _): "something about the pushes of \(who(client))"
    case .happens(let client, _): "something happens to \(who(client))"
    case .serverRecovers: "the server is back"
    case .serverIsSupportedAgain: "the server is supported again"
    case .judgement: "the bound is over"
    }
  }

  /// Notes whether the server has just broken its contract.
  mutating func noteBreach() {
    guard let plant = configuration.plant, trace?.noteBreaches(server.breachCount) == true else {
      return
    }
    note("plant", "the server broke its contract: \(plant.name)")
  }
}
