package import SyncProtocols
internal import UpdateMachine

/// WatermelonDB's law: the client wins by column, and a deletion wins over all. No push overwrites
/// what its client has not pulled, and nothing that was replaced or deleted comes back.
package struct RecordsLaw: ConflictLaw {
  package typealias Change = RecordChange

  let model: RecordModel
  let local: LocalChanges<RecordChange>
  let truth: RecordsTruth
  /// How often each value was sent.
  let sends: VersionedMap<String, Int>

  package func objectionToView(_ book: Book) -> UserObjection? {
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

  package func objectionToServer(_ book: Book) -> UserObjection? {
    RecordsLaw.objection(to: truth, book, sends)
  }

  /// Each value is written once, unless it was sent again: if an answer is lost, and others change
  /// the column before the next push, the client cannot know that its value had been there. So the
  /// client's is the last.
  static func objection(
    to truth: RecordsTruth, _ book: Book, _ sends: VersionedMap<String, Int>
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

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    let key = made.change.key
    guard let set = made.change.written else {
      return truth.deleted[key] == true || !truth.records.contains(key)
    }
    return set.members.allSatisfy {
      truth.hasWritten($0.value, to: $0.name, of: key) || book.isReplaced(made, $0.name)
    }
  }

  /// A record's creation may never have been made, because the user gave it up. Or the user has
  /// deleted it, and a client cannot tell its own deletion from another's.
  package func canOverrule(_ made: Made, _ book: Book) -> Bool {
    let key = made.change.key
    let isOrphan = !truth.records.contains(key) && book.hasGivenUpCreation(of: key)
    return truth.deleted[key] == true || isOrphan || book.hasDeleted(key)
  }
}
