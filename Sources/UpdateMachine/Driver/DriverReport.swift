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

  extension DriverReport: CustomStringConvertible {
    public var description: String {
      switch self {
      case .store(let error): error.description
      case .nameShared:
        "The server has run more changes under this client's name than it ever sent. Give each store "
          + "a name of its own, and keep it out of backups."
      case .failure(.rejected(let code)): "The server refused a request. \(code)"
      case .failure(.malformed):
        "An answer cannot be used (malformed). Compare what the server sends with what the source "
          + "reads."
      case .failure(.modelRefused):
        "The model threw at what the server sent (modelRefused), so everything is asked for anew. "
          + "Look at why it throws."
      case .failure(.unauthorized):
        "The server refused the credentials (unauthorized). Give the source new ones, and call "
          + "credentialsChanged()."
      case .failure(.unsupported):
        "Client and server do not understand each other (unsupported). Update one of them, and call "
          + "retryNow()."
      case .failure(let failure): "A request failed (\(failure)). It is tried again by itself."
      }
    }
  }

#endif
