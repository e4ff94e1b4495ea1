#if !hasFeature(Embedded)

  // What became of a change, in sentences for an app's log and its developer. Embedded Swift cannot
  // print the app's own errors.

  extension MutationError: CustomStringConvertible {
    public var description: String {
      switch self {
      case .refused(let refusal):
        "The change cannot be made in this state (\(refusal)). Nothing has changed; let the user "
          + "choose another."
      case .full:
        "Too many changes wait for the server. Try again when some of them are confirmed."
      case .nothingHeld:
        "There is no state yet that could be changed. Try again when the first one has come."
      case .notConnected:
        "There is no connection, and changes are only taken with one. Try again when there is."
      case .unstorable(let error):
        "The change cannot be saved, because its own code threw (\(error)). Look at how it is "
          + "encoded."
      }
    }
  }

  extension MutationSetAside.Reason: CustomStringConvertible {
    public var description: String {
      switch self {
      case .threw(let refusal):
        "The change has become impossible (\(refusal)). It is tried again over each newer state; "
          + "if that will not help, discard it."
      case .refused(.nameLost):
        "The change may be at the server already, under a client ID that was lost (NAME_LOST). "
          + "Retry or discard it."
      case .refused(.unreadable):
        "The change could not be read for a while, and may be at the server (UNREADABLE). Retry or "
          + "discard it."
      case .refused(.tooLarge):
        "The change is too large for the server (TOO_LARGE), and cannot be edited. Discard it, and "
          + "make smaller ones."
      case .refused(.none): "The server refused the change. Retry, edit or discard it."
      case .refused(let code):
        "The server refused the change (\(code.text)). Retry, edit or discard it."
      }
    }
  }

  extension UndoOutcome: CustomStringConvertible {
    public var description: String {
      switch self {
      case .queued(let ticket):
        "The inverse was made (\(ticket)). It waits for the server, as any change does."
      case .discarded(let ticket):
        "The change was discarded (\(ticket)). It has had no effect at the server."
      case .outdated(let refusal):
        "Somebody has changed the same thing since (\(refusal)). Nothing was done; the change before "
          + "it is next."
      case .undecided(let ticket):
        "Nobody knows yet what this change does at the server (\(ticket)). Nothing was done; decide "
          + "about it first, or wait."
      case .nothing: "There is nothing to undo, or to redo."
      }
    }
  }

#endif
