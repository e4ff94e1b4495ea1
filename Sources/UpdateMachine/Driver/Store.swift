#if !hasFeature(Embedded)

  /// Where one replica is kept between two starts: model, finger and terms as one thing.
  ///
  /// Calls are made off the actor, in child tasks of `run()`, one after the other, in the order of
  /// the changes. A save that fails must leave what was saved before.
  ///
  /// Each store belongs to one machine of one process. `stop()` waits for the call that is out. If
  /// the task of `run()` is cancelled, so is that call's: it may then fail, or better, end what it
  /// does, for `run()` waits for it. A load that fails then is made again by the next run.
  public protocol Store<Model, Place>: Sendable {
    /// What the app holds.
    associatedtype Model: SyncModel
    /// The protocol's finger.
    associatedtype Place: Finger

    /// What was saved last; `nil`: nothing, or it was erased. Called before anything else is asked
    /// of it, and never again unless it was cut short. If it throws, the error is reported and the
    /// replica starts stale; what is saved stays until the next save. A replica whose user changes
    /// things does not start then: it is *unknown*, and reads again after a wait of 0.1 s, growing to
    /// 10 s, unless what is there is `unreadable`.
    func load() async throws(StoreError) -> StoredReplica<Model, Place>?

    /// Replaces what is saved, as a whole; durable when it returns. Until then nothing is
    /// acknowledged to the server. If it throws, the error is reported, and it is called again after
    /// a wait of 0.1 s, growing to 10 s, with what there is then.
    func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError)

    /// Deletes what is saved; right also if there is nothing. If it throws, so does
    /// ``UpdateMachine/logOut()``.
    func erase() async throws(StoreError)
  }

  /// A replica on disk, and when it was written.
  public struct StoredReplica<Model: SyncModel, Place: Finger>: Sendable {
    /// Model, finger and terms.
    public var replica: SavedReplica<Model, Place>
    /// By the wall clock: the only time that means something after a restart.
    public var writtenAt: WallTime

    public init(replica: SavedReplica<Model, Place>, writtenAt: WallTime) {
      self.replica = replica
      self.writtenAt = writtenAt
    }
  }

  /// Why a store could not do what it was asked to.
  public enum StoreError: Error, Hashable, Sendable {
    /// The medium failed: full, read-only, gone. Saving is tried again, with growing waits; loading is
    /// not, and the replica starts stale.
    case failed(String)
    /// What is there cannot be understood: the replica starts stale, and the next save replaces it. A
    /// store that wants to keep what it could not read moves it aside.
    case unreadable(String)
  }

  /// A store in memory: outlives the machine, not the process. Never fails. May be called from
  /// anywhere, as when a test looks at what is saved.
  public actor MemoryStore<Model: SyncModel, Place: Finger>: Store {
    private var stored: StoredReplica<Model, Place>?

    /// A store in which nothing is saved.
    public init() {}

    public func load() async throws(StoreError) -> StoredReplica<Model, Place>? { stored }

    public func save(_ replica: StoredReplica<Model, Place>) async throws(StoreError) {
      stored = replica
    }

    public func erase() async throws(StoreError) { stored = nil }
  }

#endif
