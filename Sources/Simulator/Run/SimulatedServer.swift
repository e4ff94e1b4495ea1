public import SyncProtocols
public import UpdateMachine

/// A server in a world: the server half of a protocol, as a plain value that remembers every state
/// that it ever was in, so that oracles can ask which one a finger stands for.
///
/// It has logs, numbered from 0 in the order in which they were made: Zulip's event queues. A
/// protocol without them has one log, for ever.
public protocol SimulatedServer: Sendable {
  associatedtype Truth: ServerTruth
  /// The protocol that it speaks.
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Truth.Event
  typealias Place = Sync.Place
  typealias Log = Place.Log
  typealias Reply = ServerReply<Truth.Snapshot, Sync>

  init(truth: Truth, settings: ServerSettings, at now: Moment)

  // MARK: The truth, now and before

  /// The state that clients keep up with.
  var truth: Truth { get }

  /// How many changes were committed.
  var position: Int64 { get }

  /// The checksum of the state at a position, from 0 to ``position``.
  func checksum(at position: Int64) -> UInt64

  /// The whole state at a position, from 0 to ``position``.
  func truth(at position: Int64) -> Truth

  /// When the first change after a position was committed of which clients are told; `nil`: none.
  func firstNews(after position: Int64) -> Moment?

  /// How far in its log a finger is: a number that grows with it.
  static func number(of finger: Place) -> Int64

  /// How far a batch leads; `nil`: it is empty.
  static func newest(in batch: Sync.Batch) -> Int64?

  /// The position of the state that a finger stands for, in the log of this number; `nil`: this
  /// server never gave such a finger.
  func position(of finger: Place, inLog index: Int) -> Int64?

  // MARK: Logs

  /// The number of a log; `nil`: there never was one of this name.
  func index(of log: Log) -> Int?

  /// The name of the log of this number.
  func id(at index: Int) -> Log

  /// Whether the log of this number can still be followed.
  func isAlive(at index: Int) -> Bool

  /// The names of those that can, oldest first.
  var aliveQueues: [Log] { get }

  // MARK: Requests

  /// What it promises with a snapshot.
  var terms: Terms { get }

  /// A register arrives; its snapshot is read later.
  mutating func beginRegister(at now: Moment) -> Result<Log, RegisterRefusal>

  /// The snapshot is read.
  mutating func finishRegister(_ log: Log, at now: Moment) -> Reply

  /// The same for a client of which the server has a name already; `nil`: it has none. By default
  /// names mean nothing.
  mutating func finishRegister(_ log: Log, for name: UInt64?, at now: Moment) -> Reply

  /// A poll arrives; `nil`: it waits, and its answer will be among ``takeFinished()``.
  mutating func poll(
    _ finger: Place, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply?

  /// Nobody waits there any more.
  mutating func abandon(waiter: UInt64)

  mutating func release(_ log: Log) -> Reply

  /// Whether ``takeFinished()`` has anything to give.
  var hasFinished: Bool { get }

  /// The answers of waits that ended since, in the order in which they ended.
  mutating func takeFinished() -> [EndedWait<Truth.Snapshot, Sync>]

  // MARK: What happens there

  /// Before it is asked anything, while there are faults: which of its parts are behind, or slow. Draws
  /// from the stream `server`. By default none is.
  mutating func waver(_ choices: inout Choices, at now: Moment)

  /// Whether it tells a second copy of a push from the first, so that a proxy may send one. By default
  /// it does not.
  static var knowsPushesAgain: Bool { get }

  /// A client pushes changes; `nil`: there is no room. By default there never is.
  mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer?

  /// It refuses a push as it is, and notes that; `false`: it cannot any more, or never does.
  mutating func reject(_ push: MutationPush, at now: Moment) -> Bool

  /// How old what it says may be though it says it now: it is behind for no longer. By default zero.
  var lag: TimeSpan { get }

  mutating func commit(_ change: Truth.Change, at now: Moment)

  /// When something is due by itself.
  var nextDue: Moment { get }

  /// Does what is due by then.
  mutating func advance(to now: Moment)

  /// Everybody is told of something that is nothing for a model.
  mutating func announceNothing()

  /// A log is gone before its time.
  mutating func expire(_ log: Log)

  /// Somebody else asks in our name: a wait ends.
  mutating func interrupt(_ log: Log)

  /// The server is restarted; with or without what it kept of its clients.
  mutating func restart(keepingQueues: Bool, at now: Moment)

  /// From here on nobody is told to wait before asking again.
  mutating func liftLimits()

  /// A batch that was to be given from this finger, with the event before it that the client has
  /// acknowledged already; `nil`: there is no such event.
  func repeating(_ batch: Sync.Batch, from finger: Place) -> Sync.Batch?

  // MARK: Plants

  /// It breaks its contract in this way at the next occasion.
  mutating func arm(_ breach: QueueBreach)

  /// The same of a client view's servers. By default it does not.
  mutating func arm(_ breach: ViewBreach)

  /// Whether a breach is armed, and its occasion has not come.
  var isArmed: Bool { get }

  /// How often it broke its contract.
  var breachCount: Int64 { get }
}

extension SimulatedServer {
  public mutating func finishRegister(_ log: Log, for name: UInt64?, at now: Moment) -> Reply {
    finishRegister(log, at: now)
  }

  public mutating func waver(_ choices: inout Choices, at now: Moment) {}

  public static var knowsPushesAgain: Bool { false }

  public mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? { nil }

  public mutating func reject(_ push: MutationPush, at now: Moment) -> Bool { false }

  public var lag: TimeSpan { .zero }

  public mutating func arm(_ breach: ViewBreach) {}
}

/// What a world draws for its server.
public struct ServerSettings: Hashable, Sendable {
  /// How long a log lives that nobody follows.
  public var lifetime: TimeSpan = .seconds(600)
  /// Whether what waits for a client may be merged.
  public var mergesFlags = true
  /// So many requests a window; `nil`: no limit.
  public var requestsPerWindow: Int64?

  public init() {}

  /// As what a server of queues is set to.
  var queues: QueueServerConfiguration {
    var configuration = QueueServerConfiguration()
    configuration.lifetime = lifetime
    configuration.mergesFlags = mergesFlags
    configuration.requestsPerWindow = requestsPerWindow
    return configuration
  }
}

extension EventQueueServer: SimulatedServer {
  public init(truth: Truth, settings: ServerSettings, at now: Moment) {
    self.init(truth: truth, configuration: settings.queues, at: now)
  }

  @inlinable
  public static func number(of finger: QueueFinger) -> Int64 { finger.lastEventID }

  @inlinable
  public func position(of finger: QueueFinger, inLog index: Int) -> Int64? {
    position(inQueue: index, eventID: finger.lastEventID)
  }

  @inlinable
  public static func newest(in batch: QueueBatch<Truth.Event>) -> Int64? { batch.events.last?.id }

  public var terms: Terms { configuration.terms }

  public mutating func beginRegister(at now: Moment) -> Result<QueueID, RegisterRefusal> {
    beginRegister(lifetime: nil, at: now)
  }

  /// A client that has no name yet is given one with its snapshot: that of its first log.
  public mutating func finishRegister(
    _ queue: QueueID, for name: UInt64?, at now: Moment
  ) -> Reply {
    let reply = finishRegister(queue, at: now)
    guard case .registered(let snapshot, let finger, let terms) = reply,
      let number = index(of: queue)
    else { return reply }
    let client = ClientID(name ?? UInt64(number) + 1)
    return .registered(Truth.addressed(snapshot, to: client), finger, terms)
  }

  /// Each arrival is run: as on a real Zulip, a second copy is a second post.
  public mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    for mutation in push.mutations {
      do throws(ChangeRefusal) {
        guard let change = try truth.change(by: mutation, of: push.client) else { return nil }
        commit(change, at: now)
      } catch {
        return .refused(MutationRefusal(mutation.id, error.code))
      }
    }
    return .accepted
  }

  /// Nothing is to be noted: whoever is refused asks under another ID.
  public mutating func reject(_ push: MutationPush, at now: Moment) -> Bool { true }

  public mutating func liftLimits() { configuration.requestsPerWindow = nil }

  public func repeating(
    _ batch: QueueBatch<Truth.Event>, from finger: QueueFinger
  ) -> QueueBatch<Truth.Event>? {
    guard let number = index(of: finger.queue),
      let event = event(finger.lastEventID, inQueue: number)
    else { return nil }
    var batch = batch
    batch.events.insert(QueuedEvent(id: finger.lastEventID, event: event), at: 0)
    return batch
  }

  public mutating func arm(_ breach: QueueBreach) { self.breach = breach }

  public var isArmed: Bool { breach != nil }
}
