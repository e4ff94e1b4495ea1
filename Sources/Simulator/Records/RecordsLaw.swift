package import SyncProtocols
internal import UpdateMachine

/// WatermelonDB's law: the client wins by column, and a deletion wins over all. No push overwrites
/// what its client has not pulled, and nothing that was replaced or deleted comes back, unless its
/// user undoes or redoes something. And nobody takes back what somebody else has done.
package struct RecordsLaw: ConflictLaw {
  package typealias Change = RecordChange

  let model: RecordModel
  let local: LocalChanges<RecordChange>
  let truth: RecordsTruth
  /// How often each value was sent by each client.
  let sends: VersionedMap<String, Int>

  package func objectionToView(_ book: Book) -> UserObjection? {
    var records: [(key: RecordKey, columns: JSONObject)] = []
    for (key, record) in model.state.records { records.append((key, record.columns)) }
    var idle: [TicketSet] = []
    for pending in local.outbox.pending {
      let change = pending.change
      let index = records.firstIndex { $0.key == change.key }
      let found = index.map { records[$0].columns }
      // What undoes a change without an effect has none, whatever it finds.
      let isIdle =
        pending.takesBack.map { undone in idle.contains { $0.contains(undone) } } ?? false
      if pending.refusal != nil { idle.append(pending.tickets) }
      if !isIdle, change.isExpected(found) == (pending.refusal == .changed) {
        return UserObjection(
          .causality, "an undo is set aside if it does not find what it takes back, and only then",
          "\(change) finds \(found.map { "\(JSONValue.object($0))" } ?? "nothing"): \(pending)")
      }
      if pending.refusal != nil { continue }
      let new = change.made(of: found)
      if let index { records.remove(at: index) }
      if let new { records.append((change.key, new)) }
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

  /// A client writes each value as often as it has sent it at most. So each is written once, unless
  /// it was sent again: by an undo or a redo, which writes an old value, or because an answer was
  /// lost. If others change the column before the next push, the client cannot know that its value
  /// had been there. So the client's is the last.
  static func objection(
    to truth: RecordsTruth, _ book: Book, _ sends: VersionedMap<String, Int>
  ) -> UserObjection? {
    if let key = truth.overwritten.first {
      return UserObjection(
        .input, "a push changes only what its client has seen", "\(key) was overwritten: \(truth)")
    }
    guard let client = book.client else { return nil }
    for (value, writer) in truth.returned
    where writer == client && !book.doubtful.contains(value) {
      let count = truth.writes(of: value, by: client)
      if count <= sends[RecordsTruth.name(of: value, by: client)] ?? 0 { continue }
      return UserObjection(
        .input, "\(value) is written as often as it was sent at most", "\(count): \(truth)")
    }
    return nil
  }

  package func isConfirmed(_ made: Made, _ book: Book) -> Bool {
    let key = made.change.key
    if isWithoutEffect(made, book) { return false }
    guard let set = made.change.written else {
      return truth.deleted[key] == true || !truth.records.contains(key)
        || book.isFollowed(made)
    }
    return set.members.allSatisfy {
      truth.hasWritten($0.value, to: $0.name, of: key) || book.isReplaced(made, $0.name)
    }
  }

  /// Whether the server has still what an undo or a redo takes back, and this client itself has put
  /// it there. The value that it writes instead says nothing: it was there before.
  private func isWithoutEffect(_ made: Made, _ book: Book) -> Bool {
    let (key, change) = (made.change.key, made.change)
    guard let expected = change.expected, let client = book.client else { return false }
    let found = truth.records[key]
    switch expected {
    case .nothing:
      return found == nil && truth.lastWriter(of: key) == client
        && !book.isFollowed(made, byDeletion: true)
    case .record(let columns):
      return found == columns && !book.isFollowed(made)
        && columns.members.allSatisfy { truth.lastWriter(of: key, $0.name) == client }
    case .columns(let columns):
      return columns.members.contains {
        found?[$0.name] == $0.value && truth.lastWriter(of: key, $0.name) == client
          && !book.isReplaced(made, $0.name)
      }
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
