#if !hasFeature(Embedded)

  internal import Synchronization

  /// A replica in rows: writes the rows that differ from what is saved. Does one operation at a
  /// time.
  package final class RowStore<Model: StorableModel, Place: Finger & Storable>: ReplicaStore {
    private let store: any SyncStore
    private let saved = Mutex(Saved.unknown)
    /// When what is saved was written. There are two possible times after a save that failed: it
    /// is not known whether it was written. Empty: unknown.
    private let writtenAt = Mutex([WallTime]())

    /// What is known of the saved form.
    private enum Saved: Sendable {
      /// It was not read, or could not be: it is set aside before anything is written in its place.
      case unknown
      /// There is nothing.
      case nothing
      /// It was read, and has the layout of an earlier version. No step can be appended to it.
      case outdated
      case replica(SavedReplica<Model, Place>)

      var hasUnloaded: Bool {
        if case .replica(let replica) = self { replica.model.hasUnloaded } else { false }
      }
    }

    package init(_ store: any SyncStore) { self.store = store }

    package func load() async throws(StoreError) -> DatedReplica<Model, Place>? {
      guard var form = try await store.load(leaving: Model.unloadedTables) else {
        saved.withLock { $0 = .nothing }
        return nil
      }
      let isCurrent = try isCurrent(form)
      // A migration needs all rows, and its result is written as a new whole.
      if !isCurrent, !form.unloaded.isEmpty, let whole = try await store.load(leaving: []) {
        form = whole
      }
      let replica: SavedReplica<Model, Place>
      do throws(StoredFormError) {
        replica = try SavedReplica(stored: try rows(of: form))
      } catch {
        throw .unreadable("\(error)")
      }
      saved.withLock { $0 = isCurrent ? .replica(replica) : .outdated }
      writtenAt.withLock { $0 = [form.writtenAt] }
      return DatedReplica(replica: replica, writtenAt: form.writtenAt)
    }

    package func loadChanges() async throws(StoreError) -> SavedChanges<Model.Change>? {
      guard Model.Change.isPossible else { return nil }
      let tables = (StoredTable.firstOfModel.number...UInt8.max).map { StoredTable($0) }
      guard let form = try await store.load(leaving: tables) else { return nil }
      do throws(StoredFormError) {
        return try SavedReplica<Model, Place>.changes(in: try rows(of: form))
      } catch {
        throw .unreadable("\(error)")
      }
    }

    private func isCurrent(_ form: SavedRows) throws(StoreError) -> Bool {
      do throws(StoredFormError) {
        return try SavedReplica<Model, Place>.isCurrent(try rows(of: form))
      } catch {
        throw .unreadable("\(error)")
      }
    }

    /// Returns the rows in order. Most stores give them so, which is detected; others are sorted.
    private func rows(of form: SavedRows) throws(StoredFormError) -> RowReader {
      do throws(StoredFormError) {
        return try RowReader(form.rows, unloaded: form.unloaded)
      } catch {
        return try RowReader(form.rows.sorted { $0.key < $1.key }, unloaded: form.unloaded)
      }
    }

    package func save(_ replica: DatedReplica<Model, Place>) async throws(StoreError) {
      let now = replica.writtenAt
      var new = replica.replica
      let old = saved.withLock { $0 }
      // All that is saved is loaded, or is set aside. Rows that the new model still takes for
      // unloaded were given up since.
      if !old.hasUnloaded { new.model.forgetUnloaded() }
      do throws(StoreError) {
        switch old {
        case .replica(let old): try await append(try step(to: new, since: old, at: now))
        case .unknown, .nothing: try await store.replace(with: try form(of: new, at: now))
        case .outdated: try await migrate(to: try form(of: new, at: now))
        }
      } catch {
        switch error {
        case .failed: writtenAt.withLock { $0 = $0.prefix(1) + [now] }
        case .unreadable: saved.withLock { $0 = .unknown }
        case .taken, .unwritable: break
        }
        throw error
      }
      saved.withLock { $0 = .replica(new) }
      writtenAt.withLock { $0 = [now] }
    }

    /// Throws `taken` if another machine has written since the load. What is migrated takes the
    /// place of the whole form, so there is no step that could say what it follows.
    private func migrate(to form: SavedRows) async throws(StoreError) {
      let tables = (0...UInt8.max).map { StoredTable($0) }
      let found = try await store.load(leaving: tables)?.writtenAt
      guard let found, writtenAt.withLock({ $0.contains(found) }) else {
        throw .taken("what was to be migrated is not there any more")
      }
      try await store.checkpoint(form)
    }

    private func append(_ step: JournalEntry) async throws(StoreError) {
      let times = writtenAt.withLock { $0 }
      var entry = step
      entry.follows = times.first
      do throws(StoreError) {
        try await store.append(entry)
      } catch {
        guard case .taken = error, times.count > 1 else { throw error }
        entry.follows = times.last
        try await store.append(entry)
      }
    }

    private func step(
      to new: SavedReplica<Model, Place>, since old: SavedReplica<Model, Place>?, at now: WallTime
    ) throws(StoreError) -> JournalEntry {
      do throws(StoredFormError) {
        return try new.step(since: old, writtenAt: now)
      } catch {
        guard case .damaged(let expected) = error else { throw .unwritable("\(error)") }
        throw .unwritable("this state cannot be saved: expected \(expected)")
      }
    }

    private func form(
      of replica: SavedReplica<Model, Place>, at now: WallTime
    ) throws(StoreError) -> SavedRows {
      let rows = try step(to: replica, since: nil, at: now).rows
      return SavedRows(
        rows: rows.compactMap { row in row.value.map { (key: row.key, value: $0) } },
        writtenAt: now)
    }

    package func erase() async throws(StoreError) {
      try await store.erase()
      saved.withLock { $0 = .nothing }
    }

    // MARK: Rows that are not loaded

    /// Loads the rows also into the copy of what is saved, because the next step starts from there.
    package func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
      let found: [[(key: StoredKey, value: [UInt8])]]
      do throws(StoreError) {
        found = try await store.rows(for: queries)
      } catch {
        if case .unreadable = error { saved.withLock { $0 = .unknown } }
        throw error
      }
      guard found.count == queries.count else {
        throw .failed("the store answered \(found.count) of \(queries.count) queries")
      }
      let answers = zip(queries, found).map { RowAnswer($0, $1) }
      if let damage = load(answers) { throw .unreadable("\(damage)") }
      return answers
    }

    /// Loads rows into the copy of what is saved. Returns their damage, if any; then what is saved
    /// counts as unreadable.
    private func load(_ answers: [RowAnswer]) -> StoredFormError? {
      saved.withLock {
        guard case .replica(var replica) = $0 else { return nil }
        do throws(StoredFormError) {
          for answer in answers { try replica.model.load(answer, isSaved: true) }
          $0 = .replica(replica)
          return nil
        } catch {
          $0 = .unknown
          return error
        }
      }
    }
  }

#endif
