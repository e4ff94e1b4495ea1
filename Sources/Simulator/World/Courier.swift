public import SyncProtocols
public import UpdateMachine

// How the changes of a user's are sent who has an outbox, whatever they are: beside the world, as the
// driver does it.

/// What sends the changes of one client's user: feeds the outbox and does what it wants done, as far as
/// that can be done beside the world.
///
/// It does as the driver does. Pushes and the timer are one outbox's: when that is gone, nothing that
/// was out for it reaches the next, whose numbers may be the same.
public struct Courier<Model: MutableModel, Sync: SyncProtocol>: Sendable
where Sync.Batch.Event == Model.Event {
  public typealias Body = Replica<Model, Sync>
  public typealias Box = Outbox<Model.Change>
  public typealias Effects = WriterEffects<Body.Input>

  /// Every push that ever left, by number, whoever's process it was.
  private var pushes: [Sent] = []
  /// The first that an answer may be given to.
  private var firstAwaited = 0
  /// What the outbox calls the timer that is armed, and what the world does: outboxes count anew.
  private var timer: (id: TimerID, number: UInt64)?
  private var timerCount: UInt64 = 0
  /// Whose outbox that is; `nil`: there is none.
  private var client: ClientID?
  /// What was judged last: nothing of it has changed if this has not.
  private var judged: Judged?
  /// What an outbox has said, or done, and should not have.
  public var lie: WriterObjection?

  private struct Sent: Sendable {
    var push: Box.Push
    var answer: Box.PushAnswer?
  }

  private struct Judged: Hashable, Sendable {
    var client: ClientID
    var view: UInt64
    var outbox: OutboxVersion
    var stored: OutboxVersion
    var pending: Int
    var confirmed: UInt64
    var truth: UInt64
  }

  public init() {}

  /// A process begins: what was out is answered no more.
  public mutating func begin() {
    client = nil
    judged = nil
    drop()
  }

  private mutating func drop() {
    firstAwaited = pushes.count
    timer = nil
  }

  /// The replica has taken an input.
  public mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> Effects {
    var wanted = Effects()
    let effects = replica.passOn(input, at: now)
    let client = replica.model?.local.outbox.client
    if self.client != client {
      drop()
      self.client = client
    }
    for effects in effects { perform(effects, &wanted) }
    wish(&replica, &wanted)
    return wanted
  }

  /// The outbox is told something.
  public mutating func say(
    _ input: Box.Input, to replica: inout Body, at now: Moment, _ wanted: inout Effects
  ) {
    let (one, other) = replica.handle(input, at: now)
    perform(one, &wanted)
    perform(other, &wanted)
    wish(&replica, &wanted)
  }

  private func wish(_ replica: inout Body, _ wanted: inout Effects) {
    if wanted.next == nil { wanted.next = replica.takeInput() }
  }

  /// Does what an outbox wants done.
  public mutating func perform(_ effects: Box.Effects, _ wanted: inout Effects) {
    if let disarm = effects.disarm {
      if timer?.id != disarm {
        lie = WriterObjection(.walls, "only the timer that is armed is disarmed", "\(disarm)")
      }
      timer = nil
      wanted.arm = nil
    }
    if effects.persist != nil { wanted.saves = true }
    if let push = effects.push {
      pushes.append(Sent(push: push))
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

  // MARK: Pushes and timers

  /// The push of a number.
  public func push(_ number: UInt64) -> Box.Push { pushes[Int(number)].push }

  /// What the server says to it.
  public mutating func note(_ answer: PushAnswer, to push: UInt64) {
    pushes[Int(push)].answer = answer.answer(to: pushes[Int(push)].push)
  }

  /// The answer is here.
  public mutating func take(
    _ push: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects {
    var wanted = Effects()
    let sent = pushes[Int(push)]
    guard push >= firstAwaited, let answer = sent.answer else { return wanted }
    say(.answered(sent.push.id, answer), to: &replica, at: now, &wanted)
    return wanted
  }

  /// There will be none.
  public mutating func fail(
    _ push: UInt64, _ failure: SyncFailure, hasLeft: Bool, _ replica: inout Body, at now: Moment
  ) -> Effects {
    var wanted = Effects()
    guard push >= firstAwaited else { return wanted }
    let id = pushes[Int(push)].push.id
    say(.failed(id, failure, hasLeft: hasLeft), to: &replica, at: now, &wanted)
    return wanted
  }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects {
    var wanted = Effects()
    guard let armed = self.timer, armed.number == timer else { return wanted }
    self.timer = nil
    say(.fired(armed.id), to: &replica, at: now, &wanted)
    return wanted
  }

  /// This is on the disk.
  public mutating func note(
    written outbox: Box, _ replica: inout Body, at now: Moment
  ) -> Effects {
    var wanted = Effects()
    guard outbox.client == replica.model?.local.outbox.client else { return wanted }
    say(.stored(upTo: outbox.currentVersion), to: &replica, at: now, &wanted)
    return wanted
  }

  /// The greatest ID that a push of this client's has ever told of, whoever's life it was.
  func newestID(of client: ClientID) -> MutationID {
    var newest = MutationID.none
    for sent in pushes where sent.push.client == client {
      for item in sent.push.mutations { newest = max(newest, item.id) }
    }
    return newest
  }

  // MARK: Judgement

  /// What is wrong with what is held, whatever the changes are; `nil`: nothing. `disk`: what is durable.
  func objection(to outbox: Box, disk: Box?) -> WriterObjection? {
    if let lie { return lie }
    if let violation = outbox.violation() {
      return WriterObjection(.walls, violation.rule, violation.found)
    }
    let written = disk?.client == outbox.client ? disk?.currentVersion.number ?? 0 : 0
    guard outbox.storedVersion.number > written else { return nil }
    return WriterObjection(
      .input, "what is stored is on the disk, \(written) at most", "\(outbox)")
  }

  /// Whether there is something to judge that was not judged before. `confirmed` and `truth`: the
  /// checksums of the state that is confirmed, and of the server's.
  mutating func isNews(_ model: Model, confirmed: UInt64, truth: UInt64) -> Bool {
    let outbox = model.local.outbox
    let judged = Judged(
      client: outbox.client, view: model.local.view.version, outbox: outbox.currentVersion,
      stored: outbox.storedVersion, pending: outbox.count, confirmed: confirmed, truth: truth)
    defer { self.judged = judged }
    return judged != self.judged
  }
}

/// What a user has made and not given up: what he himself knows, whatever his outbox says.
public protocol OutboxBook: Sendable {
  /// Whose; `nil`: nobody's yet.
  var client: ClientID? { get }

  /// Nothing was made.
  init(of client: ClientID?)
}

/// A writer whose changes go through an outbox. What it is to say itself is what its user does, how a
/// push is told to its server, and what is owed to him.
public protocol OutboxWriter: SimulatedWriter
where
  Model: MutableModel, Model.Change: Equatable & CustomStringConvertible, Memory: OutboxBook
{
  var courier: Courier<Model, Sync> { get set }
}

extension OutboxWriter {
  public static var writes: Bool { true }

  /// No more than this is pending at a time, so that the bound below is one.
  public static var pendingMaximum: Int { 16 }

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

  public static var blank: Memory { Memory(of: nil) }

  public mutating func begin() { courier.begin() }

  public mutating func hear(
    _ input: Body.Input, _ replica: inout Body, at now: Moment
  ) -> Effects {
    if let client = replica.model?.local.outbox.client, memory.client != client {
      memory = Memory(of: client)
    }
    return courier.hear(input, &replica, at: now)
  }

  public mutating func note(_ answer: PushAnswer, to push: UInt64) {
    courier.note(answer, to: push)
  }

  public mutating func take(
    _ push: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects { courier.take(push, &replica, at: now) }

  public mutating func fail(
    _ push: UInt64, _ failure: SyncFailure, hasLeft: Bool, _ replica: inout Body, at now: Moment
  ) -> Effects { courier.fail(push, failure, hasLeft: hasLeft, &replica, at: now) }

  public mutating func fire(
    _ timer: UInt64, _ replica: inout Body, at now: Moment
  ) -> Effects { courier.fire(timer, &replica, at: now) }

  public mutating func note(
    written saved: Saved, _ replica: inout Body, at now: Moment
  ) -> Effects { courier.note(written: saved.model.local.outbox, &replica, at: now) }

  public func objection(toSending push: UInt64, disk: Saved?) -> WriterObjection? {
    let push = courier.push(push)
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

  /// The user takes away what keeps his outbox from sending, as far as a word to it can.
  mutating func wake(_ replica: inout Body, at now: Moment, _ wanted: inout Effects) {
    switch replica.model?.local.outbox.status {
    case .halted(.credentials): courier.say(.credentialsChanged, to: &replica, at: now, &wanted)
    case .halted(.unsupported): courier.say(.retryRequested, to: &replica, at: now, &wanted)
    case .halted(.stopped), .resting, .storing, .pushing, .waiting, .pausing, .confirming, nil:
      break
    }
  }

  public func isLevel(_ replica: Body) -> Bool {
    replica.model?.local.outbox.isEmpty ?? false
  }

  public func words(_ replica: Body) -> String {
    guard let outbox = replica.model?.local.outbox else { return "nothing is held" }
    var text = "\(outbox)"
    for pending in outbox.pending { text += "; \(pending): \(pending.change)" }
    return text
  }

  public func words(ofPush push: UInt64) -> String { "\(push) is \(courier.push(push))" }
}
