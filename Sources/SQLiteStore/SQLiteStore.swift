public import UpdateMachine

/// One replica in a file: what an `UpdateMachine` is given as its store. Made by
/// ``SQLiteFile/store(named:)``.
///
/// Rows are rows of a table: a step costs what it changes, whatever is saved. Calls run on the file's
/// own queue, one after the other, and what has begun ends, whether its task is cancelled or not.
public struct SQLiteStore: Store {
  /// The file that it is in.
  public let file: SQLiteFile
  /// Its name there.
  public let name: String

  /// The rows in the order of their keys. Throws `unreadable` if one of them is damaged.
  public func load(leaving tables: [StoredTable]) async throws(StoreError) -> StoredForm? {
    try await file.load(name, leaving: tables)
  }

  /// One transaction. Throws `unreadable` if nothing is saved that this could be a step from.
  public func append(_ entry: JournalEntry) async throws(StoreError) {
    try await file.append(entry, to: name)
  }

  /// One transaction.
  public func checkpoint(_ form: StoredForm) async throws(StoreError) {
    try await file.checkpoint(form, to: name)
  }

  /// The rows stay in the file, under the replica's name and a number, and are never read again here:
  /// ``SQLiteFile/replicas()`` tells of them.
  public func setAside() async throws(StoreError) { try await file.setAside(name) }

  /// Deletes what was set aside under this name, too: it is the user's who logs out. The bytes are
  /// overwritten; the file stays as long as it is, and uses the place again.
  public func erase() async throws(StoreError) { try await file.erase(name, aside: nil) }

  /// O(log n + rows) for each question; all are answered as of one moment. Throws `unreadable` if one of
  /// the rows is damaged.
  public func rows(
    for queries: [RowQuery]
  ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
    try await file.rows(for: queries, of: name)
  }
}

/// A replica that a file holds.
public struct KeptReplica: Hashable, Sendable {
  /// The store's name.
  public var name: String
  /// 0: the one in use; 1, 2, …: set aside, the oldest first.
  public var aside: Int64
  /// When it was last written.
  public var writtenAt: WallTime

  public init(name: String, aside: Int64, writtenAt: WallTime) {
    self.name = name
    self.aside = aside
    self.writtenAt = writtenAt
  }
}

extension KeptReplica: CustomStringConvertible {
  public var description: String { aside == 0 ? name : "\(name), set aside (\(aside))" }
}
