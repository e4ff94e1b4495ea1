#if !hasFeature(Embedded)

  internal import UpdateMachine

  // Where a client's disk is one of rows, its driver writes as in an app: through the library's own
  // store of replicas in rows. That store decides what is written, and whether as a step.

  extension SimulatedLife {
    func makeStore() -> any ReplicaStore<App.Model, App.Server.Place> {
      let values = SimulatedStore(life: self)
      guard let rows = App.Disk.rowsStore(on: SimulatedRows(values: values)) else { return values }
      return SimulatedRowStore(life: self, rows: rows.store)
    }
  }

  /// The library's store of rows, with the world told what is saved.
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

    /// The world decides when it is read, its time of writing, and whether rows are left.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> StoredForm? {
      let read = try await values.load()
      guard let device = life.engine?.world.clients[life.client] else { return nil }
      if device.disk.isUnreadable { throw .unreadable("the saved form is damaged, or newer") }
      guard let read else { return nil }
      let left = device.leavesRows ? tables : []
      let rows = device.disk.entries.filter { !left.contains($0.key.table) }
      return StoredForm(rows: rows, writtenAt: read.writtenAt, unloaded: left)
    }

    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]] {
      let answers = await withCheckedContinuation {
        (continuation: CheckedContinuation<[RowAnswer]?, Never>) in
        guard let engine = life.engine else { return continuation.resume(returning: nil) }
        engine.read(queries, continuation, life)
      }
      guard let answers else { throw .failed("the disk cannot be read now") }
      return answers.map { $0.rows }
    }

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
