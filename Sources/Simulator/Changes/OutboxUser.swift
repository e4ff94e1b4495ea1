package import UpdateMachine

/// A record of the changes that a user has made and not discarded. It is the user's own knowledge,
/// independent of the outbox.
package protocol OutboxBook: Sendable {
  /// The client that the record belongs to; `nil` if there is none yet.
  var client: ClientID? { get set }
  /// The names that the server has forgotten under which it was kept before.
  var formerNames: [ClientID] { get set }
  /// The greatest ID sent before an older outbox came back. Until the server has confirmed that
  /// many, it may take a new change for the old one with its ID.
  var doubtfulID: MutationID { get set }

  /// Creates an empty record.
  init(of client: ClientID?)

  /// Notes that a change stands behind later ones, because it threw in a replay.
  mutating func noteMove(of tickets: TicketSet)
}

extension OutboxBook {
  /// The record of an outbox of this client: this one, if it is that client's, or was kept before
  /// the first snapshot named the client, or under a name that the server has forgotten; else an
  /// empty one.
  func record(of other: ClientID, _ renamings: [Renaming]) -> Self {
    guard let client, client != other else { return self.client == nil ? Self(of: other) : self }
    var book = self
    if client == .nameless {
      book.client = other
    } else if renamings.contains(Renaming(from: client, to: other)) {
      book.formerNames.append(client)
      book.client = other
      book.doubtfulID = .none  // The IDs of its changes begin again.
    } else {
      return Self(of: other)
    }
    return book
  }

  /// All names under which it was kept, the present one at the end.
  package var names: [ClientID] { formerNames + [client].compactMap { $0 } }
}

/// The server has forgotten a client's name and given it another one.
package struct Renaming: Hashable, Sendable {
  var from: ClientID
  var to: ClientID
}

/// A user whose changes go through an outbox. A conforming type says what its user does and what
/// the user is owed.
package protocol OutboxUser: SimulatedUser
where Model.Change: Equatable & CustomStringConvertible, Memory: OutboxBook {
  /// The checks of the outbox, with what they have noted so far.
  var check: OutboxCheck<Model.Change> { get set }
}

/// The checks of every outbox, whatever the changes are.
package struct OutboxCheck<Change: Mutation & Equatable & CustomStringConvertible>: Sendable {
  /// The outbox as it was last judged. One that has not changed since is not judged again.
  private var judged: Judged?
  /// For each client, the greatest ID that any of its pushes has mentioned, in any process.
  private var newest: [(client: ClientID, id: MutationID)] = []
  /// The outbox's client after the last input of this process; `nil`: there was no outbox.
  private var owner: ClientID?
  /// All new names that the client has been given while it held changes.
  private(set) var renamings: [Renaming] = []
  /// When the client last took an input.
  private(set) var now = Moment.distantPast
  /// Something that an outbox said or did wrongly.
  package var lie: UserObjection?
  /// The first change of a push that the input rejects.
  fileprivate var rejected: MutationTicket?

  private struct Judged: Hashable, Sendable {
    var client: ClientID
    var view: UInt64
    var outbox: OutboxVersion
    var stored: OutboxVersion
    var pending: Int
    var confirmed: UInt64
    var truth: UInt64
  }

  package init() {}

  /// A process begins.
  package mutating func begin() {
    judged = nil
    owner = nil
  }

  /// Notes whose outbox there is after an input.
  mutating func noteOwner(_ new: ClientID?) {
    if let owner, let new, owner != new, owner != .nameless {
      renamings.append(Renaming(from: owner, to: new))
    }
    owner = new
  }

  mutating func note(_ push: PushRequest<Change>?, at now: Moment) {
    self.now = now
    guard let push, let id = push.mutations.last?.id else { return }
    if let index = newest.firstIndex(where: { $0.client == push.client }) {
      newest[index].id = max(newest[index].id, id)
    } else {
      newest.append((push.client, id))
    }
  }

  func newestID(of client: ClientID) -> MutationID {
    newest.first { $0.client == client }?.id ?? .none
  }

  /// Returns the objection to an outbox, if there is one. `disk` is the durable outbox.
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

  /// Whether there is something new to judge. `confirmed` and `truth` are the checksums of the
  /// confirmed state and of the server's state.
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
  /// The most mutations that may be pending at a time. It keeps the bound below finite.
  package static var pendingMaximum: Int { 16 }

  /// The longest time that an outbox may need to empty once the faults have stopped. The open
  /// request runs into its deadline. Then comes the wait after a failure, or the wait after a push
  /// that was accepted and forgotten. And each pending mutation may be refused, and then waits
  /// until the user looks.
  package static var bound: TimeSpan {
    let settings = OutboxSettings()
    let retry = settings.machine.retry
    let wait = max(retry.retryAfterCap * 2, retry.slowCap, settings.resendCap)
    let look = TimeSpan.seconds(15 + 30)
    return retry.deadlineCap + wait + settings.resendCap + retry.wakeInterval * 4
      + look * Int64(pendingMaximum)
  }

  package static var blank: Memory { Memory(of: nil) }

  /// Whatever is sent must be on the disk, unchanged. Otherwise a crash would turn it into another
  /// change.
  package func objection(
    toSending push: PushRequest<Model.Change>, disk: Saved?
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

  package mutating func look(before input: Body.Input, _ client: Body, reading rows: ReadRows) {
    noteRejection(by: input, client)
  }

  /// Notes which change an input will reject, if it does.
  mutating func noteRejection(by input: Body.Input, _ client: Body) {
    check.rejected = nil
    guard case .failed(let id, .rejected, _) = input, let outbox = client.local?.outbox,
      case .pushing(let push) = outbox.status, push.id == id
    else { return }
    check.rejected = outbox.pending.first { $0.id == push.first }?.ticket
  }

  /// What a server rejects is not sent again by itself: its user decides, unless nothing is left to
  /// decide.
  private mutating func judgeRejection(_ outbox: Outbox<Model.Change>) {
    guard let ticket = check.rejected else { return }
    check.rejected = nil
    switch outbox.state(of: ticket) {
    case .setAside, .discarded, .overruled, nil: break
    case .queued, .sent, .uncertain, .acknowledged:
      check.lie =
        check.lie
        ?? UserObjection(.input, "\(ticket) was rejected, and waits for its user", "\(outbox)")
    }
  }

  /// Notes what every outbox user must know about an input.
  mutating func noteInput(_ effects: Body.Effects, _ client: Body, at now: Moment) {
    check.noteOwner(client.outbox?.client)
    if let outbox = client.local?.outbox.client {
      if memory.client != outbox { memory = memory.record(of: outbox, check.renamings) }
    } else if memory.client == .nameless {
      memory = Memory(of: nil)  // Logged out: the next outbox without a name is another.
    }
    var last = MutationTicket(0)
    for pending in client.local?.outbox.pending ?? [] {
      if pending.ticket < last { memory.noteMove(of: pending.tickets) }
      last = max(last, pending.ticket)
    }
    check.note(effects.outbox.push, at: now)
    if let outbox = client.local?.outbox { judgeRejection(outbox) }
  }

  /// Discards what is set aside. Retries or discards what is uncertain, as the user likes.
  package mutating func tidy(_ client: Body) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    if let first = outbox.setAside.first(where: { outbox.canDiscard($0.ticket) }) {
      return wake(client) + [.decides(.discarded(first.ticket))]
    }
    guard let ticket = outbox.uncertain.first?.ticket else { return wake(client) }
    let isRetried = ticket.number % 2 == 0
    return wake(client) + [.decides(isRetried ? .retried(ticket) : .discarded(ticket))]
  }

  /// Returns the signals that clear what keeps the outbox from sending, as far as signals can.
  func wake(_ client: Body) -> [Action] {
    switch client.local?.outbox.status {
    case .halted(.credentials): [.signals(.credentialsChanged)]
    case .halted(.unsupported): [.signals(.retryRequested)]
    case .halted(.stopped), .resting, .storing, .pushing, .waiting, .pausing, .confirming, nil: []
    }
  }

  package func isLevel(_ client: Body, with truth: Truth) -> Bool {
    client.local?.outbox.isEmpty ?? false
  }

  package func words(_ client: Body) -> String {
    guard let outbox = client.local?.outbox else { return "nothing is held" }
    var text = "\(outbox)"
    for pending in outbox.pending { text += "; \(pending): \(pending.change)" }
    return text
  }
}

extension OutboxUser {
  /// Two changes that can be one are one: nobody is asked to decide twice, and the server gets no
  /// state that its user had for a moment only. Judged where nothing stands in the way: what the
  /// user made last has not begun to leave, and now another follows it.
  func objectionToSplit(from before: Body, to after: Body) -> UserObjection? {
    guard let old = before.local?.outbox, let outbox = after.local?.outbox,
      let last = old.pending.last, last.ticket == old.newestTicket, last.stage == .unsent,
      !last.mayHaveCopy, last.refusal == nil, last.takesBack == nil, old.setAside.isEmpty,
      outbox.pending.count > old.pending.count, let new = outbox.pending.last,
      new.tickets == TicketSet(outbox.newestTicket), new.change.object == last.change.object,
      let both = last.change.coalesced(with: new.change)
    else { return nil }
    return UserObjection(
      .input, "\(last.change) and \(new.change) are one: \(both)", "\(outbox)")
  }
}
