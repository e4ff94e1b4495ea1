public import SyncProtocols
public import UpdateMachine

/// The driver's source for presence and typing on a Zulip server. Its machine runs beside the
/// account's, with a queue of its own and without a store.
///
///     let machine = UpdateMachine(source: ZulipPresenceSource(connection))
///
/// It records by its clock when each answer came. A moment that is passed to a ``ZulipPresence``
/// must be from the same clock. <doc:Presence> says what is known and what is not.
public struct ZulipPresenceSource: SyncSource {
  public typealias Model = ZulipPresence
  public typealias Sync = EventQueue<ZulipHeard>

  package let connection: ZulipConnection
  private let clock: any DriverClock

  /// The state of `realm` says how long a sign of presence holds.
  static let parameters = ZulipRegister(
    eventTypes: ["presence", "typing", "realm_user"], fetchTypes: ["presence", "realm"])

  /// - Parameters:
  ///   - connection: the connection to use; it may be the account's, too.
  ///   - clock: the clock for the moments. All system clocks agree.
  public init(_ connection: ZulipConnection, clock: any DriverClock = SystemClock()) {
    self.connection = connection
    self.clock = clock
  }

  private var source: ZulipSource { ZulipSource(connection, ZulipPresenceSource.parameters) }

  public func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<ZulipPresence.Snapshot, QueueFinger> {
    let registered = try await source.register(as: client)
    return Registered(
      snapshot: ZulipPresence.Snapshot(registered.snapshot.fields, at: clock.now),
      finger: registered.finger, terms: registered.terms)
  }

  public func poll(
    after finger: QueueFinger, waits: Bool
  ) async throws(SyncFailure) -> QueueBatch<ZulipHeard> {
    try await source.poll(after: finger, waits: waits).heard(at: clock.now)
  }

  public func release(_ queue: QueueID) async { await source.release(queue) }
}
