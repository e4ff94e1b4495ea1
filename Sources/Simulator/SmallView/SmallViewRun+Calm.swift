internal import SyncProtocols
internal import UpdateMachine

// A small view after the faults, and its description.

extension SmallViewRun {
  /// Whether nothing is pending or set aside, and the client has everything the data layer has.
  var isSettled: Bool {
    guard isRunning, let outbox = body.local?.outbox, outbox.isEmpty else { return false }
    return body.finger?.lastMutation.number == dataLayer.count
      && body.freshness(at: SmallView.now).claim == .connected
  }

  /// The next event. Whatever can happen at once happens first; then the user retries what was
  /// refused; then time passes.
  var calmHappening: (SmallViewHappening, SmallViewRun) {
    guard isRunning else { return after(.begins) { $0.begin() } }
    switch operation {
    case .load: return after(.loads) { $0.load() }
    case .save: return after(.writeEnds) { $0.endWrite(succeeds: true) }
    case nil: break
    }
    if let said = calmWord { return said }
    if let push {
      if !push.hasLeft { return after(.pushLeaves) { $0.leave() } }
      if push.refused > 0 {
        return after(.answerArrives(refused: push.refused)) {
          $0.takeAnswer(refused: push.refused)
        }
      }
      guard push.isAccepted else {
        return after(.pushArrives(push.content, refusing: 0)) {
          $0.arrive(push.content, refusing: 0)
        }
      }
      return after(.answerArrives(refused: 0)) { $0.takeAnswer(refused: 0) }
    }
    if body.status.outstanding != nil {
      return after(.pulled(asOf: dataLayer.count)) { $0.take(asOf: dataLayer.count) }
    }
    for (index, timer) in timers.enumerated() {
      if let timer, timer <= SmallView.now { return after(.timerFires(index)) { $0.fire(index) } }
    }
    return after(.tick) { _ in }
  }

  /// The next action of a user who wants every change to be made.
  private var calmWord: (SmallViewHappening, SmallViewRun)? {
    let needsStart: Bool
    switch body.status {
    case .stale, .idle, .halted(.stopped): needsStart = true
    case .halted, .registering, .registerFailed, .live, .pollFailed: needsStart = false
    }
    if needsStart,
      !body.isLoaded || !body.machine.isInForeground || body.status.isHalted
        || body.finger == nil
    {
      let signal: AppSignal = .started(foreground: true)
      let said = after(.signal(signal)) { $0.feed(.app(signal)) }
      if said.1.changesMore(than: self) { return said }
    }
    if !body.machine.isInForeground {
      return after(.signal(.foregrounded)) { $0.feed(.app(.foregrounded)) }
    }
    guard let outbox = body.local?.outbox else { return nil }
    for number in 1...tickets where outbox.state(of: MutationTicket(number)) == .setAside {
      return after(.retries(number)) { $0.retry(number) }
    }
    return nil
  }

  private func changesMore(than other: SmallViewRun) -> Bool {
    body.status != other.body.status || body.isStartPending != other.body.isStartPending
      || operation != other.operation
  }

  private func after(
    _ happening: SmallViewHappening, _ change: (inout SmallViewRun) -> Void
  ) -> (SmallViewHappening, SmallViewRun) {
    var copy = self
    change(&copy)
    return (happening, copy)
  }
}

extension SmallViewRun: CustomStringConvertible {
  /// The state on one line.
  var description: String {
    guard broken == nil else { return "broken" }
    var text = isRunning ? "\(body.status)" : "no process"
    if isRunning, !body.isLoaded { text += " not loaded" }
    if isRunning, let local = body.local {
      text += ", view \(local.view.state[SmallList.key] ?? SmallList())"
      text += ", outbox \(local.outbox)"
      for pending in local.outbox.pending { text += ", \(pending)" }
    }
    if let finger = body.finger, isRunning { text += ", at \(finger)" }
    text += "; data layer \(dataLayer.list(asOf: dataLayer.count)) at \(dataLayer.count)"
    if let push {
      text += ", \(push.content)\(push.hasLeft ? " has left" : "")"
      if push.isAccepted { text += ", accepted" }
      if push.refused > 0 { text += ", refused \(push.refused)" }
    }
    for content in underWay { text += ", under way: \(content)" }
    if let disk { text += "; disk \(saved(disk).outbox.map { "\($0)" } ?? "")" }
    switch operation {
    case .load: text += ", reading"
    case .save: text += ", writing"
    case nil: break
    }
    return text
  }
}
