package import SyncProtocols
internal import UpdateMachine

/// NextApp's law: the server alone changes anything, in the order in which it is asked. So the view
/// is the confirmed state, in which no row lacks its parent. No deleted row comes back.
package struct TablesLaw: ConflictLaw {
  package typealias Change = TableChange

  let model: TablesApp.Model
  let local: LocalChanges<TableChange>
  let truth: TablesTruth
  /// Of what the client shows; −1: what it showed at an earlier one.
  let position: Int64
  /// How often each change was sent by each client.
  let sends: VersionedMap<String, Int>

  package func objectionToView(_ book: Book) -> UserObjection? {
    guard local.view.state == model.state else {
      return UserObjection(
        .causality, TablesApp.describe(model), "another view, with \(local.outbox)")
    }
    for (key, row) in model.state.rows {
      guard let parent = row.parent, !model.state.rows.contains(parent) else { continue }
      return UserObjection(
        .causality, "\(key) shows with its parent", TablesApp.describe(model))
    }
    return nil
  }

  package func objectionToServer(_ book: Book) -> UserObjection? {
    truth.wrong.first.map {
      UserObjection(.input, "the server makes what is possible, and only that", $0)
    }
  }

  package func copies(of made: Made) -> (found: Int, maximum: Int) {
    let name = TablesTruth.name(of: made.change, by: local.outbox.client)
    return (found(made)?.count ?? 0, sends[name] ?? 0)
  }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    found(made).map { position < 0 || $0.first <= position } ?? false
  }

  /// A notification may bring both what the client did and what has replaced it since.
  package func canOverrule(_ made: Made, _ book: Book) -> Bool { isConfirmed(made, book) }

  private func found(_ made: Made) -> TablesTruth.Made? {
    truth.made(made.change, by: local.outbox.client)
  }
}
