public import SyncProtocols
public import UpdateMachine

/// A user of the ledger, with what sends his changes: he makes them online and offline, changes his
/// mind about some, and says what shall become of those that are set aside.
public struct LedgerUser: SimulatedWriter {
  public typealias Model = Ledger.Model
  public typealias Truth = Ledger.Truth
  public typealias Sync = Ledger.Server.Sync
  public typealias Body = Replica<Model, Sync>
  public typealias Saved = SavedReplica<Model, Sync.Place>
  typealias Box = Outbox<LedgerChange>

  public static var writes: Bool { true }

  /// No more than this is pending at a time, so that the bound below is one.
  static var pendingMaximum: Int { 16 }

  /// What was out runs into its deadline, then waits as long as a failure may, or as what was accepted
  /// and forgotten; and of all that is pending each may be refused, and wait until its user looks.
  public static var bound: TimeSpan {
    let settings = OutboxSettings()
    let machine = settings.machine
    let wait = max(machine.retryAfterCap * 2, machine.slowCap, settings.resendCap)
    let look = TimeSpan.seconds(15 + 30)
    return machine.deadlineCap + wait + settings.resendCap + machine.wakeInterval * 4
      + look * Int64(pendingMaximum)
  }

  public var memory = LedgerBook()
  public static var blank: LedgerBook { LedgerBook() }

  /// Every push that ever left, by number, whoever's process it was.
  private var pushes: [SentPush] = []
  /// What the outbox calls the timer that is armed, and what the world does: outboxes count anew.
  private var timer: (id: TimerID, number: UInt64)?
  private var timerCount: UInt64 = 0
  /// Each start of an outbox has a life of its own.
  private var starts: UInt64 = 0
  /// Whose outbox was told of the start; `nil`: none was.
  private var started: ClientID?
  private var wantsSync = false
  private var entryCount: Int64 = 0
  /// The newest commit that was seen in this process.
  private var seen: (client: ClientID, commit: CommitNumber)?
  /// What was judged last: nothing of it has changed if this has not.
  private var judged: Judged?
  /// What an outbox has said and should not have.
  private var lie: WriterObjection?

  private struct Judged: Hashable, Sendable {
    var client: ClientID
    var view: UInt64
    var outbox: OutboxVersion
    var stored: OutboxVersion
    var pending: Int
    var confirmed: UInt64
    var truth: UInt64
  }

  struct SentPush: Sendable {
    var id: PushID
    var push: Box.Push
    var answer: Box.PushAnswer?
  }

  public init() {}

  public mutating func begin() {
    timer = nil
    started = nil
    wantsSync = false
    seen = nil
    judged = nil
  }

  // MARK: Signals

  public mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> WriterEffects {
    var wanted = WriterEffects()
    let isInFront = replica.machine.isInForeground
    var said: Box.Input?
    switch input {
    case .started:
      wantsSync = true
      started = nil
    case .stopped:
      wantsSync = false
      started = nil
      said = .stopped
    case .loggedOut:  // The outbox is gone, too.
      wantsSync = false
      started = nil
      timer = nil
    case .foregrounded: said = .foregrounded
    case .backgrounded: said = .backgrounded
    case .networkChanged: said = .networkChanged
    case .retryRequested: said = .retryRequested
    case .credentialsChanged: said = .credentialsChanged
    case .loaded, .snapshotArrived, .batchArrived, .failed, .fired, .written, .writeFailed: break
    }
    guard let client = replica.model?.local.outbox.client else { return wanted }
    if memory.client != client { memory = LedgerBook(of: client) }
    if wantsSync, started != client {
      started = client
      starts += 1
      say(.started(Life(starts), foreground: isInFront), to: &replica, at: now, &wanted)
    }
    if let said { say(said, to: &replica, at: now, &wanted) }
    done(replica.replay(at: now), &wanted)
    return wanted
  }

  private mutating func say(
    _ input: Box.Input, to replica: inout Body, at now: Moment, _ wanted: inout WriterEffects
  ) {
    let (one, other) = replica.handle(input, at: now)
    done(one, &wanted)
    done(other, &wanted)
  }

  /// Performs what an outbox wants, as far as it can be done here.
  private mutating func done(_ effects: Box.Effects, _ wanted: inout WriterEffects) {
    if let disarm = effects.disarm {
      if timer?.id != disarm {
        lie = WriterObjection(.walls, "only the timer that is armed is disarmed", "\(disarm)")
      }
      timer = nil
      wanted.arm = nil
    }
    if effects.persist != nil { wanted.saves = true }
    if let push = effects.push {
      pushes.append(SentPush(id: push.id, push: push))
      wanted.send.append(UInt64(pushes.count - 1))
    }
    if let arm = effects.arm {
      if timer != nil {
        lie = WriterObjection(.walls, "one timer at a time", "\(arm.timer)")
      }
      timerCount += 1
      timer = (arm.timer, timerCount)
      wanted.arm = (timerCount, arm.range)
    }
  }

  // MARK: The user

  public mutating func act(
    _ replica: inout Body, at now: Moment, _ choices: inout Choices
  ) -> WriterEffects {
    var wanted = WriterEffects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    let aside = outbox.setAside
    if !aside.isEmpty, choices.happens(.users, 1, in: 2) {
      let ticket = aside[Int(choices.draw(.users, below: UInt64(aside.count)))].ticket
      reconsider(ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      reconsider(outbox.pending[index].ticket, of: &replica, at: now, &choices, &wanted)
      return wanted
    }
    for _ in 0...choices.draw(.users, below: 3) {
      guard replica.model.map({ $0.local.outbox.count < LedgerUser.pendingMaximum }) ?? false else {
        break
      }
      let change = newChange(by: outbox.client, &choices)
      mutate(change, &replica, at: now, &wanted)
    }
    return wanted
  }

  private mutating func newChange(
    by client: ClientID, _ choices: inout Choices
  ) -> LedgerChange {
    entryCount += 1
    let number = choices.draw(.users, in: 0...2)
    switch choices.draw(.users, below: 4) {
    case 0: return LedgerChange(by: client, entryCount, .add(1, to: number))
    case 1: return LedgerChange(by: client, entryCount, .reserve(hour: number))
    case 2:
      let amount = choices.draw(.users, in: 1...6)
      let target = (number + 1) % Ledger.accounts
      return LedgerChange(by: client, entryCount, .transfer(amount, from: number, to: target))
    default:
      let isUnlucky = choices.happens(.users, 1, in: 4)
      return LedgerChange(
        by: client, entryCount, .add(isUnlucky ? LedgerMutators.unlucky : 100, to: number))
    }
  }

  private mutating func mutate(
    _ change: LedgerChange, _ replica: inout Body, at now: Moment, _ wanted: inout WriterEffects
  ) {
    guard let before = replica.model?.local else { return }
    let last = before.outbox.pending.last
    do throws(MutationError<MutatorRefusal>) {
      let mutated = try replica.mutate(change, at: now)
      done(mutated.effects, &wanted)
      guard let outbox = replica.model?.local.outbox else { return }
      let isOne = outbox.pending.last.map { $0.tickets.lowerBound < $0.ticket } ?? false
      if isOne, let last, last.stage == .unsent, last.change.coalesced(with: change) != nil {
        memory.merge(mutated.ticket, change.entries)
      } else {
        memory.note(mutated.ticket, change.entries)
      }
    } catch {
      var state = before.view.state
      if case .refused = error, (try? change.apply(to: &state)) == nil { return }
      lie = WriterObjection(.input, "\(change) can be made", "it cannot: \(before.outbox)")
    }
  }

  /// He has another word on one that he has made.
  private mutating func reconsider(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ choices: inout Choices,
    _ wanted: inout WriterEffects
  ) {
    guard let outbox = replica.model?.local.outbox else { return }
    switch choices.draw(.users, below: 3) {
    case 0: discard(ticket, of: &replica, at: now, &wanted)
    case 1:
      let change = newChange(by: outbox.client, &choices)
      guard outbox.canEdit(ticket) else { return }
      memory.replace(ticket, by: change.entries)
      say(.edited(ticket, change), to: &replica, at: now, &wanted)
    default: say(.retried(ticket), to: &replica, at: now, &wanted)
    }
  }

  private mutating func discard(
    _ ticket: MutationTicket, of replica: inout Body, at now: Moment, _ wanted: inout WriterEffects
  ) {
    guard replica.model?.local.outbox.canDiscard(ticket) == true else { return }
    memory.remove(ticket)
    say(.discarded(ticket), to: &replica, at: now, &wanted)
  }

  public mutating func tidy(_ replica: inout Body, at now: Moment) -> WriterEffects {
    var wanted = WriterEffects()
    guard let outbox = replica.model?.local.outbox else { return wanted }
    switch outbox.status {
    case .halted(.credentials): say(.credentialsChanged, to: &replica, at: now, &wanted)
    case .halted(.unsupported): say(.retryRequested, to: &replica, at: now, &wanted)
    case .halted(.stopped), .resting, .storing, .pushing, .waiting, .pausing, .confirming: break
    }
    if let first = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      discard(first.ticket, of: &replica, at: now, &wanted)
    }
    return wanted
  }

  // MARK: Pushes

  public func request(_ push: UInt64) -> PushRequest {
    PushRequest(pushes[Int(push)].push)
  }

  public mutating func note(_ answer: PushAnswer, to push: UInt64) {
    switch answer {
    case .accepted: pushes[Int(push)].answer = .accepted
    case .refused(let refusal): pushes[Int(push)].answer = .refused(refusal)
    }
  }

  public mutating func take(
    _ push: UInt64, _ replica: inout Body, at now: Moment
  ) -> WriterEffects {
    var wanted = WriterEffects()
    guard let answer = pushes[Int(push)].answer else { return wanted }
    say(.answered(pushes[Int(push)].id, answer), to: &replica, at: now, &wanted)
    return wanted
  }

  public mutating func fail(
    _ push: UInt64, _ failure: SyncFailure, hasLeft: Bool, _ replica: inout Body, at now: Moment
  ) -> WriterEffects {
    var wanted = WriterEffects()
    say(
      .failed(pushes[Int(push)].id, failure, hasLeft: hasLeft), to: &replica, at: now, &wanted)
    return wanted
  }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> WriterEffects {
    var wanted = WriterEffects()
    guard let armed = self.timer, armed.number == timer else { return wanted }
    self.timer = nil
    say(.fired(armed.id), to: &replica, at: now, &wanted)
    return wanted
  }

  public mutating func note(
    written saved: Saved, _ replica: inout Body, at now: Moment
  ) -> WriterEffects {
    var wanted = WriterEffects()
    let outbox = saved.model.local.outbox
    guard outbox.client == replica.model?.local.outbox.client else { return wanted }
    say(.stored(upTo: outbox.currentVersion), to: &replica, at: now, &wanted)
    return wanted
  }

  // MARK: Judgement

  public func objection(toSending push: UInt64, disk: Saved?) -> WriterObjection? {
    let push = pushes[Int(push)].push
    let durable = disk?.model.local.outbox
    for item in push.mutations {
      if durable?.client == push.client,
        let pending = durable?.pending.first(where: { $0.id == item.id }),
        pending.change == item.change
      {
        continue
      }
      return WriterObjection(
        .input, "what is not durable is not sent: \(item.change)",
        "\(push), the disk holds \(durable.map { "\($0)" } ?? "nothing")")
    }
    return nil
  }

  public mutating func objection(
    to replica: Body, _ truth: Truth, disk: Saved?
  ) -> WriterObjection? {
    if let lie { return lie }
    guard let model = replica.model else { return nil }
    if let objection = objectionToTime(model) { return objection }
    let outbox = model.local.outbox
    if let violation = outbox.violation() {
      return WriterObjection(.walls, violation.rule, violation.found)
    }
    let judged = Judged(
      client: outbox.client, view: model.local.view.version, outbox: outbox.currentVersion,
      stored: outbox.storedVersion, pending: outbox.count,
      confirmed: model.confirmed.state.checksum,
      truth: truth.view.checksum)
    guard judged != self.judged else { return nil }
    self.judged = judged
    return LedgerOracle.objection(to: model, memory, truth, disk: disk?.model)
  }

  /// What a client has seen never goes back.
  private mutating func objectionToTime(_ model: Model) -> WriterObjection? {
    let finger = model.confirmed.model.finger
    guard let commit = finger.commit else { return nil }
    defer { seen = (finger.client, commit) }
    guard let seen, seen.client == finger.client, commit < seen.commit else { return nil }
    return WriterObjection(
      .causality, "a state at or after commit \(seen.commit.number)", "\(finger)")
  }

  public func isLevel(_ replica: Body) -> Bool {
    replica.model?.local.outbox.isEmpty ?? false
  }

  public func fold(_ replica: Body, into digest: inout Digest) {
    guard let local = replica.model?.local else { return }
    digest.fold(local.view.state.checksum)
    digest.fold(local.outbox.currentVersion.number)
  }

  public func words(_ replica: Body) -> String {
    guard let outbox = replica.model?.local.outbox else { return "nothing is held" }
    var text = "\(outbox)"
    for pending in outbox.pending { text += "; \(pending): \(pending.change)" }
    return text
  }

  public func words(ofPush push: UInt64) -> String { "\(push) is \(pushes[Int(push)].push)" }
}
