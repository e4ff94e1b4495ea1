package import UpdateMachine

/// The server half: all records of one user, as a plain value. Each record has the stamps of its
/// creation and last change. A deleted one is kept as a tombstone until ``prune(through:)``.
package struct RecordServer: Sendable {
  /// Identifies this server. A restored one needs another.
  package private(set) var epoch: UInt64
  /// The most records in one page of a first pull.
  package var pageMaximum: Int
  /// Whether a push in conflict is taken except for the records in conflict. If not, nothing is.
  package var takesRest = false
  /// When tables and columns were added. Those not named here have been there from the beginning.
  package var additions: [Addition] = []

  /// The stamp of the last change.
  package private(set) var last = RecordStamp.none
  /// Tombstones up to this stamp are gone, so earlier fingers are of no use.
  package private(set) var horizon = RecordStamp.none
  private var rows = VersionedMap<RecordKey, Row>()

  /// The breach that waits for its occasion.
  package var breach: RecordBreach?
  /// How often the server broke its contract.
  package private(set) var breachCount: Int64 = 0
  /// The rows before the last change, for the plant that reads too early.
  private var earlierRows = VersionedMap<RecordKey, Row>()

  private struct Row: Sendable {
    /// `nil`: a tombstone.
    var columns: JSONObject?
    var createdAt: RecordStamp
    var changedAt: RecordStamp
  }

  /// A table, or a column of a table, with the version of the schema that added it.
  package struct Addition: Hashable, Sendable {
    package var version: UInt64
    package var table: String
    /// `nil`: the whole table.
    package var column: String?

    package init(_ version: UInt64, table: String, column: String? = nil) {
      self.version = version
      self.table = table
      self.column = column
    }
  }

  package init(epoch: UInt64, pageMaximum: Int = 100) {
    self.epoch = epoch
    self.pageMaximum = max(pageMaximum, 1)
  }

  // MARK: Changes

  /// Sets columns of a record, and creates it if it does not exist.
  package mutating func set(_ key: RecordKey, _ columns: JSONObject, at now: Moment) {
    write(key, rows[key]?.columns?.merged(with: columns) ?? columns, at: now)
  }

  /// Deletes a record. Its children must be deleted one by one.
  package mutating func delete(_ key: RecordKey, at now: Moment) { write(key, nil, at: now) }

  private mutating func write(
    _ key: RecordKey, _ columns: JSONObject?, isAnew: Bool = false, at now: Moment
  ) {
    let old = rows[key]
    // Two changes in one millisecond get two stamps.
    if !breaks(.sharesAStamp) {
      last = RecordStamp(max(last.number + 1, UInt64(max(now.milliseconds, 0))))
    }
    let isCreated = old?.columns == nil || isAnew
    earlierRows = rows
    rows[key] = Row(
      columns: columns, createdAt: isCreated ? last : old?.createdAt ?? last, changedAt: last)
  }

  /// Forgets the deletions up to a stamp. Clients that have not pulled since must start over.
  package mutating func prune(through stamp: RecordStamp) {
    horizon = max(horizon, min(stamp, last))
    for (key, row) in rows where row.columns == nil && row.changedAt <= horizon { rows[key] = nil }
  }

  /// Makes every client start over, as after a restore from a backup.
  package mutating func renew(epoch: UInt64) { self.epoch = epoch }

  // MARK: Requests

  /// Answers a pull; `nil`: the finger is of no use any more, and the client must register.
  package mutating func pull(_ pull: RecordPull) -> PulledRecords? {
    guard let finger = pull.finger else { return page(after: nil, of: last, pull) }
    guard finger.epoch == epoch, horizon <= finger.lastPulledAt, finger.lastPulledAt <= last
    else { return nil }
    if let cursor = finger.cursor { return page(after: cursor, of: finger.lastPulledAt, pull) }
    let since = finger.lastPulledAt
    var answer = PulledRecords(
      client: pull.client, epoch: epoch, pulledAt: last, content: .changes(since: since),
      schema: pull.notesSchema ? pull.schema : nil)
    if since == last, pull.migratesFrom == nil { return answer }  // Nothing to look for.
    let read = since < last && breaks(.readsTooEarly) ? earlierRows : rows
    for (key, row) in read where isKnown(key.table, to: pull.schema) {
      let isCompleted = isExtended(key.table, pull)
      guard row.changedAt > since || isCompleted else { continue }
      guard let columns = row.columns else {
        if row.changedAt > since { answer.deleted.append(key) }
        continue
      }
      let sent = RecordRow(key, known(columns, of: key.table, to: pull.schema))
      if row.createdAt > since { answer.created.append(sent) } else { answer.updated.append(sent) }
    }
    if !answer.deleted.isEmpty, breaks(.leavesADeletionOut) { answer.deleted.removeLast() }
    return answer
  }

  private func page(
    after cursor: RecordKey?, of moment: RecordStamp, _ pull: RecordPull
  ) -> PulledRecords {
    var created: [RecordRow] = []
    var through: RecordKey?
    let rest = cursor.map { rows.ascending(after: $0) } ?? rows.makeIterator()
    for (key, row) in rest {
      guard let columns = row.columns, isKnown(key.table, to: pull.schema) else { continue }
      if created.count == pageMaximum {
        through = created.last?.key
        break
      }
      created.append(RecordRow(key, known(columns, of: key.table, to: pull.schema)))
    }
    return PulledRecords(
      client: pull.client, epoch: epoch, pulledAt: moment,
      content: .page(after: cursor, through: through),
      schema: pull.notesSchema ? pull.schema : nil, isCurrent: through == nil && moment == last,
      created: created)
  }

  /// Whether a pull after this finger would bring anything.
  package func hasNews(since finger: RecordFinger) -> Bool {
    finger.epoch != epoch || !finger.isWhole || finger.lastPulledAt != last
  }

  /// Applies a push. Returns the records that it has not touched, because they have changed since
  /// the client's last pull; perhaps by an earlier copy of the push, so a second one has no effect.
  /// Stamps only grow. So what was refused once stays refused, however late another copy comes.
  ///
  /// Pushed again after the next pull, a change that had come already finds its own values: nothing
  /// is written, except for a tombstone, and it is accepted.
  package mutating func push(_ push: RecordPush, at now: Moment) -> [RecordKey] {
    var keys = push.deleted + push.created.map { $0.key } + push.updated.map { $0.key }
    keys.sort()
    guard push.epoch == epoch, push.lastPulledAt >= horizon else { return keys }
    var changed = self
    var refused: [RecordKey] = []
    for (index, key) in keys.enumerated() where index == 0 || keys[index - 1] != key {
      let present = rows[key]
      if let present, present.changedAt > push.lastPulledAt {
        guard changed.breaks(.overwritesAConflict) else {
          refused.append(key)
          continue
        }
      }
      let isDeleted = push.deleted.contains(key)
      var columns = isDeleted ? nil : present?.columns
      if let row = push.created.first(where: { $0.key == key }) {
        columns = columns?.merged(with: row.columns) ?? row.columns
      }
      if let row = push.updated.first(where: { $0.key == key }) {
        columns = columns?.merged(with: row.columns)
      }
      // Every deletion leaves a new tombstone, so that late copies are refused: those of this push,
      // and those of an earlier creation that has not come yet.
      guard columns != present?.columns || columns == nil && isDeleted else { continue }
      if changed.breaks(.makesAPushInPart) { continue }
      changed.write(key, columns, isAnew: isDeleted, at: now)
    }
    if refused.isEmpty || takesRest { self = changed }
    return refused
  }

  /// Whether this breach was armed. Then it happens now.
  private mutating func breaks(_ occasion: RecordBreach) -> Bool {
    guard breach == occasion else { return false }
    breach = nil
    breachCount += 1
    return true
  }

  // MARK: Queries

  /// The records, without tombstones.
  package var records: VersionedMap<RecordKey, JSONObject> {
    var records = VersionedMap<RecordKey, JSONObject>()
    for (key, row) in rows { records[key] = row.columns }
    return records
  }

  // MARK: The schema

  private func isKnown(_ table: String, to schema: UInt64) -> Bool {
    !additions.contains { $0.version > schema && $0.column == nil && $0.table == table }
  }

  private func known(
    _ columns: JSONObject, of table: String, to schema: UInt64
  ) -> JSONObject {
    var known = columns
    for addition in additions where addition.version > schema && addition.table == table {
      if let column = addition.column { known[column] = nil }
    }
    return known
  }

  /// Whether a migration completes the records of a table: it, or a column of it, is new.
  private func isExtended(_ table: String, _ pull: RecordPull) -> Bool {
    guard let from = pull.migratesFrom else { return false }
    return additions.contains {
      $0.table == table && from < $0.version && $0.version <= pull.schema
    }
  }
}

extension JSONObject {
  fileprivate func merged(with other: JSONObject) -> JSONObject {
    var all = self
    for member in other.members { all[member.name] = member.value }
    return all
  }
}
