// Queries of an outbox.

extension Outbox {
  /// The pending mutations, in the order of sending and of replay.
  package var pending: [Pending] { queue }

  /// The number of mutations here, pending and refused.
  package var count: Int { queue.count + refused.count }

  /// The sum of the sizes of all mutations here. O(n).
  @inlinable
  var measuredSize: Int64 {
    refused.reduce(queue.reduce(0) { $0 + $1.change.boundedSize }) { $0 + $1.change.boundedSize }
  }

  @usableFromInline
  package var isEmpty: Bool { queue.isEmpty && refused.isEmpty && unreadable.isEmpty }

  /// The state in which a mutation is made: the confirmed one, with all pending ones ahead of it.
  /// O(pending).
  func state(before ticket: MutationTicket, over confirmed: Change.State) -> Change.State {
    let refusedRank = refused.first { $0.tickets.contains(ticket) }?.rank
    let end = index(of: ticket) ?? refusedRank.map { place(for: $0) } ?? queue.count
    var state = confirmed
    for pending in queue[..<end] {
      if let undone = pending.takesBack, hasNoEffect(undone) { continue }
      var fork = state
      do throws(Change.Refusal) {
        _ = try pending.change.apply(to: &fork)
        state = fork
      } catch {}  // It has no effect.
    }
    return state
  }

  /// The mutation that an edit puts in the place of another, stamped. O(pending).
  func stamped(
    _ change: Change, asEditOf ticket: MutationTicket, over confirmed: Change.State
  ) -> Change {
    typealias Item = (tickets: TicketSet, rank: UInt64, change: Change, undone: MutationTicket?)
    let found: [Item] =
      queue.map { ($0.tickets, $0.rank, $0.change, hasNeverLeft($0) ? $0.takesBack : nil) }
      + refused.map { ($0.tickets, $0.rank, $0.change, $0.takesBack) }
    guard let (tickets, rank, old, _) = found.first(where: { $0.tickets.contains(ticket) }) else {
      return change  // There is nothing to edit.
    }
    var change = change
    var isFollowed = false
    // What undoes it goes with the edit (``dropUndo(of:)``), and does not follow it.
    var going = [tickets]
    for later in found where rank < later.rank && change.object != nil {
      if let undone = later.undone, going.contains(where: { $0.contains(undone) }) {
        going.append(later.tickets)
      } else if change.object == later.change.object {
        isFollowed = true
      }
    }
    change.stamp(
      from: state(before: ticket, over: confirmed), ticket: tickets.upperBound,
      inPlaceOf: isFollowed ? old : nil)
    return change
  }

  /// The mutations without effect on the view, by ticket.
  package var setAside: [MutationSetAside<Change>] {
    var list: [MutationSetAside<Change>] = []
    for pending in queue {
      guard let refusal = pending.refusal else { continue }
      list.append(
        MutationSetAside(ticket: pending.ticket, change: pending.change, reason: .threw(refusal)))
    }
    for refused in refused {
      list.append(
        MutationSetAside(
          ticket: refused.ticket, change: refused.change, reason: .refused(refused.refusal.code)))
    }
    return list.sorted { $0.ticket < $1.ticket }
  }

  /// The mutations that may or may not be at the server, and wait for an echo or for the app. Those
  /// that are still looked for are not among them.
  package var uncertain: [Pending] { queue.filter { $0.isUncertain && !$0.isToSeek } }

  @usableFromInline package var status: OutboxStatus { sending.status }

  /// Whether the app wants its changes sent: started, and not stopped since.
  @usableFromInline package var isStarted: Bool { sending.isStarted }

  /// Whether it waits for a pull before it pushes.
  @usableFromInline package var isHeldBack: Bool { sending.isHeldBack }

  /// Whether the server has answered the last push with ``PushAnswer/behind``.
  @usableFromInline var isBehind: Bool { sending.isBehind }

  /// The first mutation that has left and that an event shows; `nil`: none. Only for servers
  /// without IDs.
  @usableFromInline
  func ticket(shownBy isShown: (Change) -> Bool) -> MutationTicket? {
    guard !countsIDs else { return nil }
    return queue.first { !hasNeverLeft($0) && isShown($0.change) }?.ticket
  }

  /// The first mutation that the server has accepted, and of which the model holds what it created;
  /// `nil`: none.
  @usableFromInline
  func heldMutation(where isHeld: (Change, Int64) -> Bool) -> MutationTicket? {
    queue.first { pending in
      pending.created.map { isHeld(pending.change, $0) } ?? false
    }?.ticket
  }

  /// Whether this push is out.
  @usableFromInline
  func isPushing(_ id: RequestID) -> Bool {
    if case .pushing(let push) = sending.status { push.id == id } else { false }
  }

  /// Whether a pull should bring news: a push was answered since the last pull was asked for, and
  /// what the server has accepted is not confirmed.
  @usableFromInline package var wantsPull: Bool {
    sending.wantsPull && (sending.isBehind || queue.contains { $0.isAccepted })
  }

  /// The present version. It counts every change that must be durable.
  @usableFromInline package var currentVersion: OutboxVersion { version }

  /// The last version that is known to be durable.
  @usableFromInline package var storedVersion: OutboxVersion { stored }

  /// The last of this client's mutations that the confirmed state has run.
  package var confirmedID: MutationID { confirmed }

  /// The last ticket given.
  package var newestTicket: MutationTicket { lastTicket }

  /// Whether the server has said that it has this mutation, which is still pending. O(n).
  @inlinable
  package func isAccepted(_ ticket: MutationTicket) -> Bool {
    queue.contains { $0.isAccepted && $0.tickets.contains(ticket) }
  }

  /// How many groups of mutations are remembered as overruled.
  package var overruledCount: Int { overruled.count }

  /// Returns what became of a mutation. `nil`: the ticket was never given, or was resolved so long
  /// ago that acknowledged, discarded and overruled are no longer told apart. O(n).
  @inlinable
  package func state(of ticket: MutationTicket) -> MutationState? {
    guard ticket.number > 0, ticket <= lastTicket else { return nil }
    if let index = index(of: ticket) { return state(of: queue[index]) }
    if refused.contains(where: { $0.tickets.contains(ticket) }) { return .setAside }
    if isUnreadable(ticket) { return .setAside }
    if discards.contains(where: { $0.contains(ticket) }) { return .discarded }
    if overruled.contains(where: { $0.contains(ticket) }) { return .overruled }
    return ticket <= forgotten ? nil : .acknowledged
  }

  /// The mutation that a ticket stands for, and all its tickets; `nil`: it is not here.
  @inlinable
  package func mutation(of ticket: MutationTicket) -> (change: Change, tickets: TicketSet)? {
    if let index = index(of: ticket) { return (queue[index].change, queue[index].tickets) }
    let item = refused.first { $0.tickets.contains(ticket) }
    return item.map { ($0.change, $0.tickets) }
  }

  @inlinable
  func state(of pending: Pending) -> MutationState {
    switch pending.stage {
    case .unsent: pending.refusal == nil ? .queued : .setAside
    case .marked(let id): isOut(id) ? .sent : .queued
    case .sent, .accepted: .sent
    case .uncertain: pending.isToSeek ? .sent : .uncertain
    }
  }

  /// Whether the mutation's present form is durable, so that no crash can lose it.
  package func isStored(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return queue[index].version <= stored }
    if let refused = refused.first(where: { $0.tickets.contains(ticket) }) {
      return refused.version <= stored
    }
    return ticket.number > 0 && ticket <= lastTicket
  }

  /// Whether an answer to this push would be believed.
  package func isCurrent(_ id: RequestID) -> Bool {
    if case .pushing(let push) = sending.status { push.id == id } else { false }
  }
}
