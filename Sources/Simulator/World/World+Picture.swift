internal import SyncProtocols
internal import UpdateMachine

// What a traced run tells its diagram: messages, logs, pending changes. It changes nothing else.

extension World {
  private var serverLane: Int { clients.count }

  /// A message leaves a client, or the server.
  mutating func drawDeparture(
    _ kind: SpaceTime.Key.Kind, _ client: Int, _ number: UInt64, _ text: @autoclosure () -> String
  ) {
    guard isTraced else { return }
    let isUp: Bool
    switch kind {
    case .request, .push, .page: isUp = true
    case .answer, .pushAnswer, .pageAnswer: isUp = false
    }
    let (from, to) = isUp ? (client, serverLane) : (serverLane, client)
    trace?.drawing.send(
      SpaceTime.Key(kind, client, number), from: from, to: to, text(), at: now)
  }

  mutating func drawArrival(_ kind: SpaceTime.Key.Kind, _ client: Int, _ number: UInt64) {
    trace?.drawing.arrive(SpaceTime.Key(kind, client, number), at: now)
  }

  mutating func drawLoss(_ kind: SpaceTime.Key.Kind, _ client: Int, _ number: UInt64) {
    trace?.drawing.lose(SpaceTime.Key(kind, client, number), at: now)
  }

  /// Something at the server that no line of the conversation says.
  mutating func drawAtServer(_ text: String) {
    let lane = serverLane
    trace?.drawing.mark(now, lane, text)
  }

  /// The logs that can be followed, with what they retain.
  mutating func drawLogs() {
    guard isTraced else { return }
    let (logs, lane) = (server.toldLogs, serverLane)
    trace?.drawing.hold(logs, lane: lane, at: now)
  }

  /// A client's pending changes, with their stages.
  mutating func drawPending(of client: Int) {
    guard isTraced, World.isChanging else { return }
    let changes = clients[client].body.pending.map { change in
      (name: "\(change.ticket)", text: "\(change.change.name), \(World.words(change.stage))")
    }
    trace?.drawing.hold(changes, lane: client, at: now)
  }

  private static func words(_ stage: PendingMutation<App.Model.Change>.Stage) -> String {
    switch stage {
    case .unsent: "not sent"
    case .marked: "about to leave"
    case .sent: "sent"
    case .accepted: "accepted"
    case .uncertain: "uncertain"
    }
  }

  static func words(_ kind: Exchange<App>.Kind) -> String {
    switch kind {
    case .register: "register"
    case .poll(let finger, let waits): "poll from \(finger)" + (waits ? "" : ", quick")
    }
  }

  static func words(_ outcome: Exchange<App>.Outcome) -> String {
    switch outcome {
    case .failed(let failure): return "\(failure)"
    case .reply(let reply):
      if let failure = reply.failure() { return "\(failure)" }
      switch reply {
      case .registered(_, let finger, _): return "snapshot, finger \(finger)"
      case .batch(let batch): return "\(batch.count) event\(batch.count == 1 ? "" : "s")"
      case .released: return "released"
      case .refused: return "refused"
      }
    }
  }
}
