package import UpdateMachine

/// A change that can be told from every other one, wherever it shows: it leaves marks that no other
/// change leaves.
package protocol MarkedChange: Mutation, Equatable, CustomStringConvertible {
  associatedtype Mark: Equatable, Sendable
  /// Its marks, in order. A change without marks, such as a deletion, cannot be told from others.
  var marks: [Mark] { get }
}

/// What a user has made, in ticket order: the user's own knowledge, independent of the outbox.
package struct ChangeBook<Change: MarkedChange>: OutboxBook {
  package typealias Mark = Change.Mark

  package var client: ClientID?
  package var formerNames: [ClientID] = []
  package private(set) var made: [Made] = []
  /// Marks that may be left any number of times: an older outbox came back, or the user tried again
  /// what may have been made.
  package private(set) var doubtful: [Mark] = []
  /// The greatest ticket given before an older outbox came back. An echo of an old change is
  /// mistaken for one of the new change with the same ticket.
  private var doubtfulTicket = MutationTicket(0)
  package var doubtfulID = MutationID.none

  /// One change.
  package struct Made: Sendable {
    package let ticket: MutationTicket
    package var change: Change
    /// The marks of what the user's edits replaced: the server never had them.
    var former: [Mark] = []
    /// How often it may have been sent: once, and again with each retry while it was uncertain.
    var sends = 1
    package var isDiscarded = false
    /// It was given up when it may already have been sent, so it may still be made.
    package var isLoose = false
    /// It threw in a replay, so later ones have gone ahead of it.
    var hasMoved = false
    /// Its user has undone it. If the server refuses it, it is gone.
    var isUndone = false
    /// The change that it takes back; if that one is gone, so is this.
    var takesBack: MutationTicket?
    /// What the outbox has said has become of it: overruled, acknowledged, or neither yet.
    var outcome: MutationState?
  }

  package init(of client: ClientID? = nil) { self.client = client }

  // MARK: What the user does

  /// - Parameter confirmed: the last mutation that a server which counts has confirmed.
  package mutating func note(
    _ ticket: MutationTicket, _ change: Change, confirmed: MutationID = .none
  ) {
    made.append(Made(ticket: ticket, change: change))
    if ticket <= doubtfulTicket || confirmed < doubtfulID { doubtful += change.marks }
  }

  /// Notes that a change takes back another.
  mutating func noteReversal(_ ticket: MutationTicket, of undone: MutationTicket) {
    change(TicketSet(ticket)) { $0.takesBack = undone }
    setUndone(undone, true)
  }

  /// Notes that a change is undone, or no longer: then what it undoes itself stands again, or is
  /// undone again.
  private mutating func setUndone(_ ticket: MutationTicket, _ isUndone: Bool) {
    guard let index = made.firstIndex(where: { $0.ticket == ticket }) else { return }
    made[index].isUndone = isUndone
    if let other = made[index].takesBack { setUndone(other, !isUndone) }
  }

  /// Forgets a change that never left, because its user makes it again.
  mutating func forgetDiscarded(_ change: Change) {
    made.removeAll { $0.isDiscarded && !$0.isLoose && $0.change.marks == change.marks }
  }

  /// Puts a change in the place of one. What was coalesced is edited as one. An undo that is edited
  /// is a change of its own: what it took back stands again.
  mutating func edit(_ tickets: TicketSet, to change: Change) {
    for made in made where tickets.contains(made.ticket) {
      if let undone = made.takesBack { setUndone(undone, false) }
    }
    if made.contains(where: { tickets.contains($0.ticket) && isDoubtful($0) }) {
      doubtful += change.marks
    }
    self.change(tickets) {
      if $0.ticket == tickets.upperBound {
        $0.former += $0.change.marks
        $0.change = change
        $0.takesBack = nil
        $0.isUndone = false
      } else {
        $0.isDiscarded = true
      }
    }
  }

  /// Notes what the outbox has made of changes: stamped, or coalesced.
  mutating func rewrite(_ tickets: TicketSet, to change: Change) {
    self.change(tickets) { $0.change = change }
  }

  /// - Parameter isCertain: whether it has never left.
  package mutating func discard(_ tickets: TicketSet, isCertain: Bool) {
    for made in made where tickets.contains(made.ticket) {
      if let undone = made.takesBack { setUndone(undone, false) }
    }
    change(tickets) {
      $0.isDiscarded = true
      if !isCertain { $0.isLoose = true }
    }
  }

  mutating func noteRetry(_ tickets: TicketSet) { change(tickets) { $0.sends += 1 } }

  package mutating func doubt(_ tickets: TicketSet) {
    for made in made where tickets.contains(made.ticket) { doubtful += made.change.marks }
  }

  package mutating func noteMove(of tickets: TicketSet) { change(tickets) { $0.hasMoved = true } }

  private mutating func change(_ tickets: TicketSet, _ body: (inout Made) -> Void) {
    for index in made.indices where tickets.contains(made[index].ticket) { body(&made[index]) }
  }

  // MARK: What becomes of it

  /// Notes the changes that the outbox has newly overruled or acknowledged, and returns them.
  mutating func takeNews(_ outbox: Outbox<Change>) -> [(made: Made, state: MutationState)] {
    var news: [(made: Made, state: MutationState)] = []
    for index in made.indices {
      guard let state = outbox.state(of: made[index].ticket), state != made[index].outcome,
        state == .overruled || state == .acknowledged
      else { continue }
      made[index].outcome = state
      news.append((made[index], state))
    }
    return news
  }

  /// The book after an older outbox came back and replaced a newer one. The outcome of whatever was
  /// pending in either is unknown.
  ///
  /// - Parameter newest: the greatest ID that was sent.
  func cameBack(
    inPlaceOf newer: ChangeBook, _ outbox: Outbox<Change>, sentThrough newest: MutationID
  ) -> ChangeBook {
    var book = self
    for made in made {
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside: book.doubtful += made.change.marks + made.former
      case .acknowledged, .discarded, .overruled, nil: break
      }
    }
    let countsIDs = outbox.delivery == .exactlyOnce
    if countsIDs {
      book.doubtful += loose
      book.doubtfulID = max(doubtfulID, newest)
    }
    guard newer.names.contains(where: names.contains) else { return book }
    book.doubtful += newer.doubtful
    if countsIDs {
      book.doubtful += newer.loose
    } else {
      book.doubtfulTicket = max(doubtfulTicket, newer.made.last?.ticket ?? MutationTicket(0))
    }
    let known = made.flatMap { $0.change.marks }
    for made in newer.made {
      book.doubtful += (made.change.marks + made.former).filter { !known.contains($0) }
    }
    return book
  }

  // MARK: Queries

  func isDoubtful(_ made: Made) -> Bool { made.change.marks.contains { doubtful.contains($0) } }

  /// The marks of what was given up too late.
  private var loose: [Mark] { made.flatMap { $0.isLoose ? $0.change.marks : [] } }

  /// The marks without those that may be left any number of times.
  package func withoutDoubtful(_ marks: [Mark]) -> [Mark] {
    doubtful.isEmpty ? marks : marks.filter { !doubtful.contains($0) }
  }
}
