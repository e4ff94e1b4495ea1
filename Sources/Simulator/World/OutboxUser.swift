public import UpdateMachine

/// What a user has made and not given up: what they know themselves, whatever their outbox says.
public protocol OutboxBook: Sendable {
  /// Whose; `nil`: nobody's yet.
  var client: ClientID? { get }

  /// Nothing was made.
  init(of client: ClientID?)
}

/// A user whose changes go through an outbox. What it is to say itself is what its user does, and what is
/// owed to them.
public protocol OutboxUser: SimulatedUser
where Model.Change: Equatable & CustomStringConvertible, Memory: OutboxBook {
  /// What was judged last, and what the outbox has done and should not have.
  var check: OutboxCheck<Model.Change> { get set }
}

/// What is checked of every outbox, whatever the changes are.
public struct OutboxCheck<Change: Mutation & Equatable & CustomStringConvertible>: Sendable {
  /// What was judged last: nothing of it has changed if this has not.
  private var judged: Judged?
  /// The greatest ID that a push of each client has ever told of, whoever's life it was.
  private var newest: [(client: ClientID, id: MutationID)] = []
  /// What an outbox has said, or done, and should not have.
  public var lie: UserObjection?

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

  /// A process begins.
  mutating func begin() { judged = nil }

  mutating func note(_ push: Outbox<Change>.Push) {
    guard let id = push.mutations.last?.id else { return }
    if let index = newest.firstIndex(where: { $0.client == push.client }) {
      newest[index].id = max(newest[index].id, id)
    } else {
      newest.append((push.client, id))
    }
  }

  func newestID(of client: ClientID) -> MutationID {
    newest.first { $0.client == client }?.id ?? .none
  }

  /// What is wrong with an outbox; `nil`: nothing. `disk`: what is durable.
  func objection(to outbox: Outbox<Change>, disk: Outbox<Change>?) -> UserObjection? {
    if let lie { return lie }
    if let violation = outbox.violation() {
      return UserObjection(.walls, violation.rule, violation.found)
    }
    let written = disk?.client == outbox.client ? disk?.currentVersion.number ?? 0 : 0
    guard outbox.storedVersion.number > written else { return nil }
    return UserObjection(
      .input, "what is stored is on the disk, \(written) at most", "\(outbox)")
  }

  /// Whether there is something to judge that was not judged before. `confirmed` and `truth`: the
  /// checksums of the state that is confirmed, and of the server's.
  mutating func isNews(_ local: LocalChanges<Change>, confirmed: UInt64, truth: UInt64) -> Bool {
    let outbox = local.outbox
    let judged = Judged(
      client: outbox.client, view: local.view.version, outbox: outbox.currentVersion,
      stored: outbox.storedVersion, pending: outbox.count, confirmed: confirmed, truth: truth)
    defer { self.judged = judged }
    return judged != self.judged
  }
}

extension OutboxUser {
  /// No more than this is pending at a time, so that the bound below is one.
  public static var pendingMaximum: Int { 16 }

  /// What was out runs into its deadline, then waits as long as a failure may, or as what was accepted
  /// and forgotten; and of all that is pending each may be refused, and wait until its user looks.
  public static var bound: TimeSpan {
    let settings = OutboxSettings()
    let retry = settings.machine.retry
    let wait = max(retry.retryAfterCap * 2, retry.slowCap, settings.resendCap)
    let look = TimeSpan.seconds(15 + 30)
    return retry.deadlineCap + wait + settings.resendCap + retry.wakeInterval * 4
      + look * Int64(pendingMaximum)
  }

  public static var blank: Memory { Memory(of: nil) }

  /// Whatever is sent must be on the disk, and as it is sent: a crash would otherwise make another of it.
  public func objection(
    toSending push: Outbox<Model.Change>.Push, disk: Saved?
  ) -> UserObjection? {
    let durable = disk?.outbox
    for item in push.mutations {
      if durable?.client == push.client,
        let pending = durable?.pending.first(where: { $0.id == item.id }),
        pending.change == item.change
      {
        continue
      }
      return UserObjection(
        .input, "what is not durable is not sent: \(item.change)",
        "\(push), the disk holds \(durable.map { "\($0)" } ?? "nothing")")
    }
    return nil
  }

  /// Notes what every outbox's user has to know of an input.
  mutating func noteInput(_ effects: Body.Effects, _ client: Body) {
    if let outbox = client.local?.outbox.client, memory.client != outbox {
      memory = Memory(of: outbox)
    }
    if let push = effects.outbox.push { check.note(push) }
  }

  /// The user takes away what keeps the outbox from sending, as far as a word can.
  func wake(_ client: Body) -> [Action] {
    switch client.local?.outbox.status {
    case .halted(.credentials): [.signals(.credentialsChanged)]
    case .halted(.unsupported): [.signals(.retryRequested)]
    case .halted(.stopped), .resting, .storing, .pushing, .waiting, .pausing, .confirming, nil: []
    }
  }

  public func isLevel(_ client: Body, with truth: Truth) -> Bool {
    client.local?.outbox.isEmpty ?? false
  }

  public func words(_ client: Body) -> String {
    guard let outbox = client.local?.outbox else { return "nothing is held" }
    var text = "\(outbox)"
    for pending in outbox.pending { text += "; \(pending): \(pending.change)" }
    return text
  }
}
