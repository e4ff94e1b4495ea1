#if !hasFeature(Embedded)

  /// What an app's log should hear. Nothing here needs to be acted on: the machine goes on by
  /// itself.
  public enum DriverReport: Hashable, Sendable {
    /// A request failed in a way that somebody should look at: the server refuses what we send, or
    /// sends what we cannot use.
    case failure(SyncFailure)
    /// The store could not load (the replica starts stale), save (it is tried again) or erase.
    case store(StoreError)
  }

#endif
