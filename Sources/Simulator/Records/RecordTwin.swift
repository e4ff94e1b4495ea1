internal import SyncProtocols
internal import UpdateMachine

/// The server half of records, said once more in the plainest way, for one version of the schema.
/// It is given what the library's server is given, and must say the same. The plants are said
/// again, too: so a server with a plant is judged like any other, and what differs must be what the
/// plant does.
struct RecordTwin: Sendable {
  private struct Row: Sendable {
    /// `nil`: it is deleted.
    var columns: JSONObject?
    var created: RecordStamp
    var changed: RecordStamp
  }

  private var rows = VersionedMap<RecordKey, Row>()
  /// Before the last change.
  private var earlier = VersionedMap<RecordKey, Row>()
  private var last = RecordStamp.none
  private var forgotten = RecordStamp.none
  var epoch: UInt64 = 1
  /// The breach that waits for its occasion.
  var breach: RecordBreach?
  private(set) var breachCount: Int64 = 0

  private mutating func commits(_ occasion: RecordBreach) -> Bool {
    guard breach == occasion else { return false }
    breach = nil
    breachCount += 1
    return true
  }

  // MARK: Changes

  mutating func set(_ key: RecordKey, _ columns: JSONObject, at now: Moment) {
    write(key, RecordTwin.merged(rows[key]?.columns, columns), at: now)
  }

  mutating func delete(_ key: RecordKey, at now: Moment) { write(key, nil, at: now) }

  /// No change has the stamp of another, and none is earlier than the one before it.
  private mutating func write(
    _ key: RecordKey, _ columns: JSONObject?, isAnew: Bool = false, at now: Moment
  ) {
    if !commits(.sharesAStamp) {
      let next = last.number + 1
      last = RecordStamp(now.milliseconds > Int64(next) ? UInt64(now.milliseconds) : next)
    }
    earlier = rows
    var row = rows[key] ?? Row(columns: nil, created: last, changed: last)
    if row.columns == nil || isAnew { row.created = last }
    row.columns = columns
    row.changed = last
    rows[key] = row
  }

  private static func merged(_ old: JSONObject?, _ columns: JSONObject) -> JSONObject {
    var new = old ?? JSONObject()
    for column in columns.members { new[column.name] = column.value }
    return new
  }

  /// Forgets all deletions so far.
  mutating func prune() {
    forgotten = last
    for key in rows.map({ $0.key }) where rows[key]?.columns == nil { rows[key] = nil }
  }

  // MARK: Pulls

  /// Everything that has changed after the finger, or the next page of everything; `nil`: it cannot
  /// be told from there.
  mutating func answer(to pull: RecordPull, pageMaximum: Int) -> PulledRecords? {
    guard let finger = pull.finger else {
      return page(after: nil, as: last, pull, pageMaximum: pageMaximum)
    }
    let since = finger.lastPulledAt
    guard finger.epoch == epoch, since >= forgotten, since <= last else { return nil }
    if let cursor = finger.cursor {
      return page(after: cursor, as: since, pull, pageMaximum: pageMaximum)
    }
    let source = since != last && commits(.readsTooEarly) ? earlier : rows
    let changed = source.filter { since < $0.value.changed }
    var deleted = changed.filter { $0.value.columns == nil }.map { $0.key }
    if !deleted.isEmpty, commits(.leavesADeletionOut) { deleted = deleted.dropLast() }
    func sent(_ isMeant: (Row) -> Bool) -> [RecordRow] {
      changed.compactMap { key, row in
        isMeant(row) ? row.columns.map { RecordRow(key, $0) } : nil
      }
    }
    return PulledRecords(
      client: pull.client, epoch: epoch, pulledAt: last, content: .changes(since: since),
      schema: pull.notesSchema ? pull.schema : nil, created: sent { since < $0.created },
      updated: sent { since >= $0.created }, deleted: deleted)
  }

  private func page(
    after cursor: RecordKey?, as moment: RecordStamp, _ pull: RecordPull, pageMaximum: Int
  ) -> PulledRecords {
    let all = rows.compactMap { key, row in row.columns.map { RecordRow(key, $0) } }
    let rest = cursor.map { cursor in all.filter { cursor < $0.key } } ?? all
    let through = rest.count > pageMaximum ? rest[pageMaximum - 1].key : nil
    return PulledRecords(
      client: pull.client, epoch: epoch, pulledAt: moment,
      content: .page(after: cursor, through: through),
      schema: pull.notesSchema ? pull.schema : nil, isCurrent: through == nil && moment == last,
      created: Array(rest.prefix(pageMaximum)))
  }

  // MARK: Pushes

  /// Makes what the mutations come to for each record, except for records that their client has not
  /// seen as they are. If there are any, nothing is made, unless the server takes the rest.
  mutating func push(
    _ mutations: [PushRequest<RecordChange>.Item], from finger: RecordFinger, takesRest: Bool,
    at now: Moment
  ) -> PushAnswer {
    guard finger.epoch == epoch, finger.lastPulledAt >= forgotten else { return .behind }
    var changed = self
    var refused: [RecordKey] = []
    var former: RecordKey?
    for key in mutations.map({ $0.change.key }).sorted() where key != former {
      former = key
      let row = rows[key]
      if let row, finger.lastPulledAt < row.changed, !changed.commits(.overwritesAConflict) {
        refused.append(key)
        continue
      }
      let own = mutations.map { $0.change }.filter { $0.key == key }
      changed.make(own, of: key, from: row?.columns, at: now)
    }
    if refused.isEmpty || takesRest { self = changed }
    if refused.isEmpty { return .accepted }
    let taken = mutations.filter { !refused.contains($0.change.key) }.map { $0.id }
    return takesRest && !taken.isEmpty ? .acceptedOnly(taken) : .behind
  }

  /// A deletion comes first, whatever was before it. What is written after it is one write: it
  /// creates the record if any of it does.
  private mutating func make(
    _ changes: [RecordChange], of key: RecordKey, from old: JSONObject?, at now: Moment
  ) {
    var (isDeleted, creates) = (false, false)
    var written: JSONObject?
    for change in changes {
      switch change.action {
      case .delete: (isDeleted, creates, written) = (true, false, nil)
      case .replace(let columns): (isDeleted, creates, written) = (true, true, columns)
      case .create(let columns):
        creates = true
        written = RecordTwin.merged(written, columns)
      case .update(let columns): written = RecordTwin.merged(written, columns)
      }
    }
    var new = isDeleted ? nil : old
    if let written, new != nil || creates { new = RecordTwin.merged(new, written) }
    if new == old, new != nil || !isDeleted { return }
    if commits(.makesAPushInPart) { return }
    write(key, new, isAnew: isDeleted, at: now)
  }
}
