internal import SyncProtocols
internal import UpdateMachine

/// Oracle H where the client wins by column. The view is the confirmed state with the pending
/// changes over it. What was confirmed was written at the server, what was overruled was deleted
/// there, and nothing that was replaced or deleted comes back.
enum RecordsOracle {
  static func objection(
    to model: RecordModel, _ local: LocalChanges<RecordChange>, _ book: ChangeBook<RecordChange>,
    _ truth: RecordsTruth
  ) -> UserObjection? {
    objectionToView(model, local) ?? objectionToChanges(local.outbox, book, truth)
  }

  /// Compares the view with a simple replay.
  private static func objectionToView(
    _ model: RecordModel, _ local: LocalChanges<RecordChange>
  ) -> UserObjection? {
    var records: [(key: RecordKey, columns: JSONObject)] = []
    for (key, record) in model.state.records { records.append((key, record.columns)) }
    for pending in local.outbox.pending where pending.refusal == nil {
      let key = pending.change.key
      let index = records.firstIndex { $0.key == key }
      guard let set = pending.change.written else {
        if let index { records.remove(at: index) }
        continue
      }
      if index == nil { records.append((key, JSONObject())) }
      if case .replace = pending.change.action {
        records[index ?? records.count - 1].columns = JSONObject()
      }
      for column in set.members {
        records[index ?? records.count - 1].columns[column.name] = column.value
      }
    }
    records.sort { $0.key < $1.key }
    let shown = local.view.state.records.map { (key: $0.key, columns: $0.value.columns) }
    guard !records.elementsEqual(shown, by: { $0 == $1 }) else { return nil }
    return UserObjection(
      .causality, "\(RecordsApp.describe(model)) and what is pending",
      RecordsTruth.describe(local.view.state.records, { $0.columns }) + " with \(local.outbox)")
  }

  private static func objectionToChanges(
    _ outbox: Outbox<RecordChange>, _ book: ChangeBook<RecordChange>, _ truth: RecordsTruth
  ) -> UserObjection? {
    for made in book.made where !made.isDiscarded {
      let key = made.change.key
      let wasDeleted = truth.deleted[key] == true
      switch outbox.state(of: made.ticket) {
      case .queued, .sent, .setAside, .uncertain, .discarded: continue
      case .overruled:
        // Its creation may never have been made, because the user gave it up. Or the user has
        // deleted it, and a client cannot tell its own deletion from another's.
        let isOrphan = !truth.records.contains(key) && book.hasGivenUpCreation(of: key)
        if wasDeleted || isOrphan || book.hasDeleted(key) { continue }
        return UserObjection(
          .input, "\(made.ticket) is overruled only if \(key) was deleted", "\(outbox)")
      case .acknowledged, nil:
        guard let set = made.change.written else {
          if wasDeleted || !truth.records.contains(key) { continue }
          return UserObjection(.input, "\(key) was deleted by \(made.ticket)", "\(truth)")
        }
        for column in set.members where !book.doubtful.contains(column.value) {
          if truth.hasWritten(column.value, to: column.name, of: key) { continue }
          if book.isReplaced(made, column.name) { continue }
          return UserObjection(
            .input, "\(made.ticket), \(made.change), is confirmed once it is made", "\(truth)")
        }
      }
    }
    return nil
  }

  /// No push overwrites what its client has not pulled. Each value is written once, unless it was
  /// sent again: if an answer is lost, and others change the column before the next push, the
  /// client cannot know that its value had been there. So the client's is the last.
  static func objectionToServer(
    _ book: ChangeBook<RecordChange>, _ truth: RecordsTruth, _ sends: VersionedMap<String, Int>
  ) -> UserObjection? {
    if let key = truth.overwritten.first {
      return UserObjection(
        .input, "a push changes only what its client has seen", "\(key) was overwritten: \(truth)")
    }
    for value in truth.returned where !book.doubtful.contains(value) {
      guard book.made.contains(where: { $0.change.marks.contains(value) }) else { continue }
      let count = truth.returned.count { $0 == value }
      if count < sends["\(value)"] ?? 0 { continue }
      return UserObjection(
        .input, "\(value) is written as often as it was sent at most", "\(count + 1): \(truth)")
    }
    return nil
  }
}
