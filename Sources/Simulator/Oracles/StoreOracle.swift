internal import UpdateMachine

/// Oracle D for the store: how long one process of a client waits before it tries the store again.
///
/// The wait doubles with each failure in a row, and is short again after any success: otherwise a
/// disk that was full for a night would be tried every minute for ever.
struct StoreOracle: Sendable {
  private let settings: RetrySettings
  /// The waits since the store last did what it was asked for.
  private var waits: Int64 = 0

  init(settings: RetrySettings) { self.settings = settings }

  /// Notes an input and the wait for the store that it led to. Returns what was expected, if the
  /// wait is another.
  ///
  /// - Parameter isLoaded: whether the client has begun, with or without a saved form.
  mutating func note<Model: SyncModel, Sync: SyncProtocol>(
    _ input: SyncClient<Model, Sync>.Input?, _ effects: SyncClient<Model, Sync>.Effects,
    isLoaded: Bool, at now: Moment
  ) -> String? {
    switch input {
    case .loaded, .changesLoaded, .written: waits = 0
    // A form that cannot be read is given up, unless it may hold what exists nowhere else.
    case .loadFailed(let failure): if isLoaded, failure != .cutShort { waits = 0 }
    case .writeFailed: break
    default: return nil  // Nothing else is a result of the store that can make it wait.
    }
    var wait: TimeSpan?
    effects.each { effect in
      if case .arm(let timer, let range) = effect, timer.part == .storage {
        wait = range.latest - now
      }
    }
    guard let wait else { return nil }
    let exact = settings.transientFirst.doubled(times: waits, cap: settings.transientCap)
    waits += 1
    return wait == exact
      ? nil : "a wait of up to \(exact) after \(waits) failures of the store, found \(wait)"
  }
}
