internal import SyncProtocols
internal import UpdateMachine

/// One event that can happen to a client in a small world.
enum SmallHappening: Equatable, Sendable {
  case begins
  case crashes(hasWritten: Bool)
  case fallsAsleep
  case wakes
  case loads(age: TimeSpan?)
  case loadFails(StoreFailure)
  case signal(AppSignal)
  case requestArrives
  case answerArrives
  case answerIsRefused
  case heartbeat
  case interruption
  case loss
  case expiry
  case failure(SyncFailure)
  case timerFires
  case writeEnds
  case writeFails
  case eraseEnds
  case eraseFails
  /// A late, repeated or foreign answer arrives.
  case lateAnswer
}

extension SmallHappening: CustomStringConvertible {
  var description: String {
    switch self {
    case .begins: "its process begins"
    case .crashes(let hasWritten):
      "it crashes" + (hasWritten ? ", and what it was writing is written" : "")
    case .fallsAsleep: "its device falls asleep"
    case .wakes: "its device wakes"
    case .loads(nil): "the saved form is read, of unknown age"
    case .loads(let age?): "the saved form is read, \(age) old"
    case .loadFails(let failure): "the saved form cannot be read: \(failure)"
    case .signal(let signal): words(for: signal)
    case .requestArrives: "the request reaches the server"
    case .answerArrives: "the answer arrives"
    case .answerIsRefused: "the answer arrives, and the model refuses it"
    case .heartbeat: "the server sends a heartbeat"
    case .interruption: "somebody else polls the queue"
    case .loss: "the request, or its answer, is lost"
    case .expiry: "the server loses the queue"
    case .failure(let failure): "the request fails: \(failure)"
    case .timerFires: "the timer fires"
    case .writeEnds: "the write ends"
    case .writeFails: "the write fails"
    case .eraseEnds: "the saved form is erased"
    case .eraseFails: "the saved form cannot be erased"
    case .lateAnswer: "an answer comes late"
    }
  }

  private func words(for signal: AppSignal) -> String {
    switch signal {
    case .started(foreground: true): "started"
    case .started(foreground: false): "started in the background"
    case .stopped: "stopped"
    case .loggedOut: "logged out"
    case .foregrounded: "foregrounded"
    case .backgrounded: "backgrounded"
    case .networkChanged: "the network changes"
    case .retryRequested: "the user asks to try now"
    case .credentialsChanged: "the credentials change"
    }
  }
}

extension SmallClient {
  /// Visits every event that can happen to the client now, with the client that follows it.
  func forEachHappening(
    _ ages: [TimeSpan?], _ visit: (SmallHappening, SmallClient) -> Void
  ) {
    func happens(_ happening: SmallHappening, _ change: (inout SmallClient) -> Void) {
      var copy = self
      change(&copy)
      visit(happening, copy)
    }
    if hasQueue { happens(.expiry) { $0.expireQueue() } }
    guard isRunning else { return happens(.begins) { $0.begin() } }
    forEachOnTheWay(happens)
    happens(.crashes(hasWritten: false)) { $0.crash(hasWritten: false) }
    switch operation {
    case .save, .erase: happens(.crashes(hasWritten: true)) { $0.crash(hasWritten: true) }
    case .load, nil: break
    }
    guard !isAsleep else { return happens(.wakes) { $0.isAsleep = false } }
    happens(.fallsAsleep) { $0.isAsleep = true }
    forEachSignal(happens)
    forEachEnd(happens)
    forEachAnswerOfStore(ages, happens)
    if let broken = lateAnswer() {
      happens(.lateAnswer) { $0.broken = broken }
    }
  }

  typealias Happens = (SmallHappening, (inout SmallClient) -> Void) -> Void

  /// The events between client and server, whether or not the device sleeps.
  private func forEachOnTheWay(_ happens: Happens) {
    switch exchange {
    case .none: return
    case .requested: happens(.requestArrives) { $0.arrive() }
    case .waiting:
      happens(.heartbeat) { $0.exchange = .heartbeat }
      happens(.interruption) { $0.exchange = .batch(0) }
    case .batch, .heartbeat, .expired, .snapshot: break
    }
    happens(.loss) { $0.exchange = .none }
  }

  private func forEachSignal(_ happens: Happens) {
    for signal in SmallClient.signals { happens(.signal(signal)) { $0.feed(.app(signal)) } }
  }

  private static let signals: [AppSignal] = [
    .started(foreground: true), .started(foreground: false), .stopped, .loggedOut, .foregrounded,
    .backgrounded, .networkChanged, .retryRequested, .credentialsChanged,
  ]

  /// The events that end a request or a wait.
  private func forEachEnd(_ happens: Happens) {
    switch exchange {
    case .none, .requested, .waiting: break
    case .batch(0), .heartbeat, .expired: happens(.answerArrives) { $0.takeAnswer() }
    case .batch, .snapshot:
      happens(.answerArrives) { $0.takeAnswer() }
      happens(.answerIsRefused) { $0.takeAnswer(isReadable: false) }
    }
    if let request = body.status.outstanding?.id {
      for failure in SmallClient.failures where failure != .expired || body.finger == nil {
        happens(.failure(failure)) {
          $0.feed(.failed(request, failure, hasLeft: true), endsRequest: true)
        }
      }
    }
    if let timer, timer.earliest.milliseconds <= 0 {
      happens(.timerFires) { $0.fire() }
    }
  }

  private func forEachAnswerOfStore(_ ages: [TimeSpan?], _ happens: Happens) {
    switch operation {
    case .load:
      for age in ages { happens(.loads(age: age)) { $0.load(age: age) } }
      for failure in SmallClient.storeFailures {
        happens(.loadFails(failure)) { $0.failToLoad(failure) }
      }
    case .save:
      happens(.writeEnds) { $0.endWrite(succeeds: true) }
      happens(.writeFails) { $0.endWrite(succeeds: false) }
    case .erase:
      happens(.eraseEnds) { $0.endErasure(succeeds: true) }
      happens(.eraseFails) { $0.endErasure(succeeds: false) }
    case nil: return
    }
  }

  private static let storeFailures: [StoreFailure] = [.failed, .unreadable, .cutShort]

  private static let failures: [SyncFailure] = [
    .unreachable, .timedOut, .serverFault, .rateLimited(after: .milliseconds(2)), .unauthorized,
    .unsupported, .expired, .rejected(.none), .malformed,
  ]

  // MARK: The process

  mutating func begin() {
    body = SmallClient.newBody(body.machine.settings)
    isRunning = true
  }

  /// The process loses its memory. From then on the server's queue is measured relative to what is
  /// on the disk.
  private mutating func crash(hasWritten: Bool) {
    if hasWritten {
      switch operation {
      case .save(let written): disk = written
      case .erase: disk = .nothing
      case .load, nil: break
      }
    }
    if case .followed(let lag) = disk {
      behind += lag
      disk = .followed(lag: 0)
    } else {
      behind = 0
      isQueueAlive = false
    }
    body = SmallClient.newBody(body.machine.settings)
    isRunning = false
    isAsleep = false
    exchange = .none
    operation = nil
    timer = nil
  }

  mutating func load(age: TimeSpan?) {
    operation = nil
    let queue: QueueID
    switch disk {
    case .nothing: return feed(.loaded(nil, age: nil))
    case .followed: queue = .followed
    case .orphan: queue = .orphan
    }
    let finger = QueueFinger(queue: queue, lastEventID: 0)
    let saved = SavedReplica(
      model: SmallModel(position: 0), finger: finger, terms: SmallWorld.terms)
    if !body.isLoaded { hasWrongAge = age != nil }
    feed(.loaded(saved, age: age), prospect: Prospect(finger: finger, position: 0))
  }

  mutating func fire() {
    timer = nil
    feed(.fired(lastTimer))
  }

  mutating func failToLoad(_ failure: StoreFailure) {
    operation = nil
    feed(.loadFailed(failure))
  }

  mutating func endWrite(succeeds: Bool) {
    if succeeds, case .save(let written) = operation { disk = written }
    operation = nil
    feed(succeeds ? .written(lastWrite) : .writeFailed(lastWrite))
  }

  mutating func endErasure(succeeds: Bool) {
    if succeeds { disk = .nothing }
    operation = nil
    feed(.erased(succeeded: succeeds))
  }

  // MARK: The server

  private mutating func expireQueue() {
    isQueueAlive = false
    if case .snapshot(let behind, true) = exchange {
      exchange = .snapshot(behind: behind, isQueueAlive: false)
    }
    if exchange == .waiting { exchange = .batch(0) }
  }

  /// Whether the server holds a queue that the client may still hear about.
  private var hasQueue: Bool { isQueueAlive || exchange.bringsQueue }

  /// The request reaches the server, which answers it or holds it open.
  mutating func arrive() {
    guard body.finger != nil else {
      exchange = .snapshot(behind: 0, isQueueAlive: true)
      sinceNoted = .zero
      return
    }
    let waits = body.status.outstanding?.waits ?? false
    exchange = !isQueueAlive ? .expired : behind > 0 || !waits ? .batch(behind) : .waiting
    // A client that has overslept cannot know how late its request arrived.
    if exchange == .waiting, !body.machine.isOverdue(at: SmallWorld.now) { sinceNoted = .zero }
  }

  /// A tick passes.
  mutating func tick() {
    sinceNoted = min(sinceNoted + .milliseconds(1), SmallWorld.terms.lifetime)
    if isRunning, !keepsWord() { broken = .freshness }
  }

  /// The server commits an event.
  mutating func hear() {
    if isQueueAlive { behind += 1 }
    if exchange == .waiting { exchange = .batch(behind) }
    if case .snapshot(let behind, true) = exchange {
      exchange = .snapshot(behind: behind + 1, isQueueAlive: true)
    }
  }

  /// The number of events that the server holds for the client.
  var held: Int64 {
    if case .snapshot(let behind, true) = exchange { return behind }
    guard isQueueAlive else { return 0 }
    if case .followed(let lag) = disk { return behind + lag }
    return behind
  }

  mutating func takeAnswer(isReadable: Bool = true) {
    guard let request = body.status.outstanding?.id else { return }
    switch exchange {
    case .none, .requested, .waiting: return
    case .expired: feed(.failed(request, .expired, hasLeft: true), endsRequest: true)
    case .heartbeat:
      let batch = QueueBatch<SmallEvent>(events: [QueuedEvent(id: 1, event: nil)])
      let finger = QueueFinger(queue: .followed, lastEventID: 1)
      feedTwice(.batchArrived(request, batch), prospect: Prospect(finger: finger, position: 0))
    case .batch(let last):
      // Includes an event that was given before, which must be ignored.
      var events = [QueuedEvent(id: 0, event: SmallEvent(position: 0))]
      for id in 0..<last {
        events.append(
          QueuedEvent(id: id + 1, event: SmallEvent(position: id + 1, isReadable: isReadable)))
      }
      let finger = QueueFinger(queue: .followed, lastEventID: last)
      feedTwice(
        .batchArrived(request, QueueBatch(events: events)),
        prospect: Prospect(finger: finger, position: last))
    case .snapshot(let behind, let isAlive):
      // No model reaches this position in any other way, and no queue has this event ID.
      let position: Int64 = 100
      let finger = QueueFinger(queue: .brought, lastEventID: -1)
      feedTwice(
        .snapshotArrived(
          request, SmallSnapshot(position: position, isReadable: isReadable), finger: finger,
          terms: SmallWorld.terms),
        prospect: Prospect(
          finger: finger, position: position, behind: behind, isQueueAlive: isAlive))
    }
  }

  /// Feeds answers that nobody awaits, from this process and from another. Returns the rule that
  /// they break, if any.
  private func lateAnswer() -> SmallRule? {
    // A client that has overslept notes that at the next input, whatever it is.
    guard body.isLoaded, !body.machine.isOverdue(at: SmallWorld.now) else { return nil }
    let stale = RequestID(incarnation: SmallClient.incarnation, number: 7)
    let foreign = RequestID(incarnation: Incarnation(0), number: 8)
    let batch = QueueBatch(events: [QueuedEvent(id: 1, event: SmallEvent(position: 1))])
    let snapshot = SmallSnapshot(position: 200)
    let finger = QueueFinger(queue: .brought, lastEventID: 5)
    for id in [stale, foreign] {
      guard absorbs(.failed(id, .expired, hasLeft: true)), absorbs(.batchArrived(id, batch)),
        absorbs(.snapshotArrived(id, snapshot, finger: finger, terms: SmallWorld.terms))
      else { return .absorbed }
    }
    guard absorbs(.fired(TimerID(7))), absorbs(.written(WriteID(7))),
      absorbs(.writeFailed(WriteID(7)))
    else { return .absorbed }
    return nil
  }
}
