package import UpdateMachine

/// What a user has made, in ticket order: the user's own knowledge, independent of the outbox.
package struct MadeChanges<Change: Mutation & Equatable>: OutboxBook {
  package var client: ClientID?
  package var formerNames: [ClientID] = []
  private(set) var made: [Made] = []
  package var doubtfulID = MutationID.none

  /// One change.
  struct Made: Sendable {
    var ticket: MutationTicket
    /// The ticket under which it is sent: another's, if the two were coalesced.
    var sentAs: MutationTicket
    /// Its last form.
    var change: Change
    var isDiscarded = false
    /// Whether it was discarded before it could be sent.
    var isNeverSent = false
    /// Its user has undone it. If the server refuses it, it is gone.
    var isUndone = false
    /// The change that it takes back; if that one is gone, so is this.
    var takesBack: MutationTicket?
    /// Whether an older outbox came back meanwhile, so that anything may have become of it.
    var isDoubtful: Bool
  }

  package init(of client: ClientID?) { self.client = client }

  package mutating func noteMove(of tickets: TicketSet) {}

  /// - Parameters:
  ///   - confirmed: the last mutation that the server has confirmed.
  ///   - isGivenAgain: whether another change had this ticket.
  mutating func note(
    _ ticket: MutationTicket, _ change: Change, confirmed: MutationID, isGivenAgain: Bool
  ) {
    made.append(
      Made(
        ticket: ticket, sentAs: ticket, change: change,
        isDoubtful: isGivenAgain || confirmed < doubtfulID))
  }

  /// Notes what the outbox has made of what waits there: stamped, edited or coalesced.
  mutating func note(_ pending: PendingMutation<Change>) {
    for index in made.indices where pending.tickets.contains(made[index].ticket) {
      made[index].sentAs = pending.ticket
      made[index].change = pending.change
    }
  }

  /// - Parameter isCertain: whether it has never left.
  mutating func discard(_ tickets: TicketSet, isCertain: Bool) {
    for made in made where tickets.contains(made.ticket) {
      if let undone = made.takesBack { setUndone(undone, false) }
    }
    for index in made.indices where tickets.contains(made[index].ticket) {
      made[index].isDiscarded = true
      made[index].isNeverSent = isCertain
    }
  }

  /// Notes that a change was edited. An undo is one of its own then: what it took back stands
  /// again.
  mutating func edit(_ tickets: TicketSet) {
    for made in made where tickets.contains(made.ticket) {
      if let undone = made.takesBack { setUndone(undone, false) }
    }
    for index in made.indices where tickets.contains(made[index].ticket) {
      made[index].takesBack = nil
      made[index].isUndone = false
    }
  }

  /// Notes that a change takes back another.
  mutating func noteReversal(_ ticket: MutationTicket, of undone: MutationTicket) {
    for index in made.indices where made[index].ticket == ticket {
      made[index].takesBack = undone
    }
    setUndone(undone, true)
  }

  /// Notes that a change is undone, or no longer: then what it undoes itself stands again, or is
  /// undone again.
  private mutating func setUndone(_ ticket: MutationTicket, _ isUndone: Bool) {
    guard let index = made.firstIndex(where: { $0.ticket == ticket }) else { return }
    made[index].isUndone = isUndone
    if let other = made[index].takesBack { setUndone(other, !isUndone) }
  }

  /// The same, after an older outbox came back, which may send again what the server has.
  ///
  /// - Parameter newest: the greatest ID that was sent.
  func cameBack(sentThrough newest: MutationID) -> MadeChanges {
    var book = self
    for index in book.made.indices { book.made[index].isDoubtful = true }
    book.doubtfulID = max(doubtfulID, newest)
    return book
  }
}
