/// A whole replica as a store keeps it (a checkpoint): its rows, and when they were last written.
public struct SavedRows: Sendable {
  /// In any order; each key once.
  public var rows: [(key: StoredKey, value: [UInt8])]
  /// By the wall clock, the only clock that means something after a restart.
  public var writtenAt: WallTime
  /// Tables whose rows are left out. They stay in the store until they are asked for.
  public var unloaded: [StoredTable]

  /// Creates a saved form. By default, no table is unloaded.
  @inlinable
  public init(
    rows: [(key: StoredKey, value: [UInt8])], writtenAt: WallTime, unloaded: [StoredTable] = []
  ) {
    self.rows = rows
    self.writtenAt = writtenAt
    self.unloaded = unloaded
  }
}

/// One step of a replica: the rows that changed, including the finger that the step led to. Written
/// whole or not at all.
public struct JournalEntry: Hashable, Sendable {
  /// Ranges whose rows are removed before `rows` are written.
  public var cleared: [RowRange]
  /// Each key at most once.
  public var rows: [StoredRow]
  /// When the step was written, by the wall clock.
  public var writtenAt: WallTime
  /// When the form that the step extends was written; `nil`: unknown. If the store has a form of
  /// another time, another machine has written it, and the store throws ``StoreError/taken(_:)``.
  public var follows: WallTime?

  /// Creates the entry of one step. By default, no range is cleared, and any form may be extended.
  @inlinable
  public init(
    cleared: [RowRange] = [], rows: [StoredRow], writtenAt: WallTime, follows: WallTime? = nil
  ) {
    self.follows = follows
    self.cleared = cleared
    self.rows = rows
    self.writtenAt = writtenAt
  }
}

/// The user's changes of a saved form of which the model cannot be read. The server gives the model
/// again; the changes exist nowhere else. Made by ``SavedReplica/changes(in:)``.
public struct SavedChanges<Change: Mutation>: Sendable {
  @usableFromInline package var outbox: Outbox<Change>

  @usableFromInline
  package init(outbox: Outbox<Change>) { self.outbox = outbox }

  /// Those that the server had not confirmed, in order, without those that it refused.
  public var pending: [PendingMutation<Change>] { outbox.pending }

  /// Those that this version of the app cannot read.
  public var unreadable: [UnreadableMutation] { outbox.unreadable }
}
