internal import SyncProtocols
internal import UpdateMachine

/// One event that can happen in a small view.
enum SmallViewHappening: Equatable, Sendable {
  case begins
  case crashes(hasWritten: Bool)
  case signal(AppSignal)
  case loads
  case loadFails(StoreFailure)
  case writeEnds
  case writeFails
  case mutates(UInt64)
  case retries(UInt64)
  case discards(UInt64)
  case pushLeaves
  /// `refusing` is the change that the data layer refuses, or 0 for none.
  case pushArrives(SmallPush, refusing: UInt64)
  /// The data layer accepts the push, and may run it later.
  case pushIsKept
  case answerArrives(refused: UInt64)
  case pushFails(SyncFailure, hasLeft: Bool)
  case pulled(asOf: UInt64)
  case pullFails(SyncFailure)
  case timerFires(Int)
  case tick
  case lateAnswer
}

extension SmallViewHappening: CustomStringConvertible {
  var description: String {
    switch self {
    case .begins: "its process begins"
    case .crashes(let hasWritten):
      "it crashes" + (hasWritten ? ", and what it was writing is written" : "")
    case .signal(let signal): "\(signal)"
    case .loads: "the saved form is read"
    case .loadFails(let failure): "the saved form cannot be read: \(failure)"
    case .writeEnds: "the write ends"
    case .writeFails: "the write fails"
    case .mutates(let number): "the user adds \(number)"
    case .retries(let number): "the user tries \(number) again"
    case .discards(let number): "the user gives \(number) up"
    case .pushLeaves: "the push leaves"
    case .pushArrives(let push, 0): "the data layer runs \(push)"
    case .pushArrives(let push, let number): "the data layer runs \(push), and refuses \(number)"
    case .pushIsKept: "the data layer says that it has the push"
    case .answerArrives(0): "the push is answered: accepted"
    case .answerArrives(let id): "the push is answered: \(id) is refused"
    case .pushFails(let failure, true): "the push fails: \(failure)"
    case .pushFails(let failure, false): "the push fails: \(failure), and never left"
    case .pulled(let count): "a pull is answered, as of mutation \(count)"
    case .pullFails(let failure): "a pull fails: \(failure)"
    case .timerFires(let index): "a timer fires: \(SmallViewRun.parts[index])"
    case .tick: "time passes"
    case .lateAnswer: "an answer comes late"
    }
  }
}

extension SmallViewRun {
  typealias Happens = (SmallViewHappening, (inout SmallViewRun) -> Void) -> Void

  /// Visits every event that can happen now, with the state that follows it.
  func forEachHappening(_ visit: (SmallViewHappening, SmallViewRun) -> Void) {
    func happens(_ happening: SmallViewHappening, _ change: (inout SmallViewRun) -> Void) {
      var copy = self
      change(&copy)
      visit(happening, copy)
    }
    forEachArrival(happens)
    guard isRunning else { return happens(.begins) { $0.begin() } }
    happens(.crashes(hasWritten: false)) { $0.crash(hasWritten: false) }
    if case .save = operation {
      happens(.crashes(hasWritten: true)) { $0.crash(hasWritten: true) }
    }
    forEachSignal(happens)
    forEachAnswerOfStore(happens)
    forEachWord(happens)
    forEachEndOfPush(happens)
    forEachEndOfPull(happens)
    forEachTimer(happens)
    if !absorbsWhatIsLate { happens(.lateAnswer) { $0.breaks(.absorbed) } }
  }

  private func forEachSignal(_ happens: Happens) {
    let all: [AppSignal] = [
      .started(foreground: true), .stopped, .backgrounded, .foregrounded, .networkChanged,
      .retryRequested,
    ]
    for signal in world.hasSignals ? all[...] : all[..<1] {
      happens(.signal(signal)) { $0.feed(.app(signal)) }
    }
  }

  private func forEachAnswerOfStore(_ happens: Happens) {
    switch operation {
    case .load:
      happens(.loads) { $0.load() }
      for failure in [.failed, .cutShort] as [StoreFailure] {
        happens(.loadFails(failure)) { $0.failToLoad(failure) }
      }
    case .save:
      happens(.writeEnds) { $0.endWrite(succeeds: true) }
      happens(.writeFails) { $0.endWrite(succeeds: false) }
    case nil: return
    }
  }

  /// What the user does.
  private func forEachWord(_ happens: Happens) {
    guard let outbox = body.local?.outbox else { return }
    let next = outbox.newestTicket.number + 1
    if next <= tickets { happens(.mutates(next)) { $0.mutate(next) } }
    for number in 1...tickets where outbox.state(of: MutationTicket(number)) == .setAside {
      happens(.retries(number)) { $0.retry(number) }
      happens(.discards(number)) { $0.discard(number) }
    }
  }

  // MARK: Pushes

  private func forEachArrival(_ happens: Happens) {
    for content in underWay { forEachRun(of: content, happens) }
    guard isRunning, let push, push.hasLeft else { return }
    if !underWay.contains(push.content) { forEachRun(of: push.content, happens) }
    if !push.isAccepted { happens(.pushIsKept) { $0.push?.isAccepted = true } }
  }

  private func forEachRun(of content: SmallPush, _ happens: Happens) {
    happens(.pushArrives(content, refusing: 0)) { $0.arrive(content, refusing: 0) }
    guard refusalsLeft > 0 else { return }
    for number in 1...3 as ClosedRange<UInt64> where content.id(of: number) > 0 {
      happens(.pushArrives(content, refusing: number)) { $0.arrive(content, refusing: number) }
    }
  }

  private func forEachEndOfPush(_ happens: Happens) {
    guard let push else { return }
    if !push.hasLeft { happens(.pushLeaves) { $0.leave() } }
    if push.isAccepted { happens(.answerArrives(refused: 0)) { $0.takeAnswer(refused: 0) } }
    if push.refused > 0 {
      happens(.answerArrives(refused: push.refused)) { $0.takeAnswer(refused: push.refused) }
    }
    for hasLeft in [true, false] where hasLeft || !push.hasLeft {
      happens(.pushFails(.unreachable, hasLeft: hasLeft)) {
        $0.failPush(.unreachable, hasLeft: hasLeft)
      }
    }
    if push.hasLeft, refusalsLeft > 0 {
      happens(.pushFails(.rejected(.none), hasLeft: true)) {
        $0.refusalsLeft -= 1
        $0.failPush(.rejected(.none), hasLeft: true)
      }
    }
  }

  private func forEachEndOfPull(_ happens: Happens) {
    guard body.status.outstanding != nil else { return }
    for count in 0...dataLayer.count { happens(.pulled(asOf: count)) { $0.take(asOf: count) } }
    for failure in [.unreachable, .malformed] as [SyncFailure] {
      happens(.pullFails(failure)) { $0.failPull(failure) }
    }
  }

  private func forEachTimer(_ happens: Happens) {
    var mayTick = true
    for (index, timer) in timers.enumerated() {
      guard let timer, timer <= SmallView.now else { continue }
      mayTick = false
      happens(.timerFires(index)) { $0.fire(index) }
    }
    if mayTick { happens(.tick) { _ in } }
  }

  // MARK: Results

  mutating func begin() {
    body = Body(incarnation: SmallView.incarnation, settings: SmallView.clientSettings)
    isRunning = true
  }

  /// The process loses its memory. Pushes that were sent may still arrive.
  mutating func crash(hasWritten: Bool) {
    if hasWritten, case .save(let form) = operation { disk = form }
    body = Body(incarnation: SmallView.incarnation, settings: SmallView.clientSettings)
    isRunning = false
    operation = nil
    push = nil
    timers = [nil, nil, nil]
  }

  mutating func load() {
    operation = nil
    feed(.loaded(disk.map { saved($0) }, age: nil))
  }

  mutating func failToLoad(_ failure: StoreFailure) {
    operation = nil
    feed(.loadFailed(failure))
  }

  mutating func endWrite(succeeds: Bool) {
    if succeeds, world.plant != .forgetsASave, case .save(let form) = operation { disk = form }
    operation = nil
    feed(succeeds ? .written(lastWrite) : .writeFailed(lastWrite))
  }

  mutating func retry(_ number: UInt64) {
    feed(.mutation(.retried(MutationTicket(number))))
  }

  mutating func discard(_ number: UInt64) {
    let ticket = MutationTicket(number)
    if body.local?.outbox.mayHaveCopy(of: ticket) ?? false { copies |= 1 << (number - 1) }
    feed(.mutation(.discarded(ticket)))
  }

  mutating func leave() {
    guard let content = push?.content else { return }
    push?.hasLeft = true
    guard !underWay.contains(content) else { return }
    underWay.append(content)
    underWay.sort { $0.code < $1.code }
  }

  /// A push reaches the data layer. If the client still waits for it, an answer can follow.
  mutating func arrive(_ content: SmallPush, refusing number: UInt64) {
    let before = dataLayer
    var run = content
    if world.plant == .runsTwice, content.last == dataLayer.count, dataLayer.count < 2 {
      run = content.shifted(up: true)
    }
    let refused = dataLayer.run(run, refusing: number)
    if number > 0, dataLayer != before, refused > 0 { refusalsLeft -= 1 }
    if isRunning, let push, push.hasLeft, push.content == content {
      if refused > 0 { self.push?.refused = refused } else { self.push?.isAccepted = true }
    }
    underWay.removeAll { $0.last <= dataLayer.count }
    guard isRunning, let outbox = body.local?.outbox else { return }
    judgeTruth(outbox)
  }

  mutating func takeAnswer(refused: UInt64) {
    push = nil
    let refusal = MutationRefusal(MutationID(refused))
    feed(.pushAnswered(lastPush, refused > 0 ? .refused(refusal) : .accepted))
  }

  mutating func failPush(_ failure: SyncFailure, hasLeft: Bool) {
    push = nil
    feed(.failed(lastPush, failure, hasLeft: hasLeft))
  }

  /// A register or a poll returns the view after the first `count` mutations.
  mutating func take(asOf count: UInt64) {
    guard let request = body.status.outstanding?.id else { return }
    let known = body.finger?.lastMutation.number
    let pulled = dataLayer.pulled(asOf: count, known: known)
    if known == nil {
      feed(
        .snapshotArrived(
          request, pulled, finger: pulled.finger, terms: SmallView.terms,
          isComplete: pulled.isCurrent))
    } else {
      feed(.batchArrived(request, pulled))
    }
  }

  mutating func failPull(_ failure: SyncFailure) {
    guard let request = body.status.outstanding?.id else { return }
    feed(.failed(request, failure, hasLeft: true))
  }

  mutating func fire(_ index: Int) {
    timers[index] = nil
    feed(.fired(lastTimers[index]))
  }
}
