internal import SyncProtocols
internal import UpdateMachine

// What reaches the replica of a small world's client, what is done about it, and what must hold
// after it.

extension SmallClient {
  /// What finger and model become by an input if it is taken.
  struct Prospect {
    var finger: QueueFinger
    var position: Int64
    /// Of a queue that was not followed before.
    var behind: Int64 = 0
    var isQueueAlive = false
  }

  /// Gives the replica an input, and performs what comes of it. Everything is then seen from where
  /// its model is.
  ///
  /// - Parameters:
  ///   - prospect: what finger and model become if it is taken.
  ///   - endsRequest: whether the request that is out has ended with it.
  mutating func feed(_ input: Body.Input, prospect: Prospect? = nil, endsRequest: Bool = false) {
    let now = Moment(milliseconds: 0)
    let model = body.model
    let finger = body.finger
    let request = body.status.outstanding
    let wasAlive = isQueueAlive && sinceNoted < SmallWorld.terms.lifetime && !hasWrongAge
    if endsRequest { exchange = .none }
    let effects = body.handle(input, at: now)
    noteRow(input, effects, hadFinger: finger != nil, request: request)
    if wasAlive, finger != nil, body.finger == nil, row == nil, !effects.erase { broken = .alive }
    judgeModel(input, prospect, finger: finger, model: model)
    follow(prospect, finger: finger)
    perform(effects, request: endsRequest ? nil : request, at: now)
    if broken == nil { broken = objection(at: now) }
  }

  /// An answer that comes twice changes nothing the second time, but that a log may be let go.
  mutating func feedTwice(_ input: Body.Input, prospect: Prospect?) {
    feed(input, prospect: prospect, endsRequest: true)
    // A write that began with old news is overdue at once, which whatever comes first notes.
    guard broken == nil, !body.machine.isOverdue(at: SmallWorld.now) else { return }
    if !absorbs(input) { broken = .absorbed }
  }

  /// Whether an input changes nothing.
  func absorbs(_ input: Body.Input) -> Bool {
    var copy = body
    var effects = copy.handle(input, at: Moment(milliseconds: 0))
    if let log = effects.release, log == body.finger?.queue { return false }
    effects.release = nil
    return effects.isEmpty && copy.machine == body.machine && copy.model == body.model
  }

  /// Which row of the failure table it was, if it was one. After a failure there is a wait, but for
  /// a log that has lived.
  private mutating func noteRow(
    _ input: Body.Input, _ effects: Body.Effects, hadFinger: Bool, request: Outstanding?
  ) {
    var failure: SyncFailure?
    switch input {
    case .failed(let id, let found): if request?.id == id { failure = found }
    case .fired:
      if request != nil, effects.cancel != nil, effects.request == nil { failure = .timedOut }
    case .snapshotArrived, .batchArrived:
      if case .failure(let found)? = effects.report { failure = found }
    case .writeFailed: if effects.report != nil { row = UInt8(2 * FailureRows.names.count) }
    case .loaded, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .written:
      break
    }
    guard let failure else { return }
    row = UInt8(FailureRows.row(of: failure) * 2 + (hadFinger ? 1 : 0))
    if effects.request != nil, failure != .expired || !hadFinger { broken = .patience }
  }

  // MARK: Oracle A

  private mutating func judgeModel(
    _ input: Body.Input, _ prospect: Prospect?, finger: QueueFinger?, model: SmallModel?
  ) {
    guard body.finger != finger || body.model != model else { return }
    if let found = body.finger, found != finger {
      guard let prospect, found == prospect.finger, let model = body.model, model.isInOrder,
        model.position == prospect.position
      else {
        broken = .model
        return
      }
    } else if body.model != model {
      switch input {
      case .loggedOut where body.model == nil: return
      // Taken, and too old to be followed.
      case .loaded, .snapshotArrived, .batchArrived:
        if body.finger == nil, let prospect, body.model == SmallModel(position: prospect.position) {
          return
        }
      default: break
      }
      broken = .unchanged
    }
  }

  /// Everything as seen from the finger that there is now.
  private mutating func follow(_ prospect: Prospect?, finger old: QueueFinger?) {
    guard body.isLoaded, broken == nil else { return }
    guard let finger = body.finger, let model = body.model else {
      behind = 0
      isQueueAlive = false
      abandonQueue()
      return
    }
    if finger.queue != .followed, finger != old, let prospect {
      behind = prospect.behind
      isQueueAlive = prospect.isQueueAlive
      if finger.queue == .brought { hasWrongAge = false }
      abandonQueue()
      if finger.queue == .orphan { disk = .followed(lag: 0) }
      return
    }
    guard finger != old, old != nil else { return }
    behind -= model.position
    if case .followed(let lag) = disk { disk = .followed(lag: lag + model.position) }
    if case .becomes(.followed(let lag)) = write {
      write = .becomes(.followed(lag: lag + model.position))
    }
  }

  /// What is on the disk, or on its way there, is of a queue that is followed no more.
  mutating func abandonQueue() {
    if case .followed = disk { disk = .orphan }
    if case .becomes(.followed) = write { write = .becomes(.orphan) }
  }

  // MARK: Effects

  private mutating func perform(
    _ effects: Body.Effects, request: Outstanding?, at now: Moment
  ) {
    guard broken == nil else { return }
    var out = request?.id
    if let id = effects.cancel {
      guard out == id else { return breaks(.walls) }
      out = nil
      exchange = .none
    }
    if effects.disarm != nil {
      guard timer != nil else { return breaks(.walls) }
      timer = nil
    }
    if let log = effects.release, log == body.finger?.queue { return breaks(.followed) }
    if effects.erase {
      if write == nil { disk = .nothing } else { write = .becomes(.nothing) }
    }
    if effects.persist != nil {
      if body.status.isHalted { breaks(.rest) }
      guard write == nil else { return breaks(.walls) }
      write = body.saved == nil ? .unchanged : .becomes(.followed(lag: 0))
    }
    if let question = effects.request {
      guard out == nil else { return breaks(.oneRequest) }
      out = ask(question)
    }
    guard out == body.status.outstanding?.id else { return breaks(.oneRequest) }
    if let arm = effects.arm {
      guard timer == nil, arm.range.earliest > now, arm.range.latest >= arm.range.earliest
      else { return breaks(.walls) }
      timer = arm.range
    }
  }

  private mutating func ask(_ question: Body.Effects.Request) -> RequestID {
    exchange = .requested
    switch body.status {
    case .stale, .idle, .halted: breaks(.rest)
    case .registering, .registerFailed, .live, .pollFailed: break
    }
    switch question {
    case .register(let id): return id
    case .poll(let id, let finger, _):
      let isDurable = !body.machine.settings.isDurable || disk == .followed(lag: 0)
      if finger != body.finger { breaks(.model) }
      if !isDurable { breaks(.durable) }
      return id
    }
  }

  private mutating func breaks(_ rule: SmallRule) { if broken == nil { broken = rule } }

  // MARK: What holds after every input

  private func objection(at now: Moment) -> SmallRule? {
    if body.violation() != nil { return .invariants }
    if body.machine.life != SmallClient.life { return .oneRequest }
    switch body.status {
    case .stale, .idle, .halted:
      if body.status.outstanding != nil { return .rest }
    case .registering, .registerFailed, .live, .pollFailed:
      if body.status.outstanding == nil, timer == nil, write == nil { return .pending }
    }
    guard body.isLoaded else { return nil }
    let claim = body.freshness(at: now).claim
    return HonestyOracle.fits(claim, body.status) ? nil : .freshness
  }

  /// Whether the claim changes within the next millisecond exactly if it said so.
  func keepsWord() -> Bool {
    guard body.isLoaded else { return true }
    let now = Moment(milliseconds: 0)
    let next = Moment(milliseconds: 1)
    let change = body.machine.freshnessChange(after: now)
    let stays = body.freshness(at: now).claim == body.freshness(at: next).claim
    return stays == (change.map { $0 > next } ?? true)
  }
}
