internal import UpdateMachine

/// Which input it is, without what it brings.
enum InputKind: Hashable, Sendable {
  case loaded
  case snapshotArrived
  case batchArrived
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

  /// Somebody asked for it.
  var isAnswer: Bool {
    switch self {
    case .snapshotArrived, .batchArrived, .failed: true
    case .loaded, .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .fired, .written, .writeFailed:
      false
    }
  }
}

extension Jury {
  static func kind(of input: Body.Input) -> InputKind {
    switch input {
    case .loaded: .loaded
    case .snapshotArrived: .snapshotArrived
    case .batchArrived: .batchArrived
    case .started: .started
    case .stopped: .stopped
    case .loggedOut: .loggedOut
    case .foregrounded: .foregrounded
    case .backgrounded: .backgrounded
    case .networkChanged: .networkChanged
    case .retryRequested: .retryRequested
    case .credentialsChanged: .credentialsChanged
    case .failed: .failed
    case .fired: .fired
    case .written: .written
    case .writeFailed: .writeFailed
    }
  }
}
