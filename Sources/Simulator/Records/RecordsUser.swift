package import SyncProtocols
package import UpdateMachine

extension ChangeBook<RecordChange> {
  /// Whether the user has given up the creation of a record.
  func hasGivenUpCreation(of key: RecordKey) -> Bool {
    made.contains {
      guard $0.change.key == key, case .create = $0.change.action else { return false }
      return $0.isDiscarded
    }
  }

  /// Whether the user has deleted a record, perhaps by trying an earlier deletion again.
  func hasDeleted(_ key: RecordKey) -> Bool {
    made.contains { $0.change.key == key && $0.change.action == .delete && !$0.isDiscarded }
  }

  /// Whether a later change of the same record has taken its place.
  func isReplaced(_ made: Made, _ column: String) -> Bool {
    self.made.contains { later in
      guard later.ticket > made.ticket, later.change.key == made.change.key else { return false }
      guard let columns = later.change.written else { return true }
      if case .replace = later.change.action { return true }
      return columns[column] != nil
    }
  }

  /// Whether the user has written the same record later, or, if that is asked, deleted it.
  func isFollowed(_ made: Made, byDeletion: Bool = false) -> Bool {
    self.made.contains {
      $0.ticket > made.ticket && $0.change.key == made.change.key
        && ($0.change.written == nil) == byDeletion
    }
  }
}

extension RecordChange {
  /// The columns that it writes; `nil`: it deletes.
  var written: JSONObject? {
    switch action {
    case .create(let columns), .replace(let columns), .update(let columns): columns
    case .delete: nil
    }
  }

  /// What it makes of a record; `nil`: there is none.
  func made(of old: JSONObject?) -> JSONObject? {
    guard let written else { return nil }
    if case .replace = action { return written }
    var new = old ?? JSONObject()
    for column in written.members { new[column.name] = column.value }
    return new
  }

  /// Whether it finds what it expects, or what it leads to: a second copy does no harm.
  func isExpected(_ found: JSONObject?) -> Bool {
    guard let expected, let found else { return true }
    func hasOnly(_ columns: JSONObject) -> Bool {
      (found.members + columns.members).allSatisfy {
        found[$0.name] ?? .null == columns[$0.name] ?? .null
      }
    }
    switch expected {
    case .nothing: return hasOnly(written ?? JSONObject())
    case .record(let columns): return hasOnly(columns)
    case .columns(let columns):
      return columns.members.allSatisfy {
        [$0.value, written?[$0.name]].contains(found[$0.name] ?? .null)
      }
    }
  }
}

/// No two users write one value, except those who undo or redo.
extension RecordChange: MarkedChange {
  package var marks: [JSONValue] { written?.members.map { $0.value } ?? [] }
}

extension RecordChange: CustomStringConvertible {
  /// "update items/7 {"a":"3/1"}".
  package var description: String {
    "\(name) \(key)" + (written.map { " \(JSONValue.object($0))" } ?? "")
  }
}

/// A user who creates, changes and deletes records, and reconsiders some.
package struct RecordsUser: ReconsideringUser {
  package typealias Model = RecordModel
  package typealias Truth = RecordsTruth
  package typealias Sync = RecordSync

  package var memory = ChangeBook<RecordChange>()
  package var check = OutboxCheck<RecordChange>()
  private var valueCount: Int64 = 0
  /// How often each value was sent by each client, in any process.
  private(set) var sends = VersionedMap<String, Int>()

  package init() {}

  package mutating func took(
    _ input: Body.Input?, _ effects: Body.Effects, _ client: Body, reading rows: ReadRows,
    at now: Moment
  ) {
    noteInput(effects, client, at: now)
    guard let push = effects.outbox.push else { return }
    for value in push.mutations.flatMap({ $0.change.marks }) {
      let name = RecordsTruth.name(of: value, by: push.client)
      sends[name] = (sends[name] ?? 0) + 1
    }
  }

  // MARK: What the user does

  package mutating func newChange(
    _ local: LocalChanges<RecordChange>, _ choices: inout Choices
  ) -> RecordChange {
    let keys = local.view.state.records.map { $0.key }
    let kind = choices.draw(.users, below: 6)
    let name = newName(choices)
    let value = JSONValue.string(name)
    guard !keys.isEmpty, kind > 0 else {
      return RecordChange(.create(.one("a", value)), RecordKey("items", name))
    }
    let key = keys[Int(choices.draw(.users, below: UInt64(keys.count)))]
    if kind == 1 { return RecordChange(.delete, key) }
    return RecordChange(.update(.one(choices.pick(.users, RecordsApp.columns), value)), key)
  }

  /// A text that nobody else writes: a client has no name before its first snapshot.
  private mutating func newName(_ choices: Choices) -> String {
    valueCount += 1
    return "\(choices.record.count)-\(valueCount)"
  }

  /// Writes another value to the same column.
  package mutating func newChange(
    inPlaceOf old: RecordChange, _ local: LocalChanges<RecordChange>, _ choices: inout Choices
  ) -> RecordChange? {
    guard let column = old.written?.members.first else { return nil }
    let columns = JSONObject.one(column.name, .string(newName(choices)))
    var change = old
    switch old.action {
    case .create, .replace: change.action = .create(columns)
    case .update, .delete: change.action = .update(columns)
    }
    return change
  }

  // MARK: What becomes of it

  package mutating func noteRetried(_ ticket: MutationTicket, in outbox: Outbox<RecordChange>) {
    if let old = outbox.mutation(of: ticket) { memory.doubt(old.tickets) }
  }

  // MARK: What the user is owed

  package func law(
    _ model: Model, _ local: LocalChanges<RecordChange>, _ truth: Truth, at position: Int64
  ) -> RecordsLaw { RecordsLaw(model: model, local: local, truth: truth, sends: sends) }

  package static func checksum(of state: RecordState) -> UInt64 {
    RecordsTruth.checksum(state.records, { $0.columns })
  }
}
