internal import SyncProtocols
internal import UpdateMachine

// A small world's client after the faults, and its description.

extension SmallClient {
  /// Whether a timer must fire before any time passes.
  var mustAct: Bool {
    guard isRunning, !isAsleep, let timer else { return false }
    return timer.latest.milliseconds <= 0
  }

  /// Whether the client is live and up to date: it waits at the server, the server has nothing new,
  /// and the client says that it is connected.
  var isSettled: Bool {
    isRunning && !isAsleep && exchange == .waiting && behind == 0
      && body.freshness(at: Moment(milliseconds: 0)).claim == .connected
  }

  /// Whether the client is up to date, its last poll has failed, and a timer will begin the next.
  var isBetweenPolls: Bool {
    isRunning && !isAsleep && exchange == .none && isQueueAlive && behind == 0
      && body.status == .pollFailed && timer != nil
  }

  /// The event that happens at once; `nil` if the client waits for time to pass.
  var calmHappening: (SmallHappening, SmallClient)? {
    guard isRunning else { return after(.begins) { $0.begin() } }
    guard !isAsleep else { return after(.wakes) { $0.isAsleep = false } }
    if let said = userHappening { return said }
    if operation == .load { return after(.loads(age: nil)) { $0.load(age: nil) } }
    switch exchange {
    case .none, .waiting: break
    case .requested: return after(.requestArrives) { $0.arrive() }
    case .batch, .heartbeat, .expired, .snapshot: return after(.answerArrives) { $0.takeAnswer() }
    }
    switch operation {
    case .save: return after(.writeEnds) { $0.endWrite(succeeds: true) }
    case .erase: return after(.eraseEnds) { $0.endErasure(succeeds: true) }
    case .load, nil: break
    }
    if mustAct { return after(.timerFires) { $0.fire() } }
    return nil
  }

  /// The client after its timer has fired; `nil`: it cannot fire yet.
  var afterTimer: SmallClient? {
    guard let timer, timer.earliest <= SmallWorld.now else { return nil }
    return after(.timerFires) { $0.fire() }.1
  }

  /// The next action of a user who wants the app up to date, if that action changes anything.
  private var userHappening: (SmallHappening, SmallClient)? {
    let machine = body.machine
    if !machine.isInForeground {
      return after(.signal(.foregrounded)) { $0.feed(.app(.foregrounded)) }
    }
    var said: (SmallHappening, SmallClient)?
    switch machine.status {
    case .stale, .idle, .halted(.stopped):
      said = after(.signal(.started(foreground: true))) {
        $0.feed(.app(.started(foreground: true)))
      }
    case .halted(.credentials):
      said = after(.signal(.credentialsChanged)) { $0.feed(.app(.credentialsChanged)) }
    case .halted(.unsupported):
      said = after(.signal(.retryRequested)) { $0.feed(.app(.retryRequested)) }
    case .registering, .registerFailed, .live, .pollFailed: return nil
    }
    guard let (happening, next) = said else { return nil }
    // During a load, a start is only remembered; a retry may have to wait until it is paid for.
    let changes =
      next.body.status != body.status || next.body.isStartPending != body.isStartPending
      || next.operation != operation
    return changes ? (happening, next) : nil
  }

  private func after(
    _ happening: SmallHappening, _ change: (inout SmallClient) -> Void
  ) -> (SmallHappening, SmallClient) {
    var copy = self
    change(&copy)
    return (happening, copy)
  }
}

extension SmallClient: CustomStringConvertible {
  /// The client on one line.
  var description: String {
    guard broken == nil else { return "broken" }
    guard isRunning else { return "no process, \(server), disk \(diskText)" }
    var text = "\(body.status)"
    if !body.isLoaded { text += " not loaded" }
    if isAsleep { text += " asleep" }
    if !body.machine.isInForeground { text += " background" }
    text += ", \(body.freshness(at: Moment(milliseconds: 0)).claim), \(server), \(exchange)"
    if let timer {
      text += ", timer \(timer.earliest)…\(timer.latest)"
    }
    text += ", disk \(diskText)"
    switch operation {
    case .load: text += ", reading"
    case .save: text += ", writing"
    case .erase: text += ", erasing"
    case nil: break
    }
    return text
  }

  private var server: String {
    isQueueAlive ? "\(behind) behind" : body.finger == nil ? "no queue" : "queue lost"
  }

  private var diskText: String {
    switch disk {
    case .nothing: "empty"
    case .orphan: "of an old queue"
    case .followed(0): "up to date"
    case .followed(let lag): "\(lag) behind"
    }
  }
}

extension SmallClient.Exchange: CustomStringConvertible {
  var description: String {
    switch self {
    case .none: "nothing under way"
    case .requested: "request under way"
    case .waiting: "waiting"
    case .batch(let last): "\(last) events under way"
    case .heartbeat: "heartbeat under way"
    case .expired: "expired under way"
    case .snapshot(let behind, let isAlive):
      "snapshot under way, \(isAlive ? "\(behind) behind" : "queue lost")"
    }
  }
}
