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
  public var key: RecordKey
  /// What is done to it.
  public var action: Action
  /// The last pull that its maker had seen. Only later news can overrule it; by default, none can.
  var seen = RecordStamp.never

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

  /// Why a change has no effect.
  public enum Refusal: Error, Hashable, Sendable {
    /// The record does not exist, or no longer.
    case gone
    /// The record was to be deleted, and the server has created it anew. If the user has created it
    /// anew here, and the answer was lost, it is that one: the server does not say whose it is.
    case createdAnew
    /// The record does not exist here, and no pull has ended yet. It may come with the first one.
    case notPulled
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
      if record == nil, deletedHere != nil { action = .replace(columns) }
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

  /// A refusal comes from what is confirmed, unless nothing is yet.
  public func isOverruled(by refusal: Refusal) -> Bool { refusal != .notPulled }

  public func coalesced(with later: RecordChange) -> RecordChange? {
    guard later.key == key else { return nil }
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

  /// The columns that it sets; `nil`: it deletes.
  var columns: JSONObject? {
    switch action {
    case .create(let columns), .replace(let columns), .update(let columns): columns
    case .delete: nil
    }
  }
}
