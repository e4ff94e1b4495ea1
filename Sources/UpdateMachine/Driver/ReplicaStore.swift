#if !hasFeature(Embedded)

  internal import Synchronization

  /// A store of one replica, which takes and returns it as a value.
  package protocol ReplicaStore<Model, Place>: Sendable {
    associatedtype Model: SyncModel
    associatedtype Place: Finger

    func load() async throws(StoreError) -> DatedReplica<Model, Place>?

    /// Reads the user's changes after a load that threw `unreadable`; `nil`: there are none, or
    /// they cannot be read either.
    func loadChanges() async throws(StoreError) -> SavedChanges<Model.Change>?

    func save(_ replica: DatedReplica<Model, Place>) async throws(StoreError)
    func erase() async throws(StoreError)

    /// Reads rows that were left unloaded when the replica was loaded.
    func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer]
  }

  /// A replica on disk, with the time of its writing.
  package struct DatedReplica<Model: SyncModel, Place: Finger>: Sendable {
    /// Model, finger and terms.
    package var replica: SavedReplica<Model, Place>
    package var writtenAt: WallTime

    package init(replica: SavedReplica<Model, Place>, writtenAt: WallTime) {
      self.replica = replica
      self.writtenAt = writtenAt
    }
  }

#endif
