#if !hasFeature(Embedded)

  /// An entry for the app's log. None needs a reaction: the machine goes on by itself.
  public enum DriverReport: Hashable, Sendable {
    /// A request failed in a way that a developer should look at: the server refuses what we send,
    /// or sends what we cannot use.
    case failure(SyncFailure)
    /// The store could not load (the replica starts stale), save (it is tried again) or erase.
    case store(StoreError)
  }

#endif
