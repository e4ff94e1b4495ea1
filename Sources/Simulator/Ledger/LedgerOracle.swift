internal import SyncProtocols
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
    /// Several where changes were coalesced.
    var tickets: ClosedRange<MutationTicket>
    var entries: [Int64]
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
      case .acknowledged, .discarded, nil: break
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

  /// The same, also without one copy of each entry that was given up too late.
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

/// Oracle H, and what a client sees of all transactions. The view is the confirmed state with the
/// pending changes replayed over it. Each of the user's entries is in it once and in order, or
/// visibly set aside. The server has run nothing twice, out of order, or not made by the user.
enum LedgerOracle {
  typealias Model = LedgerApp.Model
  typealias Local = LocalChanges<LedgerChange>

  static func objection(
    to model: Model, _ local: Local, _ book: LedgerBook, _ truth: LedgerApp.Truth
  ) -> UserObjection? {
    objectionToView(model, local) ?? objectionToEntries(local, book)
      ?? objectionToServer(truth, book) ?? objectionToWealth(local)
  }

  /// Compares the view with a simple replay.
  private static func objectionToView(
    _ model: Model, _ local: Local
  ) -> UserObjection? {
    let outbox = local.outbox
    var view = model.state
    for pending in outbox.pending {
      var transaction = ViewTransaction(on: view)
      let mutators = LedgerMutators(isServer: false)
      let change = pending.change
      let value = try? mutators.run(change.name, change.arguments, in: &transaction)
      if value != nil { view = transaction.view }
      guard (value == nil) != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then", "\(pending), \(outbox)")
    }
    guard view.map != local.view.state.map else { return nil }
    return UserObjection(
      .causality, LedgerApp.describe(LedgerApp.Truth(view: view)),
      LedgerApp.describe(LedgerApp.Truth(view: local.view.state)) + " with \(outbox)")
  }

  private static func objectionToEntries(
    _ local: Local, _ book: LedgerBook
  ) -> UserObjection? {
    let outbox = local.outbox
    let threw = outbox.pending.filter { $0.refusal != nil }
    let isSimple = outbox.setAside.isEmpty
    var expected: [Int64] = []
    for made in book.made {
      if !isSimple {
        let ticket = made.tickets.upperBound
        if outbox.state(of: ticket) == .setAside { continue }
        if threw.contains(where: { $0.tickets.contains(ticket) }) { continue }
      }
      expected += book.withoutDoubtful(made.entries)
    }
    let found = book.withoutLoose(entries(of: outbox.client, in: local.view.state))
    guard expected != found else { return nil }
    return UserObjection(
      .input, "what the user has made, each once and in order: \(words(expected))",
      "\(words(found)) with \(outbox)")
  }

  /// The server has run only the user's entries, in the user's order.
  private static func objectionToServer(
    _ truth: LedgerApp.Truth, _ book: LedgerBook
  ) -> UserObjection? {
    guard let client = book.client else { return nil }
    var left = book.made.flatMap { book.withoutDoubtful($0.entries) }[...]
    let run = book.withoutLoose(entries(of: client, in: truth.view))
    for entry in run {
      while let next = left.first, next != entry { left.removeFirst() }
      guard left.isEmpty else {
        left.removeFirst()
        continue
      }
      return UserObjection(
        .input,
        "the server runs, each once and in order: "
          + words(book.made.flatMap { $0.entries }), words(run))
    }
    return nil
  }

  /// Transactions are whole: what one account loses, another gains.
  private static func objectionToWealth(_ local: Local) -> UserObjection? {
    var sum: Int64 = 0
    for account in 0..<LedgerApp.accounts {
      sum += local.view.state[LedgerMutators.account(account)]?.int64 ?? 0
    }
    guard sum != LedgerApp.wealth else { return nil }
    return UserObjection(.causality, "all accounts hold \(LedgerApp.wealth)", "\(sum)")
  }

  private static func entries(of client: ClientID, in view: ViewMap<JSONValue>) -> [Int64] {
    view[LedgerMutators.list(of: client)]?.array?.compactMap { $0.int64 } ?? []
  }

  private static func words(_ entries: [Int64]) -> String {
    var text = ""
    for entry in entries { text += "\(entry) " }
    return text.isEmpty ? "nothing" : text
  }
}
