package import UpdateMachine

/// What a user has made and not given up, in ticket order: the user's own knowledge, independent of
/// the outbox.
package struct LedgerBook: OutboxBook {
  /// The client that the record belongs to; `nil`: none yet.
  package var client: ClientID?
  private(set) var made: [Made] = []
  /// Entries that the user gave up when they may already have been sent: they may still be made.
  private(set) var loose: [Int64] = []
  /// Entries that may be made any number of times, because an older outbox came back.
  private(set) var doubtful: [Int64] = []
  /// The greatest ID sent before that. Until the server has confirmed that many, a new change may
  /// be mistaken for the old one with its ID.
  private var doubtfulThrough = MutationID.none

  struct Made: Sendable {
    /// More than one ticket if changes were coalesced.
    var tickets: ClosedRange<MutationTicket>
    var entries: [Int64]
    /// It threw in a replay, so later ones have gone ahead of it.
    var hasMoved = false
  }

  package init(of client: ClientID? = nil) { self.client = client }

  /// - Parameter confirmed: the last mutation that the server has confirmed.
  mutating func note(
    _ ticket: MutationTicket, _ entries: [Int64], confirmed: MutationID
  ) {
    made.append(Made(tickets: ticket...ticket, entries: entries))
    if confirmed < doubtfulThrough { doubtful += entries }
  }

  /// Coalesces a change with the last one.
  mutating func merge(_ ticket: MutationTicket, _ entries: [Int64], confirmed: MutationID) {
    guard let last = made.indices.last else {
      return note(ticket, entries, confirmed: confirmed)
    }
    made[last].tickets = made[last].tickets.lowerBound...ticket
    doubt(entries, like: made[last])
    made[last].entries += entries
  }

  mutating func replace(_ ticket: MutationTicket, by entries: [Int64]) {
    for index in made.indices where made[index].tickets.contains(ticket) {
      doubt(entries, like: made[index])
      made[index].entries = entries
    }
  }

  package mutating func noteMove(of ticket: MutationTicket) {
    for index in made.indices where made[index].tickets.contains(ticket) {
      made[index].hasMoved = true
    }
  }

  /// The entries of those that have kept their places.
  func inPlace(_ entries: [Int64]) -> [Int64] {
    let moved = made.flatMap { $0.hasMoved ? $0.entries : [] }
    return moved.isEmpty ? entries : entries.filter { !moved.contains($0) }
  }

  private mutating func doubt(_ entries: [Int64], like made: Made) {
    if made.entries.contains(where: { doubtful.contains($0) }) { doubtful += entries }
  }

  /// The record after an older outbox came back and replaced a newer one. The outcome of whatever
  /// was pending in either is unknown.
  func cameBack(
    inPlaceOf newer: LedgerBook, _ outbox: Outbox<LedgerChange>, sentThrough newest: MutationID
  ) -> LedgerBook {
    var book = self
    book.doubtfulThrough = max(doubtfulThrough, newest)
    book.doubtful += loose
    for made in made {
      switch outbox.state(of: made.tickets.upperBound) {
      case .queued, .sent, .uncertain, .setAside: book.doubtful += made.entries
      case .acknowledged, .discarded, .overruled, nil: break
      }
    }
    guard newer.client == client else { return book }
    book.doubtful += newer.doubtful + newer.loose
    let known = made.flatMap { $0.entries }
    for made in newer.made { book.doubtful += made.entries.filter { !known.contains($0) } }
    return book
  }

  mutating func remove(_ ticket: MutationTicket, isCertain: Bool) {
    if !isCertain { loose += made.first { $0.tickets.contains(ticket) }?.entries ?? [] }
    made.removeAll { $0.tickets.contains(ticket) }
  }

  /// The entries without those that may be made any number of times.
  func withoutDoubtful(_ entries: [Int64]) -> [Int64] {
    doubtful.isEmpty ? entries : entries.filter { !doubtful.contains($0) }
  }

  /// The same entries, also without one copy of each that was given up too late.
  func withoutLoose(_ entries: [Int64]) -> [Int64] {
    let entries = withoutDoubtful(entries)
    guard !loose.isEmpty else { return entries }
    var left = loose
    return entries.filter { entry in
      guard let index = left.firstIndex(of: entry) else { return true }
      left.remove(at: index)
      return false
    }
  }
}
