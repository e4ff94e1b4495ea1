extension Machine {
  /// What happened (TheMachine §2). Inputs are the only way into a machine.
  @usableFromInline
  package enum Input: Equatable, Sendable {
    case app(AppSignal)
    /// A register was answered, and the model has taken the snapshot. `isComplete`: the snapshot
    /// was all that the server had.
    case snapshotArrived(RequestID, finger: Place, terms: ServerTerms, isComplete: Bool = true)
    /// A poll was answered, and the model has taken the whole batch. `movedTo` is the new finger;
    /// `nil` if nothing in the batch was new. `isComplete`: the server had nothing beyond it.
    case polled(RequestID, movedTo: Place?, isComplete: Bool = true)
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
    case .snapshotArrived(let id, let finger, let terms, let isComplete):
      "snapshotArrived \(id) at \(finger), lifetime \(terms.lifetime)"
        + (isComplete ? "" : ", incomplete")
    case .polled(let id, let finger, let isComplete):
      (finger.map { "polled \(id) to \($0)" } ?? "polled \(id), nothing new")
        + (isComplete ? "" : ", incomplete")
    case .failed(let id, let failure): "failed \(id) \(failure)"
    case .fired(let timer): "fired \(timer)"
    case .written(let write): "written \(write)"
    case .writeFailed(let write): "writeFailed \(write)"
    }
  }
}
