// Offline: the room of worlds for apps whose users change things, online or offline, on a server
// that keeps a log of numbered changes: what such an app says of itself, its server, and a user who
// can use any app.
//
// Offline may use: Changes, Choices, Disk, Run.

public import SyncProtocols
public import UpdateMachine

/// A simulation of an app whose users change things: its model, the server's truth, what a user
/// may do next, and what must hold.
///
///     enum MyApp: SimulatedOfflineApp {
///       typealias Model = MyModel
///       static func beginning(_ choices: inout Choices) -> MyServer { MyServer() }
///       static func nextChange(_ view: MyState, _ choices: inout Choices) -> MyChange? { … }
///       static func objection(_ view: MyState, _ truth: MyServer) -> String? { … }
///     }
///
/// Users make changes at any time, some of them while they are offline. They edit, discard or
/// retry what waits or was refused. Others make the same kinds of changes at the server. For
/// every user the simulator checks, whatever the changes are:
///
/// - The view is the confirmed state with the pending changes over it. A change is set aside when
///   it throws, and only then.
/// - What is sent is on the disk. What was discarded before it was sent is never made.
/// - A change leaves the outbox when the server has made it, in its last form, and not before.
/// - The model says what the server has told of the user's changes.
/// - The server and the client make the same of a change in the same state (``mutatorsAgree``).
/// - Once the faults stop, every outbox becomes empty.
///
/// Everything here must be a function of its arguments alone, as in a ``SimulatedApp``. Models,
/// truths and views are compared by their `description`, so that must say everything that
/// matters.
public protocol SimulatedOfflineApp<Model, Truth>: Simulatable
where
  Model: CustomStringConvertible, Model.Change: Equatable & CustomStringConvertible,
  Model.Change.State: CustomStringConvertible, Model.Lists == NoLists,
  Truth: SimulatedTruth, Truth.Change == Model.Change, Truth.Event == Model.Event,
  Truth.Snapshot == Model.Snapshot
{
  /// The protocol that the app speaks. By default the library's own log of numbered changes.
  associatedtype Sync: SimulatedLog = ChangeLog<Truth.Event> where Sync.Batch.Event == Truth.Event
  /// The disk under each client, as in a ``SimulatedApp``.
  associatedtype Disk: SimulatedDisk = ValueDisk<Model, Sync.Place>
  where Disk.Model == Model, Disk.Place == Sync.Place

  /// Returns what a user who sees this may do next; `nil`: nothing. A change that cannot be made
  /// is tried in vain.
  ///
  /// Draws from the stream `users`. The least value of each draw should be the tamest. Draw from
  /// a few values: users who meet in the same place reveal more.
  static func nextChange(_ view: Model.Change.State, _ choices: inout Choices) -> Model.Change?

  /// Returns what is wrong with what a user sees, in words; `nil`: nothing.
  ///
  /// - Parameters:
  ///   - view: the confirmed state with the user's pending changes over it.
  ///   - truth: what the server had when it told the confirmed state.
  static func objection(_ view: Model.Change.State, _ truth: Truth) -> String?

  /// Whether the server and a client make the same of a change in the same state, unless the
  /// server refuses it. `true` by default. Say `false` if your server decides more than its
  /// clients can know: a price, say, or a place in a list.
  static var mutatorsAgree: Bool { get }
}

extension SimulatedOfflineApp {
  public static var mutatorsAgree: Bool { true }
}

/// The true state of a server that makes its clients' changes. It only makes them. A world counts
/// them, logs them, and asks for a snapshot.
public protocol SimulatedTruth<Change, Event, Snapshot>: Sendable, CustomStringConvertible {
  /// What clients push.
  associatedtype Change: Mutation
  /// What the log tells of a change.
  associatedtype Event: Sendable
  /// What a client that registers starts from.
  associatedtype Snapshot: Sendable

  /// Makes a change, and returns the event that the log gets. If it throws, the change is
  /// refused, and the state stays as it was.
  ///
  /// - Parameters:
  ///   - change: what a client has pushed.
  ///   - client: whose change it is, as it is confirmed with it; `nil`: somebody else's. The
  ///     event must tell that client of it.
  mutating func make(
    _ change: Change, by client: ClientProgress?
  ) throws(ChangeRefusal) -> Event

  /// The event that tells a client of the refusal of one of its changes. It changes nothing.
  func refusal(to client: ClientProgress) -> Event

  /// The snapshot for this client. It must name the client, and say how far its changes are
  /// confirmed.
  func snapshot(for client: ClientProgress) -> Snapshot
}

/// How far a server has made one client's changes.
public struct ClientProgress: Hashable, Sendable {
  /// The client.
  public internal(set) var client: ClientID
  /// The last of its mutations that the server has made or refused; 0: none. Always 0 in a
  /// snapshot of a server that does not count them.
  public internal(set) var last = MutationID.none
  /// The last one that the server has refused; `nil`: none.
  public internal(set) var refused: MutationID?
  /// Why it was refused; empty if no reason is known.
  public internal(set) var reason = RejectionCode.none

  init(of client: ClientID) { self.client = client }

  /// The same, as a model's `SyncModel.confirmation`.
  public var confirmation: MutationConfirmation {
    MutationConfirmation(last: last, refusal: refused.map { MutationRefusal($0, reason) })
  }
}

/// A protocol with logs of numbered changes, for which a world can play the server. It must be
/// possible to ask for what comes after a number. Numbers ascend from 1, with holes.
public protocol SimulatedLog<Place, Batch>: SyncProtocol {
  /// The place of a client that has all changes up to a number.
  ///
  /// - Parameters:
  ///   - number: the number of the last change; 0: none.
  ///   - log: which log it is, from 0. The server begins another if it has lost the earlier one.
  static func place(_ number: Int64, inLog log: Int) -> Place

  /// The number of a place.
  static func number(of place: Place) -> Int64

  /// The answer to a poll, with every change of a page.
  static func batch(_ page: ChangeLogBatch<Batch.Event>, inLog log: Int) -> Batch
}

extension ChangeLog: SimulatedLog {
  public static func place(_ number: Int64, inLog log: Int) -> ChangeLogPlace {
    ChangeLogPlace(epoch: ChangeLogEpoch("log\(log + 1)"), number: number)
  }

  public static func number(of place: ChangeLogPlace) -> Int64 { place.number }

  public static func batch(
    _ page: ChangeLogBatch<Event>, inLog log: Int
  ) -> ChangeLogBatch<Event> { page }
}
