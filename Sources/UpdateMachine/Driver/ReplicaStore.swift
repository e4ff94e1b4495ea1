#if !hasFeature(Embedded)

  internal import Synchronization

  /// Where one replica is kept, as the driver sees it: as a value.
  package protocol ReplicaStore<Model, Place>: Sendable {
    associatedtype Model: SyncModel
    associatedtype Place: Finger

    func load() async throws(StoreError) -> StoredReplica<Model, Place>?
    func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError)
    func erase() async throws(StoreError)
  }

  /// A replica on disk, and when it was written.
  package struct StoredReplica<Model: SyncModel, Place: Finger>: Sendable {
    /// Model, finger and terms.
    package var replica: SavedReplica<Model, Place>
    package var writtenAt: WallTime

    package init(replica: SavedReplica<Model, Place>, writtenAt: WallTime) {
      self.replica = replica
      self.writtenAt = writtenAt
    }
  }

  /// A replica in rows: writes what is otherwise than what is saved. Asked one thing at a time.
  package final class RowStore<Model: StorableModel, Place: Finger & Storable>: ReplicaStore {
    private let store: any Store
    private let saved = Mutex(Saved.unknown)

    /// What is known of what is saved.
    private enum Saved: Sendable {
      /// Nobody could read it: it is set aside before anything is written in its place.
      case unknown
      /// Nothing that a step could be written on.
      case nothing
      case replica(SavedReplica<Model, Place>)
    }

    package init(_ store: any Store) { self.store = store }

    package func load() async throws(StoreError) -> StoredReplica<Model, Place>? {
      guard let form = try await store.load() else {
        saved.withLock { $0 = .nothing }
        return nil
      }
      let replica: SavedReplica<Model, Place>
      let isCurrent: Bool
      do throws(StoredFormError) {
        let rows = try rows(of: form)
        replica = try SavedReplica(stored: rows)
        isCurrent = try SavedReplica<Model, Place>.isCurrent(rows)
      } catch {
        throw .unreadable("\(error)")
      }
      // What was migrated is written anew as a whole.
      saved.withLock { $0 = isCurrent ? .replica(replica) : .nothing }
      return StoredReplica(replica: replica, writtenAt: form.writtenAt)
    }

    /// Most stores give them in their order, which is seen at once; the rest are sorted.
    private func rows(of form: StoredForm) throws(StoredFormError) -> StoredRows {
      do throws(StoredFormError) {
        return try StoredRows(form.rows)
      } catch {
        return try StoredRows(form.rows.sorted { $0.key < $1.key })
      }
    }

    package func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError) {
      let (new, now) = (replica.replica, replica.writtenAt)
      switch saved.withLock({ $0 }) {
      case .replica(let old):
        try await store.append(JournalEntry(rows: new.rows(since: old), writtenAt: now))
      case .unknown:
        try await store.setAside()
        saved.withLock { $0 = .nothing }
        try await store.checkpoint(form(of: new, at: now))
      case .nothing: try await store.checkpoint(form(of: new, at: now))
      }
      saved.withLock { $0 = .replica(new) }
    }

    private func form(of replica: SavedReplica<Model, Place>, at now: WallTime) -> StoredForm {
      let rows = replica.rows(since: nil)
      return StoredForm(
        rows: rows.compactMap { row in row.value.map { (key: row.key, value: $0) } },
        writtenAt: now)
    }

    package func erase() async throws(StoreError) {
      try await store.erase()
      saved.withLock { $0 = .nothing }
    }
  }

#endif
