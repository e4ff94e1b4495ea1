#if !hasFeature(Embedded)

  /// Where one replica is kept between two starts, as rows of bytes: model, finger and outbox as one
  /// thing.
  ///
  /// Calls are made off the actor, in child tasks of `run()`, one after the other, in the order of the
  /// changes. What a call has written is durable when it returns; one that throws has changed nothing.
  ///
  /// Each store belongs to one machine of one process. `stop()` waits for the call that is out. If
  /// the task of `run()` is cancelled, so is that call's: it may then fail, or better, end what it
  /// does, for `run()` waits for it. A load that fails then is made again by the next run.
  public protocol Store: Sendable {
    /// What is saved; `nil`: nothing, or it was erased. Called before anything else is asked of it, and
    /// never again unless it was cut short, or everything is needed after all. The rows of some tables
    /// may be left where they are: then the form says so, and they are asked for when they are needed.
    /// A store may also give everything. If it throws, the error is reported and the replica
    /// starts stale; what is saved stays, and is set aside before anything takes its place. A replica
    /// whose user changes things does not start then: it is *unknown*, and reads again after a wait of
    /// 0.1 s, growing to 10 s, unless what is there is `unreadable`.
    ///
    /// - Parameter tables: those whose rows may be left.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> StoredForm?

    /// Rows that were left when it was loaded, as they are saved now: for each question those that it
    /// finds, in its order, and no more than it asks for. If it throws, the error is reported, and what
    /// was left is given up: the server is asked for it anew. If it is `unreadable`, what is saved is set
    /// aside, and what is in memory saved in its place.
    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]]

    /// Writes a step, whole or not at all: the price of what has changed, whatever is saved. Until it
    /// returns nothing of it is acknowledged to the server. If it throws, the error is reported, and
    /// it is called again after a wait of 0.1 s, growing to 10 s, with all that has changed until
    /// then.
    func append(_ entry: JournalEntry) async throws(StoreError)

    /// Writes everything, in place of what is saved, whole or not at all: when there is nothing that a
    /// step could be a step from.
    func checkpoint(_ form: StoredForm) async throws(StoreError)

    /// What is saved could not be read or understood: a later version wrote it, or it is damaged. It is
    /// kept where nobody reads or overwrites it, and from here on nothing is saved.
    func setAside() async throws(StoreError)

    /// Deletes what is saved; right also if there is nothing. If it throws, so does
    /// ``UpdateMachine/logOut()``.
    func erase() async throws(StoreError)
  }

  extension Store {
    /// Everything that is saved.
    public func load() async throws(StoreError) -> StoredForm? { try await load(leaving: []) }
  }

  /// Why a store could not do what it was asked to.
  public enum StoreError: Error, Hashable, Sendable {
    /// The medium failed: full, read-only, gone. Saving is tried again, with growing waits. So is loading
    /// where changes of the user's may be in what is saved; elsewhere the replica starts stale.
    case failed(String)
    /// What is there cannot be understood: it is set aside, and the replica starts stale.
    case unreadable(String)
  }

  /// A store in memory: outlives the machine, not the process. Never fails. May be called from
  /// anywhere, as when a test looks at what is saved.
  public actor MemoryStore: Store {
    private var rows = VersionedMap<StoredKey, [UInt8]>()
    private var writtenAt: WallTime?

    /// A store in which nothing is saved.
    public init() {}

    public func load(leaving tables: [StoredTable]) async throws(StoreError) -> StoredForm? {
      guard let writtenAt else { return nil }
      let form = rows.filter { !tables.contains($0.key.table) }
      return StoredForm(
        rows: form.map { (key: $0.key, value: $0.value) }, writtenAt: writtenAt, unloaded: tables)
    }

    public func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
      queries.map { rows.answer(to: $0) }
    }

    public func append(_ entry: JournalEntry) async throws(StoreError) {
      for range in entry.cleared { rows.clear(range) }
      for row in entry.rows { rows[row.key] = row.value }
      writtenAt = entry.writtenAt
    }

    public func checkpoint(_ form: StoredForm) async throws(StoreError) {
      rows = VersionedMap()
      for row in form.rows { rows[row.key] = row.value }
      writtenAt = form.writtenAt
    }

    /// There is no place aside: what is saved is dropped.
    public func setAside() async throws(StoreError) { forget() }

    public func erase() async throws(StoreError) { forget() }

    private func forget() {
      rows = VersionedMap()
      writtenAt = nil
    }
  }

#endif
