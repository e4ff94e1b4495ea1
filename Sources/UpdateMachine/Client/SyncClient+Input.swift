extension SyncClient {
  /// What happened.
  public enum Input: Sendable {
    /// The app, or the system through it, says something.
    case app(AppSignal)

    // The store: each operation that it was asked for gets one of its answers.

    /// The saved form was read; `nil`: there is none, or none that can be used. `age`: how long ago
    /// it was written by the wall clock, `nil` if that is not known.
    indirect case loaded(Saved?, age: TimeSpan?)
    case loadFailed(StoreFailure)
    /// A save is durable.
    case written(WriteID)
    /// A save failed; what was durable before it still is.
    case writeFailed(WriteID)
    /// Rows that were asked for.
    case rowsRead(RequestID, [RowAnswer])
    case rowsFailed(RequestID, StoreFailure)
    /// The saved form is erased, or could not be.
    case erased(succeeded: Bool)

    // The server: each request gets an answer, or a failure.

    case snapshotArrived(RequestID, Model.Snapshot, finger: Place, terms: Terms)
    case batchArrived(RequestID, Sync.Batch)
    case pushAnswered(RequestID, PushAnswer)
    case pageArrived(RequestID, Lists.Page)
    /// A request ended any other way. `hasLeft`: the server may have heard of it; that matters for
    /// pushes only.
    case failed(RequestID, SyncFailure, hasLeft: Bool)

    /// A timer fired, at any time after it was armed.
    case fired(TimerID)

    // The user.

    /// A window looks at something else, or is closed.
    case window(WindowChange)
    /// What is held changes beside the log and beside pages.
    case lists(ListChange)
    /// The app says what shall become of a mutation that is set aside, uncertain, or has never left.
    case mutation(MutationWord)
    /// The app waits for what the user changed to be durable: that is saved once more, though a save has
    /// failed and the next one waits.
    case saveRequested
  }

  public enum WindowChange: Sendable {
    case moved(WindowID, ListWindow<Lists.ID>)
    case closed(WindowID)
  }

  /// What an app does with its partial lists.
  public enum ListChange: Sendable {
    /// The memory of a held item is given back. Nothing is known of its ID any more.
    case dropped(Lists.ID)
    /// Nobody looks at a list any more. What it knew is forgotten.
    case closed(Lists.Narrow)
    /// What a narrow means has changed outside of everything that it lists.
    case reconsidered(Lists.Narrow)
  }

  /// What an app says of one of its mutations.
  public enum MutationWord: Sendable {
    /// A refused or uncertain one is tried again as it is.
    case retried(MutationTicket)
    /// One that the server itself refused is tried again as another, or one that never left is changed
    /// (``Outbox/canEdit(_:)``). Taken also if the outbox is full by it.
    case edited(MutationTicket, Change)
    /// One that is refused, uncertain or never left is given up.
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

/// Why a store did not do what it was asked to.
public enum StoreFailure: Hashable, Sendable {
  /// The medium failed: full, read-only, gone.
  case failed
  /// What is there cannot be understood.
  case unreadable
  /// The call was cut short, as when the process ends. That says nothing of what is there.
  case cutShort
}

extension SyncClient.Input: CustomStringConvertible {
  public var description: String {
    switch self {
    case .app(let signal): signal.description
    case .loaded(nil, _): "loaded nothing"
    case .loaded(let saved?, let age):
      "loaded \(saved.finger.map { "\($0)" } ?? "no finger"), \(age.map { "\($0) old" } ?? "of unknown age")"
    case .loadFailed(let failure): "loadFailed \(failure)"
    case .written(let write): "written \(write)"
    case .writeFailed(let write): "writeFailed \(write)"
    case .rowsRead(let id, let answers): "rowsRead \(id), \(answers.count) answers"
    case .rowsFailed(let id, let failure): "rowsFailed \(id) \(failure)"
    case .erased(succeeded: true): "erased"
    case .erased(succeeded: false): "eraseFailed"
    case .snapshotArrived(let id, _, let finger, let terms):
      "\(Machine<Sync.Place>.Input.snapshotArrived(id, finger: finger, terms: terms))"
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
