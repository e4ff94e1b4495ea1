internal import SyncProtocols
package import UpdateMachine

/// A user of any app with changes. The app says what may be done next and what must hold. The
/// rest is the same for all: whatever is made is pending, set aside, discarded, or at the server.
package struct OfflineUser<App: SimulatedOfflineApp>: OutboxUser {
  package typealias Model = App.Model
  package typealias Truth = LoggedTruth<App>
  package typealias Sync = App.Sync
  package typealias Change = App.Model.Change

  package var memory = MadeChanges<Change>(of: nil)
  package var check = OutboxCheck<Change>()
  /// The position up to which the server's changes were compared with the client's.
  var comparedThrough: Int64 = 0

  /// For each client, the greatest ticket that it has ever given. An older outbox that comes back
  /// gives some of them again.
  private var given: [(client: ClientID, ticket: MutationTicket)] = []

  package init() {}

  package mutating func begin() { check.begin() }

  package func memory(of saved: Saved, _ old: Memory) -> Memory {
    guard let outbox = saved.outbox else { return old }
    return old.record(of: outbox.client, check.renamings).cameBack(
      sentThrough: check.newestID(of: outbox.client))
  }

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    noteInput(effects, client, at: now)
    // A client that had no name before may have one now.
    if let name = memory.client, let last = memory.made.last {
      _ = isGivenAgain(last.ticket, by: name)
    }
    for pending in client.local?.outbox.pending ?? [] { memory.note(pending) }
  }

  // MARK: What the user does

  /// Decides about a change that waits for the user, or about any other, or makes changes.
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
    if !canChange(client), !choices.happens(.users, 1, in: 8) { return [] }
    return newChanges(local, &choices).map { .mutates($0) }
  }

  /// Up to three changes, or none, each in the state that the earlier ones lead to.
  private func newChanges(
    _ local: LocalChanges<Change>, _ choices: inout Choices
  ) -> [Change] {
    var changes: [Change] = []
    var state = local.view.state
    let room = Self.pendingMaximum - local.outbox.count
    for _ in 0..<choices.draw(.users, below: 4) where changes.count < room {
      guard let change = App.nextChange(state, &choices) else { continue }
      changes.append(change)
      var next = state
      do throws(Change.Refusal) {
        _ = try change.apply(to: &next)
        state = next
      } catch {}  // The user will try in vain.
    }
    return changes
  }

  private func reconsider(
    _ ticket: MutationTicket, _ local: LocalChanges<Change>, _ choices: inout Choices
  ) -> [Action] {
    switch choices.draw(.users, below: 3) {
    case 0: return [.decides(.discarded(ticket))]  // In vain, if the server may have it.
    case 1:
      guard local.outbox.canEdit(ticket),
        let change = App.nextChange(local.view.state, &choices)
      else { return [] }
      return [.decides(.edited(ticket, change))]
    default: return [.decides(.retried(ticket))]
    }
  }

  /// Whether a client that is as fresh as this one takes changes.
  private func canChange(_ client: Body) -> Bool {
    Model.mutatesOffline || client.freshness(at: check.now).claim == .connected
  }

  package mutating func acted(
    _ action: Action, from before: Body, to after: Body, at now: Moment
  ) {
    guard let old = before.local, let new = after.local?.outbox else { return }
    check.lie = check.lie ?? objectionToOrder(after: action, from: before, to: after)
    switch action {
    case .mutates(let change):
      if new.newestTicket > old.outbox.newestTicket {
        let confirmed = before.model.map { $0.confirmation.last } ?? .none
        memory.note(
          new.newestTicket, change, confirmed: confirmed,
          isGivenAgain: isGivenAgain(new.newestTicket, by: new.client))
        check.lie = check.lie ?? objectionToSplit(from: before, to: after)
      } else if canChange(before), isPossible(change, old) {
        check.lie = UserObjection(.input, "\(change) can be made", "it cannot: \(old.outbox)")
      }
    case .decides(.discarded(let ticket)):
      guard old.outbox.canDiscard(ticket), let mutation = old.outbox.mutation(of: ticket) else {
        break
      }
      // Only a server that counts remembers that it has refused one, whatever copy of it comes.
      let isRefused = !old.outbox.pending.contains { $0.tickets.contains(ticket) }
      let isCertain = !isRefused || Model.delivery == .exactlyOnce
      memory.discard(
        mutation.tickets, isCertain: isCertain && !old.outbox.mayHaveCopy(of: ticket))
    case .decides(.edited(let ticket, _)):
      guard old.outbox.canEdit(ticket), let mutation = old.outbox.mutation(of: ticket) else {
        break
      }
      memory.edit(mutation.tickets)
    case .undoes: tookBack(.undo, from: before, to: after, at: now)
    case .redoes: tookBack(.redo, from: before, to: after, at: now)
    case .decides, .opens, .changes, .changesLists, .signals: break
    }
    for pending in new.pending { memory.note(pending) }
  }

  /// Notes that a client has given a ticket. Returns whether it had given it, or a later one,
  /// before.
  mutating func isGivenAgain(_ ticket: MutationTicket, by client: ClientID) -> Bool {
    guard client != .nameless else { return false }
    guard let index = given.firstIndex(where: { $0.client == client }) else {
      given.append((client, ticket))
      return false
    }
    defer { given[index].ticket = max(given[index].ticket, ticket) }
    return ticket <= given[index].ticket
  }

  /// Whether a change throws nothing in what the user sees.
  private func isPossible(_ change: Change, _ local: LocalChanges<Change>) -> Bool {
    var (change, state) = (change, local.view.state)
    let ticket = MutationTicket(local.outbox.newestTicket.number + 1)
    change.stamp(from: state, ticket: ticket, inPlaceOf: nil)
    do throws(Change.Refusal) {
      _ = try change.apply(to: &state)
      return Model.objection(toStoring: change) == nil
    } catch {
      return false
    }
  }

  package mutating func objection(
    to client: Body, _ truth: Truth, at position: Int64, _ history: [Truth], disk: Saved?,
    reading rows: ReadRows
  ) -> UserObjection? {
    if let wrong = truth.wrong {
      return UserObjection(.server, "two servers that are given the same answer alike", wrong)
    }
    return objection(to: client, truth, at: position, disk: disk?.outbox)
  }

  /// What waits, newest first, in the app's own words: "#2 move 7, unsent; #1 add 7, accepted 1".
  package func words(_ client: Body) -> String {
    guard let outbox = client.local?.outbox else { return "nothing is held" }
    var parts = outbox.pending.reversed().map {
      "\($0.tickets) \($0.change), \($0.stage)" + ($0.refusal == nil ? "" : ", set aside")
    }
    for item in outbox.setAside {
      if case .refused(let code) = item.reason {
        parts.append("\(item.ticket) \(item.change), refused (\(code.text))")
      }
    }
    return (parts.isEmpty ? "nothing that waits" : parts.joined(separator: "; "))
      + "; the outbox is \(outbox.status)"
  }

  package func fold(_ client: Body, into digest: inout StateDigest) {
    guard let local = client.local else { return }
    digest.fold(local.view.version)
    digest.fold(local.outbox.currentVersion.number)
  }
}
