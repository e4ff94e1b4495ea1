extension Machine {
  /// What happened (TheMachine §2). Inputs are the only way into a machine.
  @usableFromInline
  package enum Input: Equatable, Sendable {
    case app(AppSignal)
    /// A register was answered, and the model has taken the snapshot.
    case snapshotArrived(RequestID, finger: Place, terms: ServerTerms)
    /// A poll was answered, and the model has taken the whole batch. `movedTo` is the new finger;
    /// `nil` if nothing in the batch was new.
    case polled(RequestID, movedTo: Place?)
    /// A request failed, or its answer could not be used.
    case failed(RequestID, SyncFailure)
    /// A timer fired, at any time after it was armed.
    case fired(TimerID)
    /// A write is durable.
    case written(WriteID)
    /// A write failed; what was durable before it still is.
    case writeFailed(WriteID)
  }
}

extension Machine.Input: CustomStringConvertible {
  @usableFromInline package var description: String {
    switch self {
    case .app(let signal): signal.description
    case .snapshotArrived(let id, let finger, let terms):
      "snapshotArrived \(id) at \(finger), lifetime \(terms.lifetime)"
    case .polled(let id, let finger?): "polled \(id) to \(finger)"
    case .polled(let id, nil): "polled \(id), nothing new"
    case .failed(let id, let failure): "failed \(id) \(failure)"
    case .fired(let timer): "fired \(timer)"
    case .written(let write): "written \(write)"
    case .writeFailed(let write): "writeFailed \(write)"
    }
  }
}
