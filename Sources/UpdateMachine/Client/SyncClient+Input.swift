extension SyncClient {
  /// What happened.
  public enum Input: Sendable {
    /// A signal from the app, or from the system through it.
    case app(AppSignal)

    // The store: every operation gets exactly one answer.

    /// The saved form was read; `nil`: there is none, or none that can be used. `age`: the time
    /// since it was written, by the wall clock; `nil`: unknown.
    indirect case loaded(SavedReplica<Model, Sync.Place>?, age: TimeSpan?)
    /// The saved form could not be read, except for the user's changes.
    indirect case changesLoaded(SavedChanges<Model.Change>)
    /// The saved form could not be read.
    case loadFailed(StoreFailure)
    /// A save is durable.
    case written(WriteID)
    /// A save failed. What was durable before still is.
    case writeFailed(WriteID)
    /// The rows that were asked for.
    case rowsRead(RequestID, [RowAnswer])
    /// The rows that were asked for could not be read.
    case rowsFailed(RequestID, StoreFailure)
    /// The saved form was erased, or could not be.
    case erased(succeeded: Bool)

    // The server: every request gets an answer or a failure.

    /// A register was answered: a snapshot, its finger, and what the server promises.
    /// `isComplete`: the snapshot is all that the server has.
    case snapshotArrived(
      RequestID, Model.Snapshot, finger: Sync.Place, terms: ServerTerms, isComplete: Bool = true)
    /// A poll was answered, perhaps without events.
    case batchArrived(RequestID, Sync.Batch)
    /// A push was answered: the server has its mutations, or refuses some.
    case pushAnswered(RequestID, PushAnswer)
    /// A fetch was answered. The page is checked before it is taken.
    case pageArrived(RequestID, Model.Lists.Page)
    /// A request ended in any other way. `hasLeft`: the server may have received it, which matters
    /// only for pushes.
    case failed(RequestID, SyncFailure, hasLeft: Bool)

    /// A timer fired, at any time after it was armed.
    case fired(TimerID)

    // The user.

    /// A window shows another part of its list, or is closed.
    case window(WindowChange)
    /// The app changes its lists, independently of the log and of pages.
    case lists(ListChange)
    /// The app decides about a mutation that is set aside, uncertain, or has never left.
    case mutation(MutationDecision)
    /// The app waits for its changes to be durable. While not started, they are saved once more,
    /// even if a save has failed.
    case saveRequested
  }

  /// What the app does with a window that it has opened.
  public enum WindowChange: Sendable {
    /// The window shows another part of the same list from now on.
    case moved(WindowID, ListWindow<Model.Lists.ID>)
    /// The window is no longer shown.
    case closed(WindowID)
  }

  /// A change that an app makes to its partial lists.
  public enum ListChange: Sendable {
    /// A held item is dropped to free memory. Its ID is no longer known.
    case dropped(Model.Lists.ID)
    /// A list is no longer shown. What was known of it is forgotten.
    case closed(Model.Lists.Narrow)
    /// A narrow has changed its meaning, for a reason outside the items that it lists.
    case reconsidered(Model.Lists.Narrow)
  }

  /// An app's decision about one of its mutations.
  public enum MutationDecision: Sendable {
    /// Tries a refused or uncertain mutation again, unchanged.
    case retried(MutationTicket)
    /// Replaces a mutation that the server itself refused, or changes one that never left.
    /// Accepted even if that fills the outbox.
    case edited(MutationTicket, Model.Change)
    /// Gives up a mutation that is refused, uncertain, or never left.
    case discarded(MutationTicket)

    @inlinable
    var input: Outbox<Change>.Input {
      switch self {
      case .retried(let ticket): .retried(ticket)
      case .edited(let ticket, let change): .edited(ticket, change)
      case .discarded(let ticket): .discarded(ticket)
      }
    }
  }
}

/// Why a store could not perform an operation.
public enum StoreFailure: Hashable, Sendable {
  /// The medium failed: full, read-only, gone.
  case failed
  /// The saved form cannot be understood.
  case unreadable
  /// The call was cut short, for example because the process ends. That says nothing about the
  /// saved form.
  case cutShort
}

extension SyncClient.Input: CustomStringConvertible {
  public var description: String {
    switch self {
    case .app(let signal): signal.description
    case .loaded(nil, _): "loaded nothing"
    case .loaded(let saved?, let age):
      "loaded \(saved.finger.map { "\($0)" } ?? "no finger"), \(age.map { "\($0) old" } ?? "of unknown age")"
    case .changesLoaded(let changes): "changesLoaded \(changes.outbox.count)"
    case .loadFailed(let failure): "loadFailed \(failure)"
    case .written(let write): "written \(write)"
    case .writeFailed(let write): "writeFailed \(write)"
    case .rowsRead(let id, let answers): "rowsRead \(id), \(answers.count) answers"
    case .rowsFailed(let id, let failure): "rowsFailed \(id) \(failure)"
    case .erased(succeeded: true): "erased"
    case .erased(succeeded: false): "eraseFailed"
    case .snapshotArrived(let id, _, let finger, let terms, let isComplete):
      Machine<Sync.Place>.Input.snapshotArrived(
        id, finger: finger, terms: terms, isComplete: isComplete
      ).description
    case .batchArrived(let id, let batch): "batchArrived \(id), \(batch.count) events"
    case .pushAnswered(let id, let answer): "pushAnswered \(id) \(answer)"
    case .pageArrived(let id, _): "pageArrived \(id)"
    case .failed(let id, let failure, hasLeft: true): "failed \(id) \(failure)"
    case .failed(let id, let failure, hasLeft: false): "failed \(id) \(failure), never left"
    case .fired(let timer): "fired \(timer)"
    case .window(.moved(let id, _)): "moved window \(id.number)"
    case .window(.closed(let id)): "closed window \(id.number)"
    case .lists(.dropped(let id)): "dropped \(id)"
    case .lists(.closed): "closed a list"
    case .lists(.reconsidered): "reconsidered a list"
    case .mutation(let word): "\(word.input)"
    case .saveRequested: "saveRequested"
    }
  }
}

extension StoreFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .failed: "failed"
    case .unreadable: "unreadable"
    case .cutShort: "cut short"
    }
  }
}
