package import UpdateMachine

/// Pending changes on their way to the server: what is left of them for each record. It has neither
/// status nor changed columns.
///
/// The server deletes first, then creates, then updates. So a record that was deleted and created
/// again is in both lists (SyncBugs 71). Creating a record that exists updates it. If a record has
/// changed since ``lastPulledAt``, the push must not touch it, even if it has the pushed values.
package struct RecordPush: Hashable, Sendable {
  /// The epoch of the server that gave the stamp.
  package var epoch: UInt64
  /// The client has seen every change up to this moment.
  package var lastPulledAt: RecordStamp
  /// Ascending.
  package private(set) var created: [RecordRow] = []
  /// Ascending. Each has only the columns to set.
  package private(set) var updated: [RecordRow] = []
  /// Ascending.
  package private(set) var deleted: [RecordKey] = []

  /// Collapses the mutations of an outbox's push, made at a finger.
  package init(_ mutations: [PushRequest<RecordChange>.Item], at finger: RecordFinger) {
    epoch = finger.epoch
    lastPulledAt = finger.lastPulledAt
    var deletions = VersionedMap<RecordKey, Bool>()
    var writes = VersionedMap<RecordKey, (columns: JSONObject, creates: Bool)>()
    for item in mutations {
      let change = item.change
      switch change.action {
      case .delete, .replace:
        deletions[change.key] = true
        writes[change.key] = nil
      case .create, .update: break
      }
      guard let columns = change.columns else { continue }
      var write = writes[change.key] ?? (JSONObject(), false)
      write.columns.mergeColumns(columns)
      if case .update = change.action {} else { write.creates = true }
      writes[change.key] = write
    }
    deleted = deletions.map { $0.key }
    for (key, write) in writes {
      let row = RecordRow(key, write.columns)
      if write.creates { created.append(row) } else { updated.append(row) }
    }
  }

  /// Returns the answer for the outbox.
  ///
  /// - Parameters:
  ///   - mutations: those of the push.
  ///   - refused: the records that the server has not touched, because they have changed since;
  ///     none: it has taken everything.
  ///   - tookRest: whether it has taken the others.
  package static func answer(
    to mutations: [PushRequest<RecordChange>.Item], refusing refused: [RecordKey], tookRest: Bool
  ) -> PushAnswer {
    if refused.isEmpty { return .accepted }
    let taken = mutations.filter { !refused.contains($0.change.key) }.map { $0.id }
    return tookRest && !taken.isEmpty ? .acceptedOnly(taken) : .behind
  }
}
