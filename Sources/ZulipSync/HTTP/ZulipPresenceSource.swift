public import SyncProtocols
public import UpdateMachine

/// A Zulip server as the library's driver asks it, for who is there and who is typing: a machine
/// beside that of the account, with a queue of its own and without a store.
///
///     let machine = UpdateMachine(source: ZulipPresenceSource(connection))
///
/// It notes by its clock when each answer came. Whoever asks a ``ZulipPresence`` about a moment must
/// mean one of the same clock. What is told and what is not: <doc:Presence>.
public struct ZulipPresenceSource: Source {
  public typealias Model = ZulipPresence
  public typealias Sync = EventQueue<ZulipHeard>

  public let connection: ZulipConnection
  private let clock: any DriverClock

  /// The state of `realm` has how long a sign of somebody holds.
  static let parameters = ZulipRegister(
    eventTypes: ["presence", "typing", "realm_user"], fetchTypes: ["presence", "realm"])

  /// - Parameters:
  ///   - connection: may be the account's, too.
  ///   - clock: all system clocks are one.
  public init(_ connection: ZulipConnection, clock: any DriverClock = SystemClock()) {
    self.connection = connection
    self.clock = clock
  }

  private var source: ZulipSource { ZulipSource(connection, ZulipPresenceSource.parameters) }

  public func register() async throws(SyncFailure) -> Registered<
    ZulipPresence.Snapshot, QueueFinger
  > {
    let registered = try await source.register()
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
