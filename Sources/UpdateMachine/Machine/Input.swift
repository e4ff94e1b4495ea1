extension Machine {
  /// What happened (MACHINE §2). The only way in.
  public enum Input: Equatable, Sendable {
    /// The app wants to be kept level from now on; says whether it is in front of its user.
    case started(foreground: Bool)
    /// The app wants nothing more for now. Finger, log and saved form stay.
    case stopped
    /// The account goes: release the log, erase the saved form.
    case loggedOut
    case foregrounded
    case backgrounded
    /// The device has another network, or one again.
    case networkChanged
    /// The user asked to try now.
    case retryRequested
    /// The app has other credentials of the same user.
    case credentialsChanged
    /// A register was answered, and the model has taken the snapshot.
    case snapshotArrived(RequestID, finger: Place, terms: Terms)
    /// A poll was answered, and the model has taken the whole batch. `movedTo` is the finger it
    /// leads to; `nil` if nothing in it was new.
    case polled(RequestID, movedTo: Place?)
    /// A request ended any other way.
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
  public var description: String {
    switch self {
    case .started(foreground: true): "started in the foreground"
    case .started(foreground: false): "started in the background"
    case .stopped: "stopped"
    case .loggedOut: "loggedOut"
    case .foregrounded: "foregrounded"
    case .backgrounded: "backgrounded"
    case .networkChanged: "networkChanged"
    case .retryRequested: "retryRequested"
    case .credentialsChanged: "credentialsChanged"
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
