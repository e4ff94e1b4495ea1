#if !hasFeature(Embedded)

  /// A place for one replica between two starts, as rows of bytes: model, finger and outbox as one.
  ///
  /// Calls are made off the actor, in child tasks of `run()`, one at a time, in the order of the
  /// changes. What a call has written is durable when it returns. A call that throws has changed
  /// nothing.
  ///
  /// Each store belongs to one machine of one process. A second machine that writes to it is
  /// noticed (``StoreError/taken(_:)``). `run()` returns after the call that is out. If the task of
  /// `run()` is cancelled, so is the call's. The call may then fail or, better, finish its work,
  /// since `run()` waits for it. A load that fails then is repeated by the next run.
  public protocol SyncStore: Sendable {
    /// Returns what is saved; `nil`: nothing is, or it was erased. Called before any other call. It
    /// is called again only if it was cut short, or if all rows are needed after all. A store may
    /// leave out the rows of `tables`. Then the form says so, and the rows are asked for when they
    /// are needed. A store may also return everything.
    ///
    /// If it throws, the error is reported and the replica starts stale. What is saved stays, and
    /// is set aside before anything replaces it. A replica whose user changes things does not start
    /// then. It is *unknown*, and loads again after a wait of 0.1 s, growing to 10 s, unless the
    /// error is `unreadable`.
    ///
    /// - Parameter tables: the tables whose rows may be left out.
    func load(leaving tables: [StoredTable]) async throws(StoreError) -> SavedRows?

    /// Reads rows that a load left out, as they are saved now: for each query the rows that it
    /// finds, in their order, and no more than it asks for. If it throws, the error is reported,
    /// and the unloaded rows are given up: the server is asked for them anew. If the error is
    /// `unreadable`, what is saved is set aside, and what is in memory is saved in its place.
    func rows(
      for queries: [RowQuery]
    ) async throws(StoreError) -> [[(key: StoredKey, value: [UInt8])]]

    /// Writes a step, whole or not at all. It should cost what has changed, however much is saved.
    /// The step is acknowledged to the server only after it returns (unless the app chose
    /// ``Acknowledgement/beforeSaving``). If it throws, the error
    /// is reported. It is called again after a wait of 0.1 s, growing to 10 s, with all that has
    /// changed by then.
    ///
    /// Throws `taken`, and writes nothing, if the form was written at another time than
    /// ``JournalEntry/follows`` says.
    func append(_ entry: JournalEntry) async throws(StoreError)

    /// Writes everything in place of what is saved, whole or not at all. Called when what is saved
    /// has the layout of an earlier version of the library or the app.
    func checkpoint(_ form: SavedRows) async throws(StoreError)

    /// Sets aside what is saved, because it cannot be read or understood, and writes everything in
    /// its place: both or neither, since the user's changes may be in both. A later version wrote
    /// what was saved, or it is damaged. It is kept where nothing overwrites it. Also called when
    /// there was nothing at the load: if there is something now, another machine has written it.
    func replace(with form: SavedRows) async throws(StoreError)

    /// Deletes what is saved; succeeds also if there is nothing. If it throws, so does
    /// ``UpdateMachine/logOut()``.
    func erase() async throws(StoreError)
  }

  extension SyncStore {
    /// Returns everything that is saved.
    package func load() async throws(StoreError) -> SavedRows? { try await load(leaving: []) }
  }

  /// Why a store could not perform an operation.
  public enum StoreError: Error, Hashable, Sendable {
    /// The medium failed: full, read-only, gone. A save is repeated, with growing waits. So is a
    /// load if the user's changes may be in what is saved; otherwise the replica starts stale.
    case failed(String)
    /// What is saved, or one of the user's changes in it, cannot be understood. If it is the model,
    /// what is saved is set aside, and the replica starts stale. The user's changes are kept all
    /// the same; one that cannot be understood waits for a version of the app that can.
    case unreadable(String)
    /// The app's own code throws when it encodes the model or a change. Nothing is saved, and the
    /// server is told nothing, until a later state can be encoded. A save is repeated, with growing
    /// waits. Throw `failed` instead, if you write a store.
    case unwritable(String)
    /// Another machine has written to the store since. Each machine needs a store of its own. This
    /// one saves nothing any more, so that neither overwrites the other. What is not saved is
    /// neither acknowledged nor sent, so this machine stands still, and *unreachable* is what its
    /// user is told. A save is repeated, with growing waits.
    case taken(String)
  }

  extension StoreError: CustomStringConvertible {
    public var description: String {
      switch self {
      case .failed(let reason):
        "The store failed. A save is tried again; if this goes on, look at the disk. \(reason)"
      case .unreadable(let reason):
        "What is saved, or a part of it, cannot be read. It is kept, and the server is asked for "
          + "what it has. \(reason)"
      case .unwritable(let reason):
        "The app's own code threw when it encoded what is to be saved. Nothing is saved until it "
          + "can be. \(reason)"
      case .taken(let reason):
        "Another machine writes to this store, so this one saves nothing any more. Give each "
          + "machine a store of its own. \(reason)"
      }
    }
  }

#endif
