internal import SyncProtocols
package import UpdateMachine

/// A user of the ledger: makes changes online and offline, edits or discards some, and decides
/// about those that are set aside.
package struct LedgerUser: OutboxUser {
  package typealias Model = LedgerApp.Model
  package typealias Truth = LedgerApp.Truth
  package typealias Sync = LedgerApp.Server.Sync

  package var memory = LedgerBook()
  package var check = OutboxCheck<LedgerChange>()

  private var entryCount: Int64 = 0
  /// The newest commit seen in this process.
  private var seen: (client: ClientID, commit: CommitNumber)?

  package init() {}

  package mutating func begin() {
    check.begin()
    seen = nil
  }

  package func memory(of saved: Saved, _ old: LedgerBook) -> LedgerBook {
    guard let outbox = saved.outbox else { return old }
    // An outbox's first form is saved before its user has a record.
    return old.record(of: outbox.client).cameBack(
      inPlaceOf: memory, outbox, sentThrough: check.newestID(of: outbox.client))
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) { noteInput(effects, client) }

  // MARK: What the user does

  package mutating func act(
    _ client: Body, _ truth: Truth, _ choices: inout Choices
  ) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    let aside = outbox.setAside
    if !aside.isEmpty, choices.happens(.users, 1, in: 2) {
      let ticket = aside[Int(choices.draw(.users, below: UInt64(aside.count)))].ticket
      return reconsider(ticket, outbox, &choices)
    }
    if !outbox.pending.isEmpty, choices.happens(.users, 1, in: 8) {
      let index = Int(choices.draw(.users, below: UInt64(outbox.pending.count)))
      return reconsider(outbox.pending[index].ticket, outbox, &choices)
    }
    var actions: [Action] = []
    for count in 0...Int(choices.draw(.users, below: 3)) {
      guard outbox.count + count < LedgerUser.pendingMaximum else { break }
      actions.append(.mutates(newChange(by: outbox.client, &choices)))
    }
    return actions
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
      let target = (number + 1) % LedgerApp.accounts
      return LedgerChange(by: client, entryCount, .transfer(amount, from: number, to: target))
    default:
      let isUnlucky = choices.happens(.users, 1, in: 4)
      return LedgerChange(
        by: client, entryCount, .add(isUnlucky ? LedgerMutators.unlucky : 100, to: number))
    }
  }

  /// The user edits, retries or discards a change.
  private mutating func reconsider(
    _ ticket: MutationTicket, _ outbox: Outbox<LedgerChange>, _ choices: inout Choices
  ) -> [Action] {
    switch choices.draw(.users, below: 3) {
    case 0: return outbox.canDiscard(ticket) ? [.decides(.discarded(ticket))] : []
    case 1:
      let change = newChange(by: outbox.client, &choices)
      return outbox.canEdit(ticket) ? [.decides(.edited(ticket, change))] : []
    default: return [.decides(.retried(ticket))]
    }
  }

  package mutating func tidy(_ client: Body) -> [Action] {
    guard let outbox = client.local?.outbox else { return [] }
    let first = outbox.setAside.first { outbox.canDiscard($0.ticket) }
    return wake(client) + (first.map { [.decides(.discarded($0.ticket))] } ?? [])
  }

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    guard let old = before.local, let new = after.local?.outbox else { return }
    switch action {
    case .mutates(let change):
      guard new.newestTicket > old.outbox.newestTicket else { return judgeRefusal(change, old) }
      note(change, as: new.newestTicket, old.outbox, new, before.model)
    case .decides(.edited(let ticket, let change)):
      if old.outbox.canEdit(ticket) { memory.replace(ticket, by: change.entries) }
    case .decides(.discarded(let ticket)):
      guard old.outbox.canDiscard(ticket) else { return }
      memory.remove(ticket, isCertain: !old.outbox.mayHaveCopy(of: ticket))
    case .decides(.retried), .opens, .changes, .changesLists, .signals: break
    }
  }

  private mutating func note(
    _ change: LedgerChange, as ticket: MutationTicket, _ old: Outbox<LedgerChange>,
    _ new: Outbox<LedgerChange>, _ model: Model?
  ) {
    let confirmed = model?.model.finger.lastMutation ?? .none
    let last = old.pending.last
    let isOne = new.pending.last.map { $0.tickets.lowerBound < $0.ticket } ?? false
    if isOne, let last, last.stage == .unsent, last.change.coalesced(with: change) != nil {
      memory.merge(ticket, change.entries, confirmed: confirmed)
    } else {
      memory.note(ticket, change.entries, confirmed: confirmed)
    }
  }

  /// A refused change must be one that is impossible.
  private mutating func judgeRefusal(_ change: LedgerChange, _ local: LocalChanges<LedgerChange>) {
    var state = local.view.state
    do throws(ChangeRefusal) {
      _ = try change.apply(to: &state)
      check.lie = UserObjection(.input, "\(change) can be made", "it cannot: \(local.outbox)")
    } catch {}  // Refused, as it should be.
  }

  // MARK: Obligations

  package mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    guard let model = client.model, let local = client.local else { return check.lie }
    if let objection = objectionToTime(model) { return objection }
    if let objection = check.objection(to: local.outbox, disk: disk?.outbox) { return objection }
    guard
      check.isNews(local, confirmed: model.state.checksum, truth: truth.view.checksum)
    else { return nil }
    return LedgerOracle.objection(to: model, local, memory, truth)
  }

  /// What a client has seen never goes back.
  private mutating func objectionToTime(_ model: Model) -> UserObjection? {
    let finger = model.model.finger
    guard let commit = finger.commit else { return nil }
    defer { seen = (finger.client, commit) }
    guard let seen, seen.client == finger.client, commit < seen.commit else { return nil }
    return UserObjection(
      .causality, "a state at or after commit \(seen.commit.number)", "\(finger)")
  }

  package func fold(_ client: Body, into digest: inout StateDigest) {
    guard let local = client.local else { return }
    digest.fold(local.view.state.checksum)
    digest.fold(local.outbox.currentVersion.number)
  }
}
