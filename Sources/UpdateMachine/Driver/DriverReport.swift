#if !hasFeature(Embedded)

  /// An entry for the app's log. None needs a reaction: the machine goes on by itself.
  public enum DriverReport: Hashable, Sendable {
    /// A request failed in a way that a developer should look at: the server refuses what we send,
    /// or sends what we cannot use.
    case failure(SyncFailure)
    /// The store could not load (the replica starts stale), save (it is tried again) or erase.
    case store(StoreError)
    /// The server has run more changes of this client than it ever sent: another client has its
    /// name, or an older saved form has come back, from a backup. Changes of either may be lost.
    /// Give each store a name of its own (``ClientNames``), and keep it out of backups.
    case nameShared(ClientID)
  }

#endif
