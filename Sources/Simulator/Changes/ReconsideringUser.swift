internal import SyncProtocols
package import UpdateMachine

/// An outbox user who makes changes at any time, and edits, retries or discards some of them. A
/// conforming type says what its changes are, and notes what has become of them.
package protocol ReconsideringUser: OutboxUser
where Model.Change: MarkedChange, Memory == ChangeBook<Model.Change> {
  /// Whether changes are made while a client is not connected; by default they are. It is the
  /// protocol's rule, and not what the model says.
  static var changesOffline: Bool { get }

  /// Returns a new change.
  mutating func newChange(
    _ local: LocalChanges<Model.Change>, _ choices: inout Choices
  ) -> Model.Change

  /// Returns what the user does at one moment; by default up to three changes, each new.
  ///
  /// - Parameter room: how many changes it may be at the most.
  mutating func newChanges(
    _ local: LocalChanges<Model.Change>, room: Int, _ choices: inout Choices
  ) -> [Model.Change]

  /// Returns a change to put in the place of one; `nil`: the user leaves it.
  mutating func newChange(
    inPlaceOf old: Model.Change, _ local: LocalChanges<Model.Change>, _ choices: inout Choices
  ) -> Model.Change?

  /// Whether a change can be made now; by default, whether it throws nothing.
  func isPossible(_ change: Model.Change, _ local: LocalChanges<Model.Change>) -> Bool

  /// Notes that a change was made, and has this ticket.
  mutating func noteMade(
    _ change: Model.Change, as ticket: MutationTicket, from before: Body, to after: Body)

  /// Notes that a change was made that takes back the one of another ticket. By default it is noted
  /// as any change.
  mutating func noteMade(
    _ change: Model.Change, as ticket: MutationTicket, takingBack undone: MutationTicket?,
    from before: Body, to after: Body)

  /// Whether a change that takes back another looks at what that one has done, as far as changes
  /// tell; by default nobody asks.
  static func isReversal(_ change: Model.Change, of other: Model.Change) -> Bool

  /// Notes that the mutation of a ticket was edited. `old`: what it was, with all its tickets.
  mutating func noteEdited(
    _ ticket: MutationTicket, from old: (change: Model.Change, tickets: TicketSet),
    to change: Model.Change, from before: Body, to after: Body)

  /// Notes that the mutation of a ticket was discarded. `outbox`: as it was before.
  mutating func noteDiscarded(_ ticket: MutationTicket, in outbox: Outbox<Model.Change>)

  /// Notes that the mutation of a ticket is tried again. `outbox`: as it was before.
  mutating func noteRetried(_ ticket: MutationTicket, in outbox: Outbox<Model.Change>)

  // MARK: What the user is owed

  /// The protocol's law of conflicts.
  associatedtype Law: ConflictLaw where Law.Change == Model.Change

  /// Returns the law over what a client and its server hold. `position`: as in
  /// ``SimulatedUser/objection(to:_:at:_:disk:reading:)``.
  func law(
    _ model: Model, _ local: LocalChanges<Model.Change>, _ truth: Truth, at position: Int64
  ) -> Law

  /// Returns the objection to what must hold from one step to the next; by default `nil`. It is
  /// asked after every step, and the law only after news.
  mutating func objection(to model: Model, at position: Int64) -> UserObjection?

  /// The checksum of all that a state shows.
  static func checksum(of state: Model.Change.State) -> UInt64

  /// The checksum of what people see in it: all, by default.
  static func checksumOfWhatIsSeen(_ state: Model.Change.State) -> UInt64

  /// Two numbers that change with the confirmed state and with the server's; by default their
  /// checksums.
  static func versions(_ model: Model, _ truth: Truth) -> (confirmed: UInt64, truth: UInt64)
}

extension ReconsideringUser {
  package mutating func begin() { check.begin() }

  package func memory(of saved: Saved, _ old: Memory) -> Memory {
    guard let outbox = saved.outbox else { return old }
    // An outbox's first form is saved before its user has a book.
    return old.record(of: outbox.client, check.renamings).cameBack(
      inPlaceOf: memory, outbox, sentThrough: check.newestID(of: outbox.client))
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) { noteInput(effects, client, at: now) }

  package mutating func noteMade(
    _ change: Model.Change, as ticket: MutationTicket, from before: Body, to after: Body
  ) {
    memory.note(
      ticket, change, confirmed: before.model.map { $0.confirmation.last } ?? .none)
  }

  package mutating func noteMade(
    _ change: Model.Change, as ticket: MutationTicket, takingBack undone: MutationTicket?,
    from before: Body, to after: Body
  ) {
    judgeReversal(change, of: undone)
    memory.forgetDiscarded(change)
    noteMade(change, as: ticket, from: before, to: after)
    if let undone { memory.noteReversal(ticket, of: undone) }
  }

  package static func isReversal(_ change: Model.Change, of other: Model.Change) -> Bool { true }

  mutating func judgeReversal(_ change: Model.Change, of undone: MutationTicket?) {
    guard let made = memory.made.first(where: { $0.ticket == undone }),
      !Self.isReversal(change, of: made.change)
    else { return }
    check.lie = UserObjection(
      .input, "an undo takes back what its change has done", "\(change) for \(made.change)")
  }

  package mutating func noteEdited(
    _ ticket: MutationTicket, from old: (change: Model.Change, tickets: TicketSet),
    to change: Model.Change, from before: Body, to after: Body
  ) { memory.edit(old.tickets, to: change) }

  package mutating func noteDiscarded(_ ticket: MutationTicket, in outbox: Outbox<Model.Change>) {
    guard let old = outbox.mutation(of: ticket) else { return }
    memory.discard(old.tickets, isCertain: !outbox.mayHaveCopy(of: ticket))
  }

  package mutating func noteRetried(_ ticket: MutationTicket, in outbox: Outbox<Model.Change>) {}

  /// Decides about a mutation that waits for the user, or about any other, or makes changes.
  package mutating func act(
    _ client: Body, _ truth: Truth, _ choices: inout Choices
  ) -> [Action] {
    guard let local = client.local else { return [] }
    let outbox = local.outbox
    let open = outbox.setAside.map { $0.ticket } + outbox.uncertain.map { $0.ticket }
    if !open.isEmpty, choices.happens(.users, 1, in: 2) {
      return reconsider(choices.pick(.users, open), local, &choices)
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let tickets = outbox.pending.map { $0.ticket }
      return reconsider(choices.pick(.users, tickets), local, &choices)
    }
    // Most users see that they are not connected.
    if !canChange(client, at: check.now), !choices.happens(.users, 1, in: 8) { return [] }
    let room = Self.pendingMaximum - outbox.count
    return newChanges(local, room: room, &choices).map { .mutates($0) }
  }

  package mutating func newChanges(
    _ local: LocalChanges<Model.Change>, room: Int, _ choices: inout Choices
  ) -> [Model.Change] { someChanges(local, room: room, &choices) }

  /// Up to three changes, each new.
  mutating func someChanges(
    _ local: LocalChanges<Model.Change>, room: Int, _ choices: inout Choices
  ) -> [Model.Change] {
    var changes: [Model.Change] = []
    for _ in 0...Int(choices.draw(.users, below: 3)) where changes.count < room {
      changes.append(newChange(local, &choices))
    }
    return changes
  }

  package static var changesOffline: Bool { true }

  /// Whether a client that is as fresh as this one takes changes.
  private func canChange(_ client: Body, at now: Moment) -> Bool {
    Self.changesOffline || client.freshness(at: now).claim == .connected
  }

  private mutating func reconsider(
    _ ticket: MutationTicket, _ local: LocalChanges<Model.Change>, _ choices: inout Choices
  ) -> [Action] {
    let outbox = local.outbox
    switch choices.draw(.users, below: 3) {
    case 0: return [.decides(.discarded(ticket))]  // In vain, if the server may have it.
    case 1:
      guard outbox.canEdit(ticket), let old = outbox.mutation(of: ticket)?.change,
        let new = newChange(inPlaceOf: old, local, &choices)
      else { return [] }
      return [.decides(.edited(ticket, new))]
    default: return [.decides(.retried(ticket))]
    }
  }

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    guard let old = before.local, let new = after.local?.outbox else { return }
    let outbox = old.outbox
    check.lie = check.lie ?? objectionToOrder(after: action, from: before, to: after)
    switch action {
    case .mutates(let change):
      let isMade = new.newestTicket > outbox.newestTicket
      let canChange = canChange(before, at: now)
      if isMade {
        noteMade(change, as: new.newestTicket, from: before, to: after)
        check.lie = check.lie ?? objectionToSplit(from: before, to: after)
      }
      if isMade, !canChange {
        check.lie = UserObjection(.input, "\(change) is made only while connected", "\(new)")
      }
      if !isMade, canChange { judgeRefusal(change, old) }
    case .decides(.edited(let ticket, let change)):
      guard outbox.canEdit(ticket), let former = outbox.mutation(of: ticket) else { return }
      noteEdited(ticket, from: former, to: change, from: before, to: after)
    case .decides(.discarded(let ticket)):
      if outbox.canDiscard(ticket) { noteDiscarded(ticket, in: outbox) }
    case .decides(.retried(let ticket)):
      if outbox.canRetry(ticket) { noteRetried(ticket, in: outbox) }
    case .undoes: tookBack(.undo, from: before, to: after, at: now)
    case .redoes: tookBack(.redo, from: before, to: after, at: now)
    case .opens, .changes, .changesLists, .signals: break
    }
  }

  /// Notes an undo or a redo, and judges it by the law.
  private mutating func tookBack(
    _ stack: UndoStack, from before: Body, to after: Body, at now: Moment
  ) {
    guard let taken = takenBack(stack, from: before, to: after) else { return }
    if taken.isDiscarded, let outbox = before.local?.outbox {
      noteDiscarded(taken.ticket, in: outbox)
    }
    if let made = taken.made {
      noteMade(
        made.change, as: made.ticket, takingBack: made.undone, from: before, to: after)
    }
    let objection = objectionToRedo(
      of: stack, taken, from: before, to: after, at: now, seen: Self.checksumOfWhatIsSeen)
    check.lie = check.lie ?? objection
  }

  /// A change that was not made must be impossible: an earlier one of the same moment may have
  /// taken what it needs.
  private mutating func judgeRefusal(
    _ change: Model.Change, _ local: LocalChanges<Model.Change>
  ) {
    guard isPossible(change, local) else { return }
    check.lie = UserObjection(.input, "\(change) can be made", "it cannot: \(local.outbox)")
  }

  package func isPossible(
    _ change: Model.Change, _ local: LocalChanges<Model.Change>
  ) -> Bool {
    var (change, state) = (change, local.view.state)
    let ticket = MutationTicket(local.outbox.newestTicket.number + 1)
    change.stamp(from: state, ticket: ticket, inPlaceOf: nil)
    do throws(Model.Change.Refusal) {
      _ = try change.apply(to: &state)
      return true
    } catch {
      return false
    }
  }

  // MARK: What the user is owed

  package mutating func objection(to model: Model, at position: Int64) -> UserObjection? { nil }

  package static func versions(
    _ model: Model, _ truth: Truth
  ) -> (confirmed: UInt64, truth: UInt64) { (checksum(of: model.state), truth.checksum) }

  package static func checksumOfWhatIsSeen(_ state: Model.Change.State) -> UInt64 {
    checksum(of: state)
  }

  package mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    guard let model = client.model, let local = client.local else { return check.lie }
    if let objection = objection(to: model, at: position)
      ?? check.objection(to: local.outbox, disk: disk?.outbox)
    {
      return objection
    }
    let versions = Self.versions(model, truth)
    guard check.isNews(local, confirmed: versions.confirmed, truth: versions.truth) else {
      return nil
    }
    let law = law(model, local, truth, at: position)
    return ChangeOracle.objection(law, local.outbox, &memory)
  }

  package func fold(_ client: Body, into digest: inout StateDigest) {
    guard let local = client.local else { return }
    digest.fold(Self.checksum(of: local.view.state))
    digest.fold(local.outbox.currentVersion.number)
  }
}
