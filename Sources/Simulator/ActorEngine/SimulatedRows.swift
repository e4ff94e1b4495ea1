#if !hasFeature(Embedded)

  internal import UpdateMachine

  // If a client's disk holds rows, its driver writes as in an app: through the library's own store
  // of replicas in rows. That store decides what is written, and whether as a step.

  extension SimulatedIncarnation {
    func makeStore() -> any ReplicaStore<App.Model, App.Server.Place> {
      let values = SimulatedStore(incarnation: self)
      guard let rows = App.Disk.rowsStore(on: SimulatedRows(values: values)) else { return values }
      return SimulatedRowStore(incarnation: self, rows: rows.store)
    }
  }

  /// The library's store of rows, which also tells the world what is saved.
  private struct SimulatedRowStore<App: SimulatedApp>: ReplicaStore {
    typealias Model = App.Model
    typealias Place = App.Server.Place

    let incarnation: SimulatedIncarnation<App>
    let rows: any ReplicaStore<Model, Place>

    func load() async throws(StoreError) -> DatedReplica<Model, Place>? { try await rows.load() }

    func loadChanges() async throws(StoreError) -> SavedChanges<Model.Change>? {
      try await rows.loadChanges()
    }

    func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
      try await rows.read(queries)
    }

    func save(_ replica: DatedReplica<Model, Place>) async throws(StoreError) {
      incarnation.saving = replica
      try await rows.save(replica)
    }

    func erase() async throws(StoreError) { try await rows.erase() }
  }

  /// The world's disk as a store of rows.
  private struct SimulatedRows<App: SimulatedApp>: SyncStore {
    let values: SimulatedStore<App>
    private var incarnation: SimulatedIncarnation<App> { values.incarnation }

    init(values: SimulatedStore<App>) { self.values = values }

    /// The world decides when the form is read, what its time of writing is, and whether rows stay
    /// on the disk.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows? {
      let changesAlone = incarnation.unreadable
      incarnation.unreadable = nil
      let read = if let changesAlone { changesAlone } else { try await values.load() }
      guard let device = incarnation.engine?.world.clients[incarnation.client] else { return nil }
      if device.disk.isUnreadable { throw .unreadable("the saved form is damaged, or newer") }
      guard let read else { return nil }
      let left = device.leavesRows || changesAlone != nil ? tables : []
      let rows = device.disk.entries.filter { !left.contains($0.key.table) }
      return SavedRows(rows: rows, writtenAt: read.writtenAt, unloaded: left)
    }

    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
      let answers = await withCheckedContinuation {
        (continuation: CheckedContinuation<[RowAnswer]?, Never>) in
        guard let engine = incarnation.engine else { return continuation.resume(returning: nil) }
        engine.read(queries, continuation, incarnation)
      }
      guard let answers else { throw .failed("the disk cannot be read now") }
      return answers.map { $0.rows }
    }

    func append(_ entry: JournalEntry) async throws(StoreError) {
      try await perform(.append(entry.rows, clearing: entry.cleared))
    }

    func checkpoint(_ form: SavedRows) async throws(StoreError) {
      try await perform(.checkpoint(form.rows.map { StoredRow($0.key, $0.value) }))
    }

    private func perform(_ step: DiskStep) async throws(StoreError) {
      let isDone = await withCheckedContinuation { continuation in
        guard let engine = incarnation.engine, let saving = incarnation.saving else {
          return continuation.resume(returning: false)
        }
        incarnation.save = continuation
        engine.save(saving, step, incarnation)
      }
      if !isDone { throw .failed("the disk is full") }
    }

    func replace(with form: SavedRows) async throws(StoreError) {
      try await perform(.replace(form.rows.map { StoredRow($0.key, $0.value) }))
    }

    func erase() async throws(StoreError) { try await values.erase() }
  }

#endif
