public import UpdateMachine

/// A user's change of one record.
///
///     let milk = RecordKey("tasks", "1")
///     try await machine.mutate(RecordChange(.update(["title": "Milk"]), milk))
///
/// Pending changes are replayed over each newer confirmed state, so a record has the server's
/// values, except in the columns that were changed here. What the server has deleted is gone, even
/// if it was changed here: such changes are overruled.
public struct RecordChange: Mutation, Hashable {
  /// The record that is changed.
  public var key: RecordKey { didSet { expected = nil } }
  /// What is done to it. Another action, or another record, makes an undo a change like any other.
  public var action: Action { didSet { expected = nil } }
  /// The last pull that its maker had seen. Only later news can overrule it; by default, none can.
  var seen = RecordStamp.never
  /// What it must find; `nil`: anything. Only what undoes or redoes a change expects something, so
  /// that it takes back nobody else's later work. It is the client's own condition: the server does
  /// not hear of it, and takes no push that has not seen everything.
  package var expected: Expectation?

  /// What is done to a record.
  public enum Action: Hashable, Sendable {
    /// Creates it with these columns. If it exists, it is updated.
    case create(JSONObject)
    /// Creates it with exactly these columns, in the place of what there is. A creation becomes
    /// this if the user has deleted the record, and that is still pending.
    case replace(JSONObject)
    /// Sets these columns.
    case update(JSONObject)
    /// Deletes it. If it does not exist, nothing happens.
    case delete
  }

  /// What the inverse of a change must find.
  package enum Expectation: Hashable, Sendable {
    /// No record.
    case nothing
    /// A record in which these columns have these values, whatever the others have.
    case columns(JSONObject)
    /// A record with these columns, and no others.
    case record(JSONObject)
  }

  /// Why a change has no effect.
  public enum Refusal: Error, Hashable, Sendable {
    /// The record does not exist, or no longer.
    case gone
    /// The record was to be deleted, and the server has created it anew. If the user has created it
    /// anew here, and the answer was lost, it is that one: the server does not say whose it is.
    case createdAnew
    /// The record does not exist here, and no pull has ended yet. It may come with the first one.
    case notPulled
    /// It would undo or redo something, and somebody has changed that since.
    case changed
  }

  /// Creates a change.
  public init(_ action: Action, _ key: RecordKey) {
    self.key = key
    self.action = action
  }

  public var object: RecordKey? { key }

  public var name: String {
    switch action {
    case .create: "create"
    case .replace: "replace"
    case .update: "update"
    case .delete: "delete"
    }
  }

  /// Notes what the maker had seen. Nothing that we pull later overrules a deletion of a record
  /// that was created here, or a creation that follows a deletion here: it may be our own echo.
  public mutating func stamp(
    from state: RecordState, ticket: MutationTicket, inPlaceOf old: RecordChange?
  ) {
    let (record, deletedHere) = (state.records[key], state.deletedHere[key])
    seen = state.lastPulledAt
    switch action {
    case .create(let columns):
      guard record == nil, deletedHere != nil else { break }
      let expected = expected
      action = .replace(columns)
      self.expected = expected
    case .replace, .update: break
    case .delete:
      if let record {
        if record.createdAt == nil { seen = .never }
      } else {
        seen = deletedHere ?? seen
      }
    }
  }

  public func apply(to state: inout RecordState) throws(Refusal) {
    let record = state.records[key]
    if let record, !canFind(record.columns) { throw .changed }
    switch action {
    case .create(let columns):
      if record == nil, let deletedAt = state.deletions[key], deletedAt > seen { throw .gone }
      var new = record ?? SyncedRecord(JSONObject())
      new.columns.mergeColumns(columns)
      state.records[key] = new
    case .replace(let columns): state.records[key] = SyncedRecord(columns)
    case .update(let columns):
      guard var new = record else { throw state.lastPulledAt == .none ? .notPulled : .gone }
      new.columns.mergeColumns(columns)
      state.records[key] = new
    case .delete:
      if let createdAt = record?.createdAt, createdAt > seen { throw .createdAnew }
      state.records[key] = nil
      state.deletedHere[key] = seen
    }
  }

  /// Whether it finds what it expects, or what it leads to itself: an answer may have been lost,
  /// and then what was pulled contains its own effect.
  private func canFind(_ found: JSONObject) -> Bool {
    switch expected {
    case nil: true
    case .nothing: columns.map { found.hasSameValues(as: $0) } ?? false
    case .columns(let old):
      old.members.allSatisfy {
        let value = found[$0.name] ?? .null
        return value == $0.value || value == columns?[$0.name]
      }
    case .record(let old): found.hasSameValues(as: old)
    }
  }

  /// A refusal comes from what is confirmed, unless nothing is yet. An undo that would take back
  /// the work of others is set aside, and its user can see that.
  public func isOverruled(by refusal: Refusal) -> Bool {
    refusal != .notPulled && refusal != .changed
  }

  /// Not with what expects something: one condition cannot stand for both.
  public func coalesced(with later: RecordChange) -> RecordChange? {
    guard later.key == key, expected == nil, later.expected == nil else { return nil }
    var both = self
    switch (action, later.action) {
    case (.delete, .delete): return self
    case (_, .delete), (_, .replace): return later
    case (.create(var columns), .create(let next)), (.create(var columns), .update(let next)):
      columns.mergeColumns(next)
      both.action = .create(columns)
    case (.replace(var columns), .create(let next)), (.replace(var columns), .update(let next)):
      columns.mergeColumns(next)
      both.action = .replace(columns)
    case (.update(var columns), .update(let next)):
      columns.mergeColumns(next)
      both.action = .update(columns)
    case (.update, .create), (.delete, .create), (.delete, .update): return nil
    }
    return both
  }

  /// The inverse, with what it must find:
  ///
  /// - of an update: the old values of the changed columns, if they still have the new ones;
  /// - of a creation: a deletion, if the record is still as it was created;
  /// - of a deletion: the same record, if there is none now.
  public func inverse(from before: RecordState, to after: RecordState) -> RecordChange? {
    var inverse: RecordChange
    switch (before.records[key]?.columns, after.records[key]?.columns) {
    case (let old?, let new?):
      let changed = old.columns(differingIn: new)
      guard !changed.members.isEmpty else { return nil }
      inverse = RecordChange(.update(changed), key)
      inverse.expected = .columns(new.columns(differingIn: old))
    case (let old?, nil):
      inverse = RecordChange(.create(old), key)
      inverse.expected = .nothing
    case (nil, let new?):
      inverse = RecordChange(.delete, key)
      inverse.expected = .record(new)
    case (nil, nil): return nil
    }
    return inverse
  }

  /// The columns that it sets; `nil`: it deletes.
  var columns: JSONObject? {
    switch action {
    case .create(let columns), .replace(let columns), .update(let columns): columns
    case .delete: nil
    }
  }
}

extension JSONObject {
  /// The columns whose values differ in another record, with the values of this one. A column that
  /// a record does not have is null.
  fileprivate func columns(differingIn other: JSONObject) -> JSONObject {
    var columns = JSONObject()
    for name in members.map({ $0.name }) + other.members.map({ $0.name }) {
      let value = self[name] ?? .null
      if value != other[name] ?? .null { columns[name] = value }
    }
    return columns
  }

  fileprivate func hasSameValues(as other: JSONObject) -> Bool {
    columns(differingIn: other).members.isEmpty
  }
}
