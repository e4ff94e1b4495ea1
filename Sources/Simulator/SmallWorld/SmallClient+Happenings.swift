internal import SyncProtocols
internal import UpdateMachine

/// One thing that can happen to one client of a small world.
enum SmallHappening: Equatable, Sendable {
  case begins
  case crashes(hasWritten: Bool)
  case fallsAsleep
  case wakes
  case loads(age: TimeSpan?)
  case started(foreground: Bool)
  case stopped
  case loggedOut
  case foregrounded
  case backgrounded
  case networkChanged
  case retryRequested
  case credentialsChanged
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
  /// Something late, repeated or foreign came.
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
    case .started(let foreground): foreground ? "started" : "started in the background"
    case .stopped: "stopped"
    case .loggedOut: "logged out"
    case .foregrounded: "foregrounded"
    case .backgrounded: "backgrounded"
    case .networkChanged: "the network changes"
    case .retryRequested: "the user asks to try now"
    case .credentialsChanged: "the credentials change"
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
    case .lateAnswer: "an answer comes late"
    }
  }
}

extension SmallClient {
  /// Visits everything that can happen to it now, with what becomes of it.
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
    if write != nil { happens(.crashes(hasWritten: true)) { $0.crash(hasWritten: true) } }
    guard !isAsleep else { return happens(.wakes) { $0.isAsleep = false } }
    happens(.fallsAsleep) { $0.isAsleep = true }
    if !body.isLoaded {
      for age in ages { happens(.loads(age: age)) { $0.load(age: age) } }
    }
    forEachSignal(happens)
    forEachEnd(happens)
    if let broken = lateAnswer() {
      happens(.lateAnswer) { $0.broken = broken }
    }
  }

  typealias Happens = (SmallHappening, (inout SmallClient) -> Void) -> Void

  /// What happens between client and server, whether or not the device sleeps.
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
    happens(.started(foreground: true)) { $0.feed(.started(foreground: true)) }
    happens(.started(foreground: false)) { $0.feed(.started(foreground: false)) }
    happens(.stopped) { $0.feed(.stopped) }
    happens(.loggedOut) { $0.feed(.loggedOut) }
    happens(.foregrounded) { $0.feed(.foregrounded) }
    happens(.backgrounded) { $0.feed(.backgrounded) }
    happens(.networkChanged) { $0.feed(.networkChanged) }
    happens(.retryRequested) { $0.feed(.retryRequested) }
    happens(.credentialsChanged) { $0.feed(.credentialsChanged) }
  }

  /// What ends something that the machine has begun.
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
        happens(.failure(failure)) { $0.feed(.failed(request, failure), endsRequest: true) }
      }
    }
    if let timer, timer.earliest.milliseconds <= 0 {
      happens(.timerFires) { $0.fire() }
    }
    if write != nil {
      happens(.writeEnds) { $0.endWrite(succeeds: true) }
      happens(.writeFails) { $0.endWrite(succeeds: false) }
    }
  }

  private static let failures: [SyncFailure] = [
    .unreachable, .timedOut, .serverFault, .rateLimited(after: .milliseconds(2)), .unauthorized,
    .unsupported, .expired, .rejected(.none), .malformed,
  ]

  // MARK: The process

  mutating func begin() {
    body = Body(life: SmallClient.life, settings: body.machine.settings)
    isRunning = true
  }

  /// What was in memory is gone; what the server holds is then seen from what is on the disk.
  private mutating func crash(hasWritten: Bool) {
    if hasWritten, case .becomes(let written)? = write { disk = written }
    if case .followed(let lag) = disk {
      behind += lag
      disk = .followed(lag: 0)
    } else {
      behind = 0
      isQueueAlive = false
    }
    body = Body(life: SmallClient.life, settings: body.machine.settings)
    isRunning = false
    isAsleep = false
    exchange = .none
    write = nil
    timer = nil
  }

  mutating func load(age: TimeSpan?) {
    let queue: QueueID
    switch disk {
    case .nothing: return feed(.loaded(nil, age: nil))
    case .followed: queue = .followed
    case .orphan: queue = .orphan
    }
    let finger = QueueFinger(queue: queue, lastEventID: 0)
    let saved = SavedReplica(
      model: SmallModel(position: 0), finger: finger, terms: SmallWorld.terms)
    hasWrongAge = age != nil
    feed(.loaded(saved, age: age), prospect: Prospect(finger: finger, position: 0))
  }

  mutating func fire() {
    timer = nil
    feed(.fired(TimerID(8)))
  }

  mutating func endWrite(succeeds: Bool) {
    if succeeds, case .becomes(let written)? = write { disk = written }
    if !succeeds, write == .becomes(.nothing) { disk = .nothing }  // An erase needs no disk space.
    write = nil
    feed(succeeds ? .written(WriteID(8)) : .writeFailed(WriteID(8)))
  }

  // MARK: The server

  private mutating func expireQueue() {
    isQueueAlive = false
    if case .snapshot(let behind, true) = exchange {
      exchange = .snapshot(behind: behind, isQueueAlive: false)
    }
    if exchange == .waiting { exchange = .batch(0) }
  }

  /// Whether the server holds a queue that it may yet hear of.
  private var hasQueue: Bool { isQueueAlive || exchange.bringsQueue }

  /// The request is with the server, which answers it or lets it wait.
  mutating func arrive() {
    guard body.finger != nil else {
      exchange = .snapshot(behind: 0, isQueueAlive: true)
      sinceNoted = .zero
      return
    }
    let waits = body.status.outstanding?.waits ?? false
    exchange = !isQueueAlive ? .expired : behind > 0 || !waits ? .batch(behind) : .waiting
    // One that has overslept cannot know how late its question came there.
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

  /// How many events the server has to hold for it.
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
    case .expired: feed(.failed(request, .expired), endsRequest: true)
    case .heartbeat:
      let batch = QueueBatch<SmallEvent>(events: [QueuedEvent(id: 1, event: nil)])
      let finger = QueueFinger(queue: .followed, lastEventID: 1)
      feedTwice(.batchArrived(request, batch), prospect: Prospect(finger: finger, position: 0))
    case .batch(let last):
      // With what was given before: it must be ignored.
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
      // A position that no model has otherwise, and an event ID that no queue has.
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

  /// Answers to requests that nobody waits for any more, of this life and of another: what they
  /// break.
  private func lateAnswer() -> SmallRule? {
    // One that has overslept notes it at whatever comes first.
    guard body.isLoaded, !body.machine.isOverdue(at: SmallWorld.now) else { return nil }
    let stale = RequestID(life: SmallClient.life, number: 7)
    let foreign = RequestID(life: Life(0), number: 8)
    let batch = QueueBatch(events: [QueuedEvent(id: 1, event: SmallEvent(position: 1))])
    let snapshot = SmallSnapshot(position: 200)
    let finger = QueueFinger(queue: .brought, lastEventID: 5)
    for id in [stale, foreign] {
      guard absorbs(.failed(id, .expired)), absorbs(.batchArrived(id, batch)),
        absorbs(.snapshotArrived(id, snapshot, finger: finger, terms: SmallWorld.terms))
      else { return .absorbed }
    }
    guard absorbs(.fired(TimerID(7))), absorbs(.written(WriteID(7))),
      absorbs(.writeFailed(WriteID(7)))
    else { return .absorbed }
    return nil
  }
}
