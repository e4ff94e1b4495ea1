internal import SyncProtocols
internal import UpdateMachine

/// Oracle H where changes are made only at the server. The view is the confirmed state, in which no
/// row lacks its parent. What is confirmed was made, and shows. Nothing is made more often than it
/// was sent, and no deleted row comes back.
enum TablesOracle {
  static func objection(
    to model: TablesApp.Model, _ local: LocalChanges<TableChange>, _ book: ChangeBook<TableChange>,
    _ truth: TablesTruth, at position: Int64, _ sends: VersionedMap<String, Int>
  ) -> UserObjection? {
    guard local.view.state == model.state else {
      return UserObjection(
        .causality, TablesApp.describe(model), "another view, with \(local.outbox)")
    }
    for (key, row) in model.state.rows {
      guard let parent = row.parent, !model.state.rows.contains(parent) else { continue }
      return UserObjection(
        .causality, "\(key) shows with its parent", TablesApp.describe(model))
    }
    if let wrong = truth.wrong.first {
      return UserObjection(.input, "the server makes what is possible, and only that", wrong)
    }
    return objectionToChanges(local.outbox, book, truth, at: position, sends)
  }

  private static func objectionToChanges(
    _ outbox: Outbox<TableChange>, _ book: ChangeBook<TableChange>, _ truth: TablesTruth,
    at position: Int64, _ sends: VersionedMap<String, Int>
  ) -> UserObjection? {
    for made in book.made {
      let found = truth.made(made.change, by: outbox.client)
      let sent = sends[TablesTruth.name(of: made.change, by: outbox.client)] ?? 0
      if let found, found.count > sent {
        return UserObjection(
          .input, "\(made.change) is made \(sent) times at most", "\(found.count) times")
      }
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .uncertain, .setAside, .discarded: continue
      case .acknowledged, nil: if made.isDiscarded { continue }
      case .overruled: break
      }
      // A client without a position shows what it showed at an earlier one.
      if let found, position < 0 || found.first <= position { continue }
      return UserObjection(
        .input, "\(made.ticket), \(made.change), is confirmed once it shows",
        "\(found.map { "made at \($0.first)" } ?? "never made"), shows \(position), \(outbox)")
    }
    return nil
  }
}
