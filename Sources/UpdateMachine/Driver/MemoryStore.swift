#if !hasFeature(Embedded)

  /// A store in memory: outlives the machine, not the process. Never fails. May be called from
  /// anywhere, for example by a test that looks at what is saved.
  public actor MemoryStore: SyncStore {
    private var rows = VersionedMap<StoredKey, [UInt8]>()
    private var writtenAt: WallTime?
    /// What was set aside, the oldest first.
    public private(set) var aside: [SavedRows] = []

    /// A store in which nothing is saved.
    public init() {}

    public func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
      guard let writtenAt else { return nil }
      let form = rows.filter { !tables.contains($0.key.table) }
      return SavedRows(
        rows: form.map { (key: $0.key, value: $0.value) }, writtenAt: writtenAt, unloaded: tables)
    }

    public func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
      queries.map { rows.answer(to: $0) }
    }

    public func append(_ entry: JournalEntry) async throws(StoreError) {
      if let follows = entry.follows {
        guard let writtenAt else { throw .unreadable("what this is a step from was erased") }
        guard follows == writtenAt else { throw .taken("another step was written meanwhile") }
      }
      for range in entry.cleared { rows.clear(range) }
      for row in entry.rows { rows[row.key] = row.value }
      writtenAt = entry.writtenAt
    }

    public func checkpoint(_ form: SavedRows) async throws(StoreError) { write(form) }

    public func replace(with form: SavedRows) async throws(StoreError) {
      if let writtenAt {
        let old = rows.map { (key: $0.key, value: $0.value) }
        aside.append(SavedRows(rows: old, writtenAt: writtenAt))
      }
      write(form)
    }

    /// Deletes what is saved, and what was set aside.
    public func erase() async throws(StoreError) {
      forget()
      aside = []
    }

    private func write(_ form: SavedRows) {
      rows = VersionedMap()
      for row in form.rows { rows[row.key] = row.value }
      writtenAt = form.writtenAt
    }

    private func forget() {
      rows = VersionedMap()
      writtenAt = nil
    }
  }

#endif
