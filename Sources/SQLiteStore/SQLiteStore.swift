public import UpdateMachine

/// One replica in a file: the store of an `UpdateMachine`. Made by ``SQLiteFile/store(named:)``.
///
/// Each row is a row of a table, so a step costs what it changes, however much is saved. Calls run
/// on the file's own queue, one after the other. A call that has begun finishes, even if its task
/// is cancelled.
public struct SQLiteStore: SyncStore {
  /// The file that contains it.
  public let file: SQLiteFile
  /// Its name in the file.
  public let name: String

  /// Loads the rows in key order. Throws `unreadable` if one of them is damaged.
  public func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
    try await file.load(name, leaving: tables)
  }

  /// Writes one transaction. Throws `unreadable` if there is no saved form that the step could
  /// extend, and `taken` if that was written at another time than the step says.
  public func append(_ entry: JournalEntry) async throws(StoreError) {
    try await file.append(entry, to: name)
  }

  /// Writes one transaction.
  public func checkpoint(_ form: SavedRows) async throws(StoreError) {
    try await file.checkpoint(form, to: name)
  }

  /// Writes one transaction, in which the replica is also set aside. Its rows stay in the file,
  /// under its name and a number, and are never read again by this store. ``SQLiteFile/replicas()``
  /// lists them, and ``SQLiteFile/rows(of:)`` reads them.
  public func replace(with form: SavedRows) async throws(StoreError) {
    try await file.replace(name, with: form)
  }

  /// Deletes the replica, and everything set aside under its name, because the user has logged out.
  /// The bytes are overwritten. The file does not shrink; its space is reused.
  public func erase() async throws(StoreError) { try await file.erase(name, aside: nil) }

  /// Reads rows: O(log n + rows) for each query. All are answered as of one moment. Throws
  /// `unreadable` if one of the rows is damaged.
  public func rows(
    for queries: [RowQuery]
  ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
    try await file.rows(for: queries, of: name)
  }
}

/// A replica in a file.
public struct KeptReplica: Hashable, Sendable {
  /// The store's name.
  public var name: String
  /// 0: in use; 1, 2, …: set aside, the oldest first.
  public var aside: Int64
  /// When it was last written.
  public var writtenAt: WallTime

  /// Describes a replica, and writes nothing.
  public init(name: String, aside: Int64, writtenAt: WallTime) {
    self.name = name
    self.aside = aside
    self.writtenAt = writtenAt
  }
}

extension KeptReplica: CustomStringConvertible {
  public var description: String { aside == 0 ? name : "\(name), set aside (\(aside))" }
}
