#if !hasFeature(Embedded)

  internal import Synchronization

  /// Where one replica is kept, as the driver sees it: as a value.
  package protocol ReplicaStore<Model, Place>: Sendable {
    associatedtype Model: SyncModel
    associatedtype Place: Finger

    func load() async throws(StoreError) -> StoredReplica<Model, Place>?
    func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError)
    func erase() async throws(StoreError)

    /// Which rows must be read before a model takes these events.
    func asleep(in model: Model, under events: [Model.Event]) -> [RowQuery]

    /// Reads rows that were left when the replica was loaded.
    func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer]

    /// Gives a model what was read. If it throws, the model is as it was.
    func wake(_ model: inout Model, with answers: [RowAnswer]) throws(StoredFormError)

    /// What was left cannot be read.
    func forgetAsleep(in model: inout Model)
  }

  /// A store that leaves nothing.
  extension ReplicaStore {
    package func asleep(in model: Model, under events: [Model.Event]) -> [RowQuery] { [] }

    package func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
      throw .failed("nothing was left asleep")
    }

    package func wake(
      _ model: inout Model, with answers: [RowAnswer]
    ) throws(StoredFormError) {}

    package func forgetAsleep(in model: inout Model) {}
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
    /// What was read since the last save. A replica that is saved may be of before.
    private let woken = Mutex<[RowAnswer]>([])

    /// What is known of what is saved.
    private enum Saved: Sendable {
      /// Nobody could read it: it is set aside before anything is written in its place.
      case unknown
      /// Nothing that a step could be written on.
      case nothing
      case replica(SavedReplica<Model, Place>)

      var sleeps: Bool {
        if case .replica(let replica) = self { replica.model.sleeps } else { false }
      }
    }

    package init(_ store: any Store) { self.store = store }

    package func load() async throws(StoreError) -> StoredReplica<Model, Place>? {
      guard var form = try await store.load(leaving: Model.sleepingTables) else {
        saved.withLock { $0 = .nothing }
        return nil
      }
      let isCurrent = try isCurrent(form)
      // To migrate takes everything, and what was migrated is written anew as a whole.
      if !isCurrent, !form.asleep.isEmpty, let whole = try await store.load(leaving: []) {
        form = whole
      }
      let replica: SavedReplica<Model, Place>
      do throws(StoredFormError) {
        replica = try SavedReplica(stored: try rows(of: form))
      } catch {
        throw .unreadable("\(error)")
      }
      saved.withLock { $0 = isCurrent ? .replica(replica) : .nothing }
      return StoredReplica(replica: replica, writtenAt: form.writtenAt)
    }

    private func isCurrent(_ form: StoredForm) throws(StoreError) -> Bool {
      do throws(StoredFormError) {
        return try SavedReplica<Model, Place>.isCurrent(try rows(of: form))
      } catch {
        throw .unreadable("\(error)")
      }
    }

    /// Most stores give them in their order, which is seen at once; the rest are sorted.
    private func rows(of form: StoredForm) throws(StoredFormError) -> StoredRows {
      do throws(StoredFormError) {
        return try StoredRows(form.rows, asleep: form.asleep)
      } catch {
        return try StoredRows(form.rows.sorted { $0.key < $1.key }, asleep: form.asleep)
      }
    }

    package func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError) {
      let now = replica.writtenAt
      var new = awake(replica.replica)
      let old = saved.withLock { $0 }
      // Nothing sleeps in what is saved, or what does is set aside: what this one thinks to sleep there
      // was given up since.
      if !old.sleeps { new.model.forgetAsleep() }
      switch old {
      case .replica(let old):
        let step = new.step(since: old)
        try await store.append(
          JournalEntry(cleared: step.cleared, rows: step.rows, writtenAt: now))
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
      woken.withLock { $0 = [] }
    }

    // MARK: What sleeps

    package func asleep(in model: Model, under events: [Model.Event]) -> [RowQuery] {
      model.asleep(under: events)
    }

    package func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
      let found: [[(key: StoredKey, value: [UInt8])]]
      do throws(StoreError) {
        found = try await store.rows(for: queries)
      } catch {
        if case .unreadable = error { saved.withLock { $0 = .unknown } }
        throw error
      }
      guard found.count == queries.count else {
        throw .failed("the store answered \(found.count) of \(queries.count) questions")
      }
      let answers = zip(queries, found).map { RowAnswer($0, $1) }
      woken.withLock { $0 += answers }
      saved.withLock {
        guard case .replica(var old) = $0 else { return }
        _ = RowStore.wake(&old.model, with: answers, isSaved: true)
        $0 = .replica(old)
      }
      return answers
    }

    package func wake(
      _ model: inout Model, with answers: [RowAnswer]
    ) throws(StoredFormError) {
      var next = model
      do throws(StoredFormError) {
        for answer in answers { try next.wake(answer, isSaved: false) }
      } catch {
        saved.withLock { $0 = .unknown }
        throw error
      }
      model = next
    }

    package func forgetAsleep(in model: inout Model) { model.forgetAsleep() }

    /// A replica of before some rows were read is one in which they sleep. To be compared with what is
    /// saved, where they do not, it is woken.
    private func awake(_ replica: SavedReplica<Model, Place>) -> SavedReplica<Model, Place> {
      var replica = replica
      woken.withLock { $0 = RowStore.wake(&replica.model, with: $0, isSaved: false) }
      return replica
    }

    /// Gives back those of them that were of use: the rest are awake from here on. What cannot be
    /// understood stays asleep; whoever asked for it gives it up.
    private static func wake(
      _ model: inout Model, with answers: [RowAnswer], isSaved: Bool
    ) -> [RowAnswer] {
      var used: [RowAnswer] = []
      for answer in answers {
        do throws(StoredFormError) {
          if try model.wake(answer, isSaved: isSaved) { used.append(answer) }
        } catch {
          continue
        }
      }
      return used
    }
  }

#endif
