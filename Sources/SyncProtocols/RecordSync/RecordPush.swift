public import UpdateMachine

/// Pending changes on their way to the server: what is left of them for each record. It has neither
/// status nor changed columns.
///
/// The server deletes first, then creates, then updates. So a record that was deleted and created
/// again is in both lists (SyncBugs 71). Creating a record that exists updates it. If a record has
/// changed since ``lastPulledAt``, the push must not touch it, even if it has the pushed values.
public struct RecordPush: Hashable, Sendable {
  /// The epoch of the server that gave the stamp.
  public let epoch: UInt64
  /// The client has seen every change up to this moment.
  public let lastPulledAt: RecordStamp
  /// The records to create. Ascending.
  public private(set) var created: [RecordRow] = []
  /// The records to update, each with only the columns to set. Ascending.
  public private(set) var updated: [RecordRow] = []
  /// The records to delete first. Ascending.
  public private(set) var deleted: [RecordKey] = []

  /// Collapses the mutations of a push: for each record, what is left of them.
  ///
  /// - Parameters:
  ///   - mutations: those of the push.
  ///   - finger: the finger that came with them.
  public init(_ mutations: [PushRequest<RecordChange>.Item], at finger: RecordFinger) {
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

  /// Returns what a source's `push` must return: all or some were taken, or the client must pull
  /// first.
  ///
  /// - Parameters:
  ///   - mutations: those of the push.
  ///   - refused: the records that the server has not touched, because they have changed since;
  ///     none: it has taken everything.
  ///   - tookRest: whether it has taken the others.
  public static func answer(
    to mutations: [PushRequest<RecordChange>.Item], refusing refused: [RecordKey], tookRest: Bool
  ) -> PushAnswer {
    if refused.isEmpty { return .accepted }
    let taken = mutations.filter { !refused.contains($0.change.key) }.map { $0.id }
    return tookRest && !taken.isEmpty ? .acceptedOnly(taken) : .behind
  }
}
