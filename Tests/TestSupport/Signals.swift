public import UpdateMachine

// An app's signals as inputs of a machine, an outbox or a client, so that tables stay short.

/// A type of input that can be an app's signal.
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
  /// A request ended without an answer. The server may have received it.
  public static func failed(_ id: RequestID, _ failure: SyncFailure) -> Self {
    .failed(id, failure, hasLeft: true)
  }
}
