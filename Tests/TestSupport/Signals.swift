public import UpdateMachine

// What the app says, as inputs of a machine, of an outbox and of a client, so that tables stay short.

/// An input that says what the app says.
public protocol AppInput {
  static func app(_ signal: AppSignal) -> Self
}

extension AppInput {
  public static func started(foreground: Bool) -> Self { app(.started(foreground: foreground)) }
  public static var stopped: Self { app(.stopped) }
  public static var loggedOut: Self { app(.loggedOut) }
  public static var foregrounded: Self { app(.foregrounded) }
  public static var backgrounded: Self { app(.backgrounded) }
  public static var networkChanged: Self { app(.networkChanged) }
  public static var retryRequested: Self { app(.retryRequested) }
  public static var credentialsChanged: Self { app(.credentialsChanged) }
}

extension Machine.Input: AppInput {}
extension Outbox.Input: AppInput {}
extension SyncClient.Input: AppInput {}

extension SyncClient.Input {
  /// A request ended any other way than with an answer; the server may have heard of it.
  public static func failed(_ id: RequestID, _ failure: SyncFailure) -> Self {
    .failed(id, failure, hasLeft: true)
  }
}
