#if !hasFeature(Embedded)

  package import UpdateMachine

  /// What a user has made, in ticket order: the user's own knowledge, independent of the outbox.
  package struct MadeChanges<Change: Mutation & Equatable>: OutboxBook {
    package var client: ClientID?
    private(set) var made: [Made] = []
    /// The greatest ID sent before an older outbox came back. Until the server has confirmed that
    /// many, it may take a new change for the old one with its ID.
    private var doubtfulID = MutationID.none

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
      /// Whether its user has undone it, or it undoes another. If the one is gone, so is the other.
      var isOfUndo = false
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
      for index in made.indices where tickets.contains(made[index].ticket) {
        made[index].isDiscarded = true
        made[index].isNeverSent = isCertain
      }
    }

    /// Notes that a change takes back another.
    mutating func noteReversal(_ ticket: MutationTicket, of undone: MutationTicket) {
      for index in made.indices where [ticket, undone].contains(made[index].ticket) {
        made[index].isOfUndo = true
      }
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

#endif
