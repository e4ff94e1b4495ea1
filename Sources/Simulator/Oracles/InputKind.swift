internal import UpdateMachine

/// The kind of a machine's input, without its values.
enum InputKind: Hashable, Sendable {
  /// A new machine begins with a saved finger.
  case restored
  case snapshotArrived
  case polled
  case started
  case stopped
  case loggedOut
  case foregrounded
  case backgrounded
  case networkChanged
  case retryRequested
  case credentialsChanged
  case failed
  case fired
  case written
  case writeFailed

  /// Whether it answers a request.
  var isAnswer: Bool {
    switch self {
    case .snapshotArrived, .polled, .failed: true
    case .restored, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .fired, .written, .writeFailed:
      false
    }
  }

  init(_ signal: AppSignal) {
    switch signal {
    case .started: self = .started
    case .stopped: self = .stopped
    case .loggedOut: self = .loggedOut
    case .foregrounded: self = .foregrounded
    case .backgrounded: self = .backgrounded
    case .networkChanged: self = .networkChanged
    case .retryRequested: self = .retryRequested
    case .credentialsChanged: self = .credentialsChanged
    }
  }

  init<Place: Finger>(_ heard: MachineHeard<Place>) {
    switch heard {
    case .restored: self = .restored
    case .input(.app(let signal)): self = InputKind(signal)
    case .input(.snapshotArrived): self = .snapshotArrived
    case .input(.polled): self = .polled
    case .input(.failed): self = .failed
    case .input(.fired): self = .fired
    case .input(.written): self = .written
    case .input(.writeFailed): self = .writeFailed
    }
  }
}
