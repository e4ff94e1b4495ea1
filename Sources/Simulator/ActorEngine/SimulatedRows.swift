#if !hasFeature(Embedded)

  internal import UpdateMachine

  // Where the disk under a client is one of rows, its driver writes there as it does in an app: by the
  // library's own store of replicas in rows, which decides what is written, and whether as a step.

  extension SimulatedLife {
    func makeStore() -> any ReplicaStore<App.Model, App.Server.Place> {
      let values = SimulatedStore(life: self)
      guard let rows = App.Disk.rowsStore(on: SimulatedRows(values: values)) else { return values }
      return SimulatedRowStore(life: self, rows: rows.store)
    }
  }

  /// The library's store of rows, where the world knows what is saved.
  private struct SimulatedRowStore<App: SimulatedApp>: ReplicaStore {
    typealias Model = App.Model
    typealias Place = App.Server.Place

    let life: SimulatedLife<App>
    let rows: any ReplicaStore<Model, Place>

    func load() async throws(StoreError) -> StoredReplica<Model, Place>? { try await rows.load() }

    func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError) {
      life.saving = replica.replica
      try await rows.save(replica)
    }

    func erase() async throws(StoreError) { try await rows.erase() }
  }

  /// The world's disk as a store of rows.
  private struct SimulatedRows<App: SimulatedApp>: Store {
    let values: SimulatedStore<App>
    private var life: SimulatedLife<App> { values.life }

    init(values: SimulatedStore<App>) { self.values = values }

    /// When it is read, and as of when it was written, is for the world to say.
    ///
    /// It leaves nothing: the world judges what is in memory.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> StoredForm? {
      let read = try await values.load()
      guard let disk = life.engine?.world.clients[life.client].disk else { return nil }
      if disk.isUnreadable { throw .unreadable("the saved form is damaged, or newer") }
      return read.map { StoredForm(rows: disk.entries, writtenAt: $0.writtenAt) }
    }

    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] { queries.map { _ in [] } }

    func append(_ entry: JournalEntry) async throws(StoreError) {
      try await perform(.append(entry.rows, clearing: entry.cleared))
    }

    func checkpoint(_ form: StoredForm) async throws(StoreError) {
      try await perform(.checkpoint(form.rows.map { StoredRow($0.key, $0.value) }))
    }

    private func perform(_ step: DiskStep) async throws(StoreError) {
      let isDone = await withCheckedContinuation { continuation in
        guard let engine = life.engine, let saving = life.saving else {
          return continuation.resume(returning: false)
        }
        life.save = continuation
        engine.save(saving, step, life)
      }
      if !isDone { throw .failed("the disk is full") }
    }

    func setAside() async throws(StoreError) { life.engine?.setAside(life) }

    func erase() async throws(StoreError) { try await values.erase() }
  }

#endif
