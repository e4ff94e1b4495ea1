internal import SyncProtocols
internal import UpdateMachine

// Inputs of the client, their effects, and what must hold after each.

extension SmallViewRun {
  /// Gives the client an input, and performs its effects.
  mutating func feed(_ input: Body.Input) {
    let effects = body.handle(input, at: SmallView.now)
    perform(effects)
  }

  /// The user makes a change.
  mutating func mutate(_ number: UInt64) {
    do throws(MutationError<Never>) {
      let made = try body.mutate(SmallEdit(number: number), at: SmallView.now)
      if made.ticket.number != number { return breaks(.walls) }
      perform(made.effects)
    } catch {
      breaks(.walls)
    }
  }

  mutating func breaks(_ rule: SmallViewRule) { if broken == nil { broken = rule } }

  // MARK: Effects

  private mutating func perform(_ effects: Body.Effects) {
    effects.each { if broken == nil { perform($0) } }
    if broken == nil { judge() }
  }

  private mutating func perform(_ effect: Body.Effect) {
    switch effect {
    case .cancel(let id): if id.part == .outbox { push = nil }
    case .disarm(let timer):
      guard timers[SmallViewRun.index(of: timer)] != nil else { return breaks(.walls) }
      timers[SmallViewRun.index(of: timer)] = nil
    case .report, .release: return
    case .load: begin(.load)
    case .save(let id):
      lastWrite = id
      guard let form = body.saved.flatMap({ packed($0) }) else { return breaks(.walls) }
      begin(.save(form))
    case .register, .poll: if body.status.outstanding == nil { breaks(.walls) }
    case .push(let push, _): send(push)
    case .arm(let timer, let range):
      let index = SmallViewRun.index(of: timer)
      guard timers[index] == nil, range.earliest > SmallView.now else { return breaks(.walls) }
      timers[index] = range.earliest
      lastTimers[index] = timer
    case .erase, .read, .fetch: breaks(.walls)
    }
  }

  private mutating func begin(_ next: Operation) {
    guard operation == nil else { return breaks(.walls) }
    operation = next
  }

  private mutating func send(_ push: PushRequest<SmallEdit>) {
    guard self.push == nil, var content = SmallPush(push) else { return breaks(.walls) }
    if let disk {
      let outbox = saved(disk).outbox
      for item in push.mutations {
        let kept = outbox?.pending.first { $0.ticket == item.ticket }
        if kept?.id != item.id { breaks(.durable) }
      }
    } else {
      breaks(.durable)
    }
    switch world.plant {
    case .givesRefusedIDAnew:
      if content.knownRefusal > 0 {
        content = content.shifted(up: false)
        content.knownRefusal -= 1
      }
    case .sendsUnderNewID:
      let wasSent = underWay.contains { $0.numbers == content.numbers }
      if wasSent, content.last < 3 { content = content.shifted(up: true) }
    case .forgetsASave, .runsTwice, nil: break
    }
    self.push = Push(content: content)
    lastPush = push.id
  }

  /// The parts that have timers, by the index of the timer.
  static let parts = [ClientPart.machine, .outbox, .storage]

  static func index(of timer: TimerID) -> Int {
    switch timer.part {
    case .machine: 0
    case .outbox: 1
    case .storage: 2
    case .pages: preconditionFailure("nothing is fetched in a small view")
    }
  }

  // MARK: Checks

  private mutating func judge() {
    if body.violation() != nil { return breaks(.invariants) }
    guard let model = body.model, let outbox = body.local?.outbox else {
      if body.isLoaded, body.model != nil || stored != 0 { breaks(.lost) }
      return
    }
    let count = model.confirmation.last.number
    let list = dataLayer.list(asOf: count)
    let refusal = dataLayer.refusal(asOf: count)
    guard model.state[SmallList.key] ?? SmallList() == list,
      model.confirmation.refusal?.id.number ?? 0 == refusal,
      body.finger == nil || body.finger?.lastMutation.number == count
    else { return breaks(.model) }
    judgeView(list, outbox)
    for number in 1...tickets { judge(number, outbox, confirmed: list) }
    judgeTruth(outbox)
  }

  private mutating func judgeView(_ confirmed: SmallList, _ outbox: Outbox<SmallEdit>) {
    var list = confirmed
    for pending in outbox.pending { list = list.adding(pending.change.number) }
    let seen = body.local?.view.state[SmallList.key] ?? SmallList()
    if seen != list { breaks(.view) }
    if !list.ascends { breaks(.once) }
  }

  /// Checks that what the client says about a change is true, and that no stored change is lost.
  private mutating func judge(
    _ number: UInt64, _ outbox: Outbox<SmallEdit>, confirmed: SmallList
  ) {
    let bit: UInt64 = 1 << (number - 1)
    let ticket = MutationTicket(number)
    let isIn = confirmed.contains(number)
    let state = outbox.state(of: ticket)
    if state != .discarded { copies &= ~bit }
    switch state {
    case nil: if stored & bit != 0 { breaks(.lost) }
    case .acknowledged: if !isIn { breaks(.acknowledged) }
    case .discarded: if isIn, copies & bit == 0 { breaks(.once) }
    case .queued, .sent, .setAside: if isIn { breaks(.acknowledged) }
    case .uncertain, .overruled: breaks(.acknowledged)
    }
    if state != nil, outbox.isStored(ticket) { stored |= bit }
  }

  /// Checks that the data layer ran each change once and in order, and ran none that had been
  /// discarded before.
  mutating func judgeTruth(_ outbox: Outbox<SmallEdit>) {
    let list = dataLayer.list(asOf: dataLayer.count)
    if !list.ascends { return breaks(.once) }
    for number in 1...tickets where list.contains(number) {
      let isDiscarded = outbox.state(of: MutationTicket(number)) == .discarded
      if isDiscarded, copies >> (number - 1) & 1 == 0 { return breaks(.once) }
    }
  }

  /// Whether an answer that nobody awaits changes nothing, whether it belongs to this process or to
  /// another.
  var absorbsWhatIsLate: Bool {
    guard body.isLoaded else { return true }
    let late = RequestID(incarnation: SmallView.incarnation, part: .outbox, number: 7)
    let foreign = RequestID(incarnation: Incarnation(0), part: .outbox, number: 8)
    for id in [late, foreign] {
      guard absorbs(.pushAnswered(id, .accepted)),
        absorbs(.pushAnswered(id, .refused(MutationRefusal(MutationID(1))))),
        absorbs(.failed(id, .rejected(.none), hasLeft: true))
      else { return false }
    }
    return true
  }

  private func absorbs(_ input: Body.Input) -> Bool {
    var copy = body
    return copy.handle(input, at: SmallView.now).isEmpty
      && copy.local?.outbox == body.local?.outbox
  }
}
