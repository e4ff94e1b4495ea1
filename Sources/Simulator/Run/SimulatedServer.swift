public import SyncProtocols
public import UpdateMachine

/// A server in a world: the server half of a protocol, as a plain value. It remembers all its
/// states, so that oracles can ask for the state of a finger.
///
/// It has logs, numbered from 0 in order of creation: Zulip's event queues. A protocol without logs
/// has a single log that never ends.
public protocol SimulatedServer<Truth, Sync>: Sendable {
  /// The state that clients follow, with its changes.
  associatedtype Truth: ServerTruth
  /// The protocol that it speaks.
  associatedtype Sync: SyncProtocol where Sync.Batch.Event == Truth.Event
  /// A push as it reaches the server. By default named mutations.
  associatedtype Push: Sendable = MutationPush
  /// A client's place in a log.
  typealias Place = Sync.Place
  /// The name of a log, as clients know it.
  typealias Log = Place.Log
  /// The answer to a register, a poll or a release.
  typealias Reply = ServerReply<Truth.Snapshot, Sync>

  /// Creates a server whose state at position 0 is `truth`.
  init(truth: Truth, settings: ServerSettings, at now: Moment)

  // MARK: The truth, now and before

  /// The state that clients follow.
  var truth: Truth { get }

  /// The number of changes committed.
  var position: Int64 { get }

  /// The checksum of the state at a position, from 0 to ``position``.
  func checksum(at position: Int64) -> UInt64

  /// The whole state at a position, from 0 to ``position``.
  func truth(at position: Int64) -> Truth

  /// The commit time of the first announced change after a position; `nil`: none.
  func firstNews(after position: Int64) -> Moment?

  /// A finger's position in its log: a number that grows with it.
  static func number(of finger: Place) -> Int64

  /// The last position in a batch; `nil`: it is empty.
  static func newest(in batch: Sync.Batch) -> Int64?

  /// Whether a snapshot says that it is all that the server has. By default every snapshot is.
  static func isComplete(_ snapshot: Truth.Snapshot) -> Bool

  /// Whether a finger stands for a state of the server: not between two pages of a first sync, say.
  /// By default every finger does.
  static func standsForState(_ finger: Place) -> Bool

  /// The position of the state that a finger of this log stands for; `nil`: this server never gave
  /// that finger.
  func position(of finger: Place, inLog index: Int) -> Int64?

  // MARK: Logs

  /// The number of a log; `nil`: this server never had it.
  func index(of log: Log) -> Int?

  /// The name of the log of this number.
  func id(at index: Int) -> Log

  /// Whether the log of this number can still be followed.
  func isAlive(at index: Int) -> Bool

  /// The names of the logs that can be followed, oldest first.
  var aliveQueues: [Log] { get }

  /// What a log retains, for pictures: the number of events, and when it expires unless it is
  /// followed before; `nil`: while it is followed. By default `nil`: the server cannot tell.
  func retention(of log: Log) -> (events: Int, expires: Moment?)?

  // MARK: Requests

  /// The terms of a snapshot.
  var terms: ServerTerms { get }

  /// A register arrives; its snapshot is read later.
  mutating func beginRegister(at now: Moment) -> Result<Log, RegisterRefusal>

  /// The snapshot is read.
  mutating func finishRegister(_ log: Log, at now: Moment) -> Reply

  /// The same for a client whose name the server knows; `nil`: it has no name. By default names are
  /// ignored.
  mutating func finishRegister(_ log: Log, for name: UInt64?, at now: Moment) -> Reply

  /// A poll arrives; `nil`: it waits, and its answer will be in ``takeFinished()``.
  mutating func poll(
    _ finger: Place, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply?

  /// Whether a poll from this place may be open although there is news, or although it does not
  /// wait: the part of the server that was asked lags behind the others, or has asked them. By
  /// default it may not.
  func isBehind(on finger: Place) -> Bool

  /// The client has stopped waiting.
  mutating func abandon(waiter: UInt64)

  /// A client gives up a log. A log that is gone already is refused.
  mutating func release(_ log: Log) -> Reply

  /// Whether ``takeFinished()`` has anything to give.
  var hasFinished: Bool { get }

  /// The answers of waits that have ended since the last call, in the order in which they ended.
  mutating func takeFinished() -> [EndedWait<Truth.Snapshot, Sync>]

  // MARK: What happens there

  /// Called before each request while there are faults: draws which parts of the server are behind
  /// or slow, from the stream `server`. By default none.
  mutating func waver(_ choices: inout Choices, at now: Moment)

  /// How the server may want to be asked. A world draws one, so one that occurs twice is drawn more
  /// often. The first is the tamest. By default a poll waits.
  static var cadences: [Cadence] { get }

  /// Whether the server recognises a second copy of a push, so that a proxy may send one. By
  /// default it does not.
  static var knowsPushesAgain: Bool { get }

  /// A client pushes changes; `nil`: the server has no room. By default it never has.
  mutating func push(_ push: Push, at now: Moment) -> PushAnswer?

  /// How long a client must wait whose push was not taken just now, because it has pushed too much;
  /// `nil`, the default: that was not the reason.
  var timeUntilNextPush: TimeSpan? { get }

  /// Refuses a push unchanged, and notes that; `false`: it is too late, or the server never does
  /// so.
  mutating func reject(_ push: Push, at now: Moment) -> Bool

  /// Commits a change, which raises ``position`` by 1. Clients are told as the truth announces it.
  mutating func commit(_ change: Truth.Change, at now: Moment)

  /// When the server's next own action is due.
  var nextDue: Moment { get }

  /// Performs the actions that are due by `now`.
  mutating func advance(to now: Moment)

  /// Sends all clients an event that means nothing to a model.
  mutating func announceNothing()

  /// Ends a log early.
  mutating func expire(_ log: Log)

  /// Another client asks with the same log: a wait ends.
  mutating func interrupt(_ log: Log)

  /// Restarts the server, with or without the clients' queues.
  mutating func restart(keepingQueues: Bool, at now: Moment)

  /// From here on no client is told to wait before it asks again.
  mutating func liftLimits()

  /// A batch that was due from this finger, preceded by the event that the client has already
  /// acknowledged; `nil`: there is no such event.
  func repeating(_ batch: Sync.Batch, from finger: Place) -> Sync.Batch?

  // MARK: Plants

  /// The ways in which this server can break its contract. Their raw values are the names of
  /// plants.
  associatedtype Breach: RawRepresentable<String>

  /// Arms this breach of the contract. It happens at the next occasion, or from then on.
  mutating func arm(_ breach: Breach)

  /// Whether a breach is armed. While it is, no other is.
  var isArmed: Bool { get }

  /// How often it broke its contract.
  var breachCount: Int64 { get }
}

/// A server whose library half is judged by a twin of it.
package protocol TwinnedServer: SimulatedServer {
  /// What the library's half was first seen to do otherwise than its twin, which breaks the
  /// contract in the same way; `nil`: nothing.
  var unlikeTwin: String? { get set }

  /// How often the twin has broken the contract.
  var twinBreachCount: Int64 { get }
}

extension TwinnedServer {
  /// Judges what the library's half said by what its twin says. Both must have broken the contract
  /// as often.
  mutating func judge<Said: Equatable>(_ said: Said, _ expected: Said) {
    guard said != expected || breachCount != twinBreachCount else { return }
    noteUnlikeTwin("\(said) instead of \(expected), after \(twinBreachCount) breaches")
  }

  mutating func noteUnlikeTwin(_ what: String) { unlikeTwin = unlikeTwin ?? what }
}

extension SimulatedServer {
  public mutating func finishRegister(_ log: Log, for name: UInt64?, at now: Moment) -> Reply {
    finishRegister(log, at: now)
  }

  public mutating func waver(_ choices: inout Choices, at now: Moment) {}

  public static var cadences: [Cadence] { [.waits] }

  public static var knowsPushesAgain: Bool { false }

  public mutating func push(_ push: Push, at now: Moment) -> PushAnswer? { nil }

  public var timeUntilNextPush: TimeSpan? { nil }

  public mutating func reject(_ push: Push, at now: Moment) -> Bool { false }

  public func retention(of log: Log) -> (events: Int, expires: Moment?)? { nil }

  public static func standsForState(_ finger: Place) -> Bool { true }

  public static func isComplete(_ snapshot: Truth.Snapshot) -> Bool { true }

  public func isBehind(on finger: Place) -> Bool { false }
}

/// The settings that a world draws for its server.
public struct ServerSettings: Hashable, Sendable {
  /// How long a log lives that no client follows.
  public var lifetime: TimeSpan = .seconds(600)
  /// Whether what waits for a client may be merged.
  public var mergesFlags = true
  /// The most requests in a window; `nil`: no limit.
  public var requestsPerWindow: Int64?
  /// How the server wants to be asked.
  public var cadence = Cadence.waits

  /// Creates settings with the defaults. A world draws its own.
  public init() {}

  /// The same as settings of a server of queues.
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

  public func retention(of log: QueueID) -> (events: Int, expires: Moment?)? {
    reading(of: log).map { ($0.retained, $0.isWaitedOn ? nil : $0.isOverAt) }
  }

  public var terms: ServerTerms { configuration.terms }

  public mutating func beginRegister(at now: Moment) -> Result<QueueID, RegisterRefusal> {
    beginRegister(lifetime: nil, at: now)
  }

  /// A client without a name gets one with its snapshot: the name of its first log.
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

  /// Runs every arrival: as on a real Zulip, a second copy is a second post.
  public mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    var created: Int64?
    for mutation in push.mutations {
      do throws(ChangeRefusal) {
        guard let change = try truth.change(by: mutation, of: push.client) else { return nil }
        created = truth.created(by: change)
        commit(change, at: now)
      } catch {
        return .refused(MutationRefusal(mutation.id, error.code))
      }
    }
    guard push.mutations.count == 1, let created else { return .accepted }
    return .created(created)
  }

  /// There is nothing to note: a refused client asks again under another ID.
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
