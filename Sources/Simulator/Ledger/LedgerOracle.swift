internal import SyncProtocols
internal import UpdateMachine

/// Oracle H, and what a client sees of all transactions. The view is the confirmed state with the
/// pending changes replayed over it. Each of the user's entries is in it once and in order, or
/// visibly set aside. The server has run nothing twice, nothing out of order, and nothing that the
/// user has not made.
enum LedgerOracle {
  typealias Model = LedgerApp.Model
  typealias Local = LocalChanges<LedgerChange>

  static func objection(
    to model: Model, _ local: Local, _ book: ChangeBook<LedgerChange>, _ truth: LedgerApp.Truth
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
      var isRefused = false
      do throws(ChangeRefusal) {
        _ = try mutators.run(change.name, change.arguments, in: &transaction)
        view = transaction.view
      } catch {
        isRefused = true
      }
      guard isRefused != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then", "\(pending), \(outbox)")
    }
    guard view.map != local.view.state.map else { return nil }
    return UserObjection(
      .causality, LedgerApp.describe(LedgerApp.Truth(view: view)),
      LedgerApp.describe(LedgerApp.Truth(view: local.view.state)) + " with \(outbox)")
  }

  private static func objectionToEntries(
    _ local: Local, _ book: ChangeBook<LedgerChange>
  ) -> UserObjection? {
    let outbox = local.outbox
    let threw = outbox.pending.filter { $0.refusal != nil }
    let isSimple = outbox.setAside.isEmpty
    var expected: [Int64] = []
    for made in book.made where !made.isDiscarded {
      if !isSimple {
        if outbox.state(of: made.ticket) == .setAside { continue }
        if threw.contains(where: { $0.tickets.contains(made.ticket) }) { continue }
      }
      expected += book.withoutDoubtful(made.change.marks)
    }
    let found = book.withoutLoose(entries(of: outbox.client, in: local.view.state))
    guard
      expected.sorted() != found.sorted() || book.inPlace(expected) != book.inPlace(found)
    else { return nil }
    return UserObjection(
      .input, "what the user has made, each once and in order: \(words(expected))",
      "\(words(found)) with \(outbox)")
  }

  /// The server has run only the user's entries, each once. Those that have kept their places are
  /// in the user's order.
  private static func objectionToServer(
    _ truth: LedgerApp.Truth, _ book: ChangeBook<LedgerChange>
  ) -> UserObjection? {
    guard let client = book.client else { return nil }
    let made = book.withoutDoubtful(book.marks)
    let run = book.withoutLoose(entries(of: client, in: truth.view))
    if isWithin(run.sorted(), made.sorted()), isWithin(book.inPlace(run), book.inPlace(made)) {
      return nil
    }
    return UserObjection(
      .input,
      "the server runs, each once and in order: " + words(book.marks),
      words(run))
  }

  /// Whether the entries are some of these, in the same order.
  private static func isWithin(_ some: [Int64], _ all: [Int64]) -> Bool {
    var left = all[...]
    for entry in some {
      while let next = left.first, next != entry { left.removeFirst() }
      if left.isEmpty { return false }
      left.removeFirst()
    }
    return true
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
