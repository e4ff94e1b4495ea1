/// What an app says, or the system through it. Every part of a client hears it as one input.
public enum AppSignal: Hashable, Sendable {
  /// The app wants to be kept level from now on. It says whether it is in front of its user.
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
}

extension AppSignal: CustomStringConvertible {
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
    }
  }
}
