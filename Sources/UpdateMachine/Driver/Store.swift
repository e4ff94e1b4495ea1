#if !hasFeature(Embedded)

  /// Where one replica is kept between two starts: model, finger and terms as one thing.
  ///
  /// Calls are made off the actor, one after the other, in the order of the changes. A save that
  /// fails must leave what was saved before.
  public protocol Store<Model, Place>: Sendable {
    associatedtype Model: SyncModel
    associatedtype Place: Finger

    /// What was saved last; `nil`: nothing, or it was erased. If it throws, the replica starts stale.
    func load() async throws(StoreError) -> StoredReplica<Model, Place>?

    /// Replaces what is saved; durable when it returns.
    func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError)

    /// Deletes what is saved.
    func erase() async throws(StoreError)
  }

  /// A replica on disk, and when it was written.
  public struct StoredReplica<Model: SyncModel, Place: Finger>: Sendable {
    public var replica: SavedReplica<Model, Place>
    public var writtenAt: WallTime

    public init(replica: SavedReplica<Model, Place>, writtenAt: WallTime) {
      self.replica = replica
      self.writtenAt = writtenAt
    }
  }

  /// Why a store could not do what it was asked to.
  public enum StoreError: Error, Hashable, Sendable {
    /// The medium failed: full, read-only, gone. Saving is tried again, with growing waits.
    case failed(String)
    /// What is there cannot be understood. It is left as it is, and the replica starts stale.
    case unreadable(String)
  }

  /// A store in memory: outlives the actor, not the process.
  public actor MemoryStore<Model: SyncModel, Place: Finger>: Store {
    private var stored: StoredReplica<Model, Place>?

    public init() {}

    public func load() async throws(StoreError) -> StoredReplica<Model, Place>? { stored }

    public func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError) {
      stored = replica
    }

    public func erase() async throws(StoreError) { stored = nil }
  }

#endif
