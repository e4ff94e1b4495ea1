internal import SyncProtocols
internal import UpdateMachine

/// Replicache's law: the server replays each mutation once, in the client's order, over what is
/// there by then. Each leaves its entry in its client's list. A transaction is seen whole.
package struct LedgerLaw: ConflictLaw {
  package typealias Change = LedgerChange

  /// Whose list the changes go into.
  let owner: ClientID
  let model: LedgerApp.Model
  let local: LocalChanges<LedgerChange>
  let truth: LedgerApp.Truth

  package func objectionToView(_ book: Book) -> UserObjection? {
    var view = model.state
    var thrown: [Int64] = []
    for pending in local.outbox.pending {
      var transaction = ViewTransaction(on: view)
      let mutators = LedgerMutators(isServer: false)
      let change = pending.change
      // An undo has no effect while the change that it undoes has none.
      var isRefused = change.entries.contains { thrown.contains($0 - LedgerChange.reversal) }
      do throws(ChangeRefusal) {
        if !isRefused {
          _ = try mutators.run(change.name, change.arguments, in: &transaction)
          view = transaction.view
        }
      } catch {
        isRefused = true
      }
      if isRefused { thrown += change.entries }
      guard isRefused != (pending.refusal != nil) else { continue }
      return UserObjection(
        .input, "a mutation is set aside when it throws, and only then",
        "\(pending), \(local.outbox)")
    }
    if view.map != local.view.state.map {
      return UserObjection(
        .causality, LedgerApp.describe(LedgerApp.Truth(view: view)),
        LedgerApp.describe(LedgerApp.Truth(view: local.view.state)) + " with \(local.outbox)")
    }
    // What is confirmed and also pending would show twice.
    let shown = book.withoutDoubtful(entries(in: view))
    for (index, entry) in shown.enumerated() where shown[..<index].contains(entry) {
      return UserObjection(
        .input, "entry \(entry) shows once", "\(shown) with \(local.outbox)")
    }
    var sum: Int64 = 0
    for account in 0..<LedgerApp.accounts {
      sum += view[LedgerMutators.account(account)]?.int64 ?? 0
    }
    if sum == LedgerApp.wealth { return nil }
    return UserObjection(.causality, "all accounts hold \(LedgerApp.wealth)", "\(sum)")
  }

  /// What was given up before it was sent is never made.
  package func copies(of made: Made) -> (found: Int, maximum: Int) {
    let entries = entries(in: truth.view)
    let count = entries.count { made.change.marks.contains($0) }
    return (count, made.isDiscarded && !made.isLoose ? 0 : made.change.marks.count)
  }

  /// Nothing is undone that was not done.
  package func objectionToServer(_ book: Book) -> UserObjection? {
    let found = book.withoutDoubtful(entries(in: truth.view))
    for (index, entry) in found.enumerated() where entry >= LedgerChange.reversal {
      let undone = entry - LedgerChange.reversal
      if book.doubtful.contains(undone) || found[..<index].contains(undone) { continue }
      return UserObjection(.input, "\(undone) is made before it is undone", "\(found)")
    }
    return nil
  }

  package var order: [Int64]? { entries(in: truth.view) }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    let entries = entries(in: model.state)
    return made.change.marks.allSatisfy { entries.contains($0) }
  }

  private func entries(in view: ViewMap<JSONValue>) -> [Int64] {
    view[LedgerMutators.list(of: owner)]?.array?.compactMap { $0.int64 } ?? []
  }
}
