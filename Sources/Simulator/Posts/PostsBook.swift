package import UpdateMachine

/// What a user has posted, in ticket order, and how often each post was sent: the user's own
/// knowledge, independent of the outbox.
package struct PostsBook: OutboxBook {
  /// The client that the record belongs to; `nil`: none yet.
  package var client: ClientID?
  private(set) var made: [Made] = []
  /// Entries that may be posted any number of times, because an older outbox came back.
  private(set) var doubtful: [Int64] = []
  /// The greatest ticket before that. An echo of an old post is mistaken for one of the new post
  /// with the same ticket.
  private var doubtfulThrough = MutationTicket(0)

  struct Made: Sendable {
    var ticket: MutationTicket
    var entry: Int64
    /// The entries that the user's edits replaced; the server never had them.
    var former: [Int64] = []
    /// How often the post may have been sent: 1, plus 1 for each retry while it was uncertain.
    var sends = 1
    var isDiscarded = false
    /// It threw in a replay, so later ones have gone ahead of it.
    var hasMoved = false
  }

  package init(of client: ClientID? = nil) { self.client = client }

  mutating func note(_ ticket: MutationTicket, _ entry: Int64) {
    made.append(Made(ticket: ticket, entry: entry))
    if ticket <= doubtfulThrough { doubtful.append(entry) }
  }

  mutating func edit(_ ticket: MutationTicket, to entry: Int64) {
    let isDoubtful = made.contains { $0.ticket == ticket && doubtful.contains($0.entry) }
    if isDoubtful { doubtful.append(entry) }
    change(ticket) {
      $0.former.append($0.entry)
      $0.entry = entry
    }
  }

  mutating func noteRetry(_ ticket: MutationTicket) { change(ticket) { $0.sends += 1 } }

  package mutating func noteMove(of ticket: MutationTicket) {
    change(ticket) { $0.hasMoved = true }
  }

  mutating func discard(_ ticket: MutationTicket) { change(ticket) { $0.isDiscarded = true } }

  /// The record after an older outbox came back and replaced a newer one. The outcome of whatever
  /// was pending in either is unknown.
  func cameBack(inPlaceOf newer: PostsBook, _ outbox: Outbox<PostChange>) -> PostsBook {
    var book = self
    for made in made {
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside: book.doubtful += [made.entry] + made.former
      case .acknowledged, .discarded, .overruled, nil: break
      }
    }
    guard newer.client == client else { return book }
    book.doubtful += newer.doubtful
    book.doubtfulThrough = max(doubtfulThrough, newer.made.last?.ticket ?? MutationTicket(0))
    for other in newer.made {
      let same = made.first { $0.ticket == other.ticket }
      for entry in [other.entry] + other.former where entry != same?.entry {
        book.doubtful.append(entry)
      }
    }
    return book
  }

  private mutating func change(_ ticket: MutationTicket, _ body: (inout Made) -> Void) {
    guard let index = made.firstIndex(where: { $0.ticket == ticket }) else { return }
    body(&made[index])
  }
}
