/// All of a replica as a store keeps it: its rows, and when they were written last. A checkpoint.
public struct StoredForm: Sendable {
  /// In any order, each key once.
  public var rows: [(key: StoredKey, value: [UInt8])]
  /// By the wall clock: the only time that means something after a restart.
  public var writtenAt: WallTime
  /// Tables of which the rows are not among them: they stay where they are until they are asked for.
  public var unloaded: [StoredTable]

  @inlinable
  public init(
    rows: [(key: StoredKey, value: [UInt8])], writtenAt: WallTime, unloaded: [StoredTable] = []
  ) {
    self.rows = rows
    self.writtenAt = writtenAt
    self.unloaded = unloaded
  }
}

/// One step of a replica on its way: the rows that are otherwise after it, with the finger that it led
/// to among them. Written whole or not at all.
public struct JournalEntry: Hashable, Sendable {
  /// First of all, every row in these ranges is gone.
  public var cleared: [RowRange]
  /// Each key at most once.
  public var rows: [StoredRow]
  public var writtenAt: WallTime

  @inlinable
  public init(cleared: [RowRange] = [], rows: [StoredRow], writtenAt: WallTime) {
    self.cleared = cleared
    self.rows = rows
    self.writtenAt = writtenAt
  }
}
