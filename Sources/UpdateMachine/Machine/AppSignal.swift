/// What the app, or the system through it, tells a client. Every part of the client gets it as one
/// input.
public enum AppSignal: Hashable, Sendable {
  /// The app wants to be kept up to date from now on, and says whether it is in the foreground.
  case started(foreground: Bool)
  /// The app wants no more updates for now. Finger, log and saved form stay.
  case stopped
  /// The account is removed: release the log, erase the saved form.
  case loggedOut
  /// The app came to the foreground: the user sees it.
  case foregrounded
  /// The app went to the background.
  case backgrounded
  /// The device switched networks, or has a network again.
  case networkChanged
  /// The user asked to try now.
  case retryRequested
  /// The app has new credentials for the same user.
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
