// What can be asked of an outbox.

extension Outbox {
  /// What is pending, in the order in which it is sent and replayed.
  public var pending: [Pending] { queue }

  /// How many are kept, pending and refused.
  public var count: Int { queue.count + refused.count }

  /// The sum of the sizes of all that is kept. O(n).
  @inlinable
  var measuredSize: Int64 {
    refused.reduce(queue.reduce(0) { $0 + $1.change.boundedSize }) { $0 + $1.change.boundedSize }
  }

  public var isEmpty: Bool { queue.isEmpty && refused.isEmpty }

  /// What has no effect on the view, in the order of the tickets.
  public var setAside: [MutationSetAside<Change>] {
    var list: [MutationSetAside<Change>] = []
    for pending in queue {
      guard let refusal = pending.refusal else { continue }
      list.append(
        MutationSetAside(ticket: pending.ticket, change: pending.change, reason: .threw(refusal)))
    }
    for refused in refused {
      let item = MutationSetAside<Change>(
        ticket: refused.ticket, change: refused.change, reason: .refused(refused.refusal.code))
      let index = list.firstIndex { refused.ticket < $0.ticket } ?? list.count
      list.insert(item, at: index)
    }
    return list
  }

  /// What may or may not be at the server; waits for its echo, or for the app.
  public var uncertain: [Pending] { queue.filter { $0.isUncertain } }

  public var status: OutboxStatus { sending.status }

  /// Whether the app wants its changes sent: started, and not stopped since.
  public var isStarted: Bool { sending.isStarted }

  /// Whether it waits for a pull before it pushes.
  public var isHeldBack: Bool { sending.isHeldBack }

  /// Whether a pull would tell something: a push was answered since the last one was wished for, and
  /// what the server has accepted is not confirmed.
  public var wantsPull: Bool { sending.wantsPull && queue.first?.isAccepted == true }

  /// Counts up with every change that is to be durable: what is saved is the outbox as of this.
  public var currentVersion: OutboxVersion { version }

  /// The last that is known to be durable.
  public var storedVersion: OutboxVersion { stored }

  /// What the confirmed state has said last: it has run this client's mutations up to here.
  public var confirmedID: MutationID { confirmed }

  /// The last ticket that was given.
  public var newestTicket: MutationTicket { lastTicket }

  /// What has become of a mutation; `nil`: no such ticket was ever given, or it is so long resolved
  /// that nobody knows whether it was acknowledged or discarded. O(log n).
  public func state(of ticket: MutationTicket) -> MutationState? {
    guard ticket.number > 0, ticket <= lastTicket else { return nil }
    if let index = index(of: ticket) { return state(of: queue[index]) }
    if refused.contains(where: { $0.tickets.contains(ticket) }) { return .setAside }
    if discards.contains(where: { $0.contains(ticket) }) { return .discarded }
    return ticket <= forgotten ? nil : .acknowledged
  }

  func state(of pending: Pending) -> MutationState {
    switch pending.stage {
    case .unsent: pending.refusal == nil ? .queued : .setAside
    case .marked(let id): isOut(id) ? .sent : .queued
    case .sent, .accepted: .sent
    case .uncertain: .uncertain
    }
  }

  /// Whether a mutation is durable as it is now, so that no crash can lose it.
  public func isStored(_ ticket: MutationTicket) -> Bool {
    if let index = index(of: ticket) { return queue[index].version <= stored }
    if let refused = refused.first(where: { $0.tickets.contains(ticket) }) {
      return refused.version <= stored
    }
    return ticket.number > 0 && ticket <= lastTicket
  }

  /// Whether an answer to this push would be believed.
  public func isCurrent(_ id: RequestID) -> Bool {
    if case .pushing(let push) = sending.status { push.id == id } else { false }
  }
}
