internal import SyncProtocols
internal import UpdateMachine

// Inputs of a small world's client, their effects, and what must hold after each.

extension SmallClient {
  /// The finger and the model that follow if an input is accepted.
  struct Prospect {
    var finger: QueueFinger
    var position: Int64
    /// How many events the server then has beyond the model, if the queue was not followed before.
    var behind: Int64 = 0
    var isQueueAlive = false
  }

  /// Gives the client an input, and performs its effects. Afterwards positions are relative to the
  /// new model.
  ///
  /// - Parameters:
  ///   - prospect: the finger and the model that follow if the input is accepted.
  ///   - endsRequest: whether this input ends the open request.
  mutating func feed(_ input: Body.Input, prospect: Prospect? = nil, endsRequest: Bool = false) {
    let now = Moment(milliseconds: 0)
    let model = body.model
    let finger = body.finger
    let request = body.status.outstanding
    let wasAlive = isQueueAlive && sinceNoted < SmallWorld.terms.lifetime && !hasWrongAge
    if endsRequest { exchange = .none }
    let effects = body.handle(input, at: now)
    noteRow(input, effects, hadFinger: finger != nil, request: request)
    if wasAlive, finger != nil, body.finger == nil, row == nil, !effects.machine.erase {
      broken = .alive
    }
    judgeModel(input, prospect, finger: finger, model: model)
    follow(prospect, finger: finger)
    perform(effects, request: endsRequest ? nil : request, at: now)
    if broken == nil { broken = objection(at: now) }
  }

  /// Feeds an answer twice. The second copy must change nothing, except that it may release a log.
  mutating func feedTwice(_ input: Body.Input, prospect: Prospect?) {
    feed(input, prospect: prospect, endsRequest: true)
    // A write that began with old news is overdue at once. Whatever input comes next notes that, so
    // the second copy would change something.
    guard broken == nil, !body.machine.isOverdue(at: SmallWorld.now) else { return }
    if !absorbs(input) { broken = .absorbed }
  }

  /// Whether an input changes nothing.
  func absorbs(_ input: Body.Input) -> Bool {
    var copy = body
    let effects = copy.handle(input, at: Moment(milliseconds: 0))
    var changesNothing = copy.machine == body.machine && copy.model == body.model
    effects.each({ effect in
      if case .release(let log) = effect, log != body.finger?.queue { return }
      changesNothing = false
    })
    return changesNothing
  }

  /// Notes this input's row in the failure table, if it has one. A wait must follow every failure
  /// except the expiry of a log that was being followed.
  private mutating func noteRow(
    _ input: Body.Input, _ effects: Body.Effects, hadFinger: Bool, request: Outstanding?
  ) {
    var failure: SyncFailure?
    switch input {
    case .failed(let id, let found, _): if request?.id == id { failure = found }
    case .fired:
      if request != nil, effects.machine.cancel != nil, effects.machine.request == nil {
        failure = .timedOut
      }
    case .snapshotArrived, .batchArrived:
      if case .failure(let found)? = effects.machine.report { failure = found }
    case .writeFailed:
      if effects.machine.report != nil { row = UInt8(2 * FailureRows.names.count) }
    case .app, .loaded, .changesLoaded, .loadFailed, .written, .rowsRead, .rowsFailed, .erased,
      .pushAnswered,
      .pageArrived, .window, .lists, .mutation, .saveRequested:
      break
    }
    guard let failure else { return }
    row = UInt8(FailureRows.row(of: failure) * 2 + (hadFinger ? 1 : 0))
    if effects.machine.request != nil, failure != .expired || !hadFinger { broken = .patience }
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
      case .app(.loggedOut) where body.model == nil: return
      // Accepted, but too old to be followed.
      case .loaded, .snapshotArrived, .batchArrived:
        if body.finger == nil, let prospect, body.model == SmallModel(position: prospect.position) {
          return
        }
      default: break
      }
      broken = .unchanged
    }
  }

  /// Makes everything relative to the current finger.
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
    if case .save(.followed(let lag)) = operation {
      operation = .save(.followed(lag: lag + model.position))
    }
  }

  /// Marks the form on the disk, or being written, as belonging to a queue that is no longer
  /// followed.
  mutating func abandonQueue() {
    if case .followed = disk { disk = .orphan }
    if case .save(.followed) = operation { operation = .save(.orphan) }
  }

  // MARK: Effects

  private mutating func perform(
    _ effects: Body.Effects, request: Outstanding?, at now: Moment
  ) {
    guard broken == nil else { return }
    if effects.machine.persist != nil, body.status.isHalted { breaks(.rest) }
    var out = request?.id
    effects.each({ if broken == nil { perform($0, &out, at: now) } })
    if broken == nil, out != body.status.outstanding?.id { breaks(.oneRequest) }
  }

  /// Performs one effect. An effect that a small world's client never has breaks a rule.
  private mutating func perform(_ effect: Body.Effect, _ out: inout RequestID?, at now: Moment) {
    switch effect {
    case .cancel(let id):
      guard out == id else { return breaks(.walls) }
      out = nil
      exchange = .none
    case .disarm:
      guard timer != nil else { return breaks(.walls) }
      timer = nil
    case .report: return
    case .release(let log): if log == body.finger?.queue { breaks(.followed) }
    case .load: begin(.load)
    case .save(let id):
      lastWrite = id
      guard body.saved != nil else { return breaks(.walls) }
      begin(.save(.followed(lag: 0)))
    case .erase: begin(.erase)
    case .register(let id): ask(id, &out)
    case .poll(let id, let finger, _):
      ask(id, &out)
      let isDurable = !body.machine.settings.isDurable || disk == .followed(lag: 0)
      if finger != body.finger { breaks(.model) }
      if !isDurable { breaks(.durable) }
    case .arm(let id, let range):
      lastTimer = id
      guard timer == nil, range.earliest > now, range.latest >= range.earliest
      else { return breaks(.walls) }
      timer = range
    case .read, .push, .fetch: breaks(.walls)
    }
  }

  private mutating func begin(_ next: Operation) {
    guard operation == nil else { return breaks(.walls) }
    operation = next
  }

  private mutating func ask(_ id: RequestID, _ out: inout RequestID?) {
    guard out == nil else { return breaks(.oneRequest) }
    out = id
    exchange = .requested
    switch body.status {
    case .stale, .idle, .halted: breaks(.rest)
    case .registering, .registerFailed, .live, .pollFailed: return
    }
  }

  private mutating func breaks(_ rule: SmallRule) { if broken == nil { broken = rule } }

  // MARK: What holds after every input

  private func objection(at now: Moment) -> SmallRule? {
    if body.violation() != nil { return .invariants }
    if body.machine.incarnation != SmallClient.incarnation { return .oneRequest }
    switch body.status {
    case .stale, .idle, .halted:
      if body.status.outstanding != nil { return .rest }
    case .registering, .registerFailed, .live, .pollFailed:
      if body.status.outstanding == nil, timer == nil, operation == nil {
        return .pending
      }
    }
    guard body.isLoaded else { return nil }
    let claim = body.freshness(at: now).claim
    return HonestyOracle.fits(claim, body.status) ? nil : .freshness
  }

  /// Whether freshness changes in the next millisecond exactly when the client announced that it
  /// would.
  func keepsWord() -> Bool {
    guard body.isLoaded else { return true }
    let now = Moment(milliseconds: 0)
    let next = Moment(milliseconds: 1)
    let change = body.machine.freshnessChange(after: now)
    let stays = body.freshness(at: now).claim == body.freshness(at: next).claim
    return stays == (change.map { $0 > next } ?? true)
  }
}
