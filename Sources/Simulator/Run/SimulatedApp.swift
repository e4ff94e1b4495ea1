public import SyncProtocols
public import UpdateMachine

/// What ``Simulation`` runs: a ``SimulatedApp``, or a ``SimulatedOfflineApp`` whose users change
/// things.
public protocol Simulatable<Model, Truth>: Sendable {
  /// The app's own model type.
  associatedtype Model: SyncModel
  /// The server's state, written as simply as possible. It should not reuse the model's code: a
  /// mistake in both would go unnoticed.
  associatedtype Truth: Sendable

  /// The server's state when the world begins. May draw from the stream `workload`.
  static func beginning(_ choices: inout Choices) -> Truth
}

/// An app whose model takes what its server tells. Every ``SimulatedApp`` is one.
///
/// It is a protocol of its own so that the compiler says what does not agree. In `SimulatedApp` it
/// would check nothing: that model and truth have the same events already follows from the default
/// of `User`.
public protocol AgreeingApp<Model, Truth>: Simulatable
where Truth: ServerTruth, Truth.Event == Model.Event, Truth.Snapshot == Model.Snapshot {}

/// A world that is made of an app. Stories say the app's name.
package protocol NamedWorld {
  static var name: String { get }
}

/// A simulation of an app: its model, the server's truth, and the events on the server.
///
/// An app's tests run the app's model against its server. A simple app says three things: where the
/// world begins, what happens next, and, through the `description` of model and truth, what each of
/// them shows:
///
///     enum MyApp: SimulatedApp {
///       typealias Model = MyModel
///       static func beginning(_ choices: inout Choices) -> MyServer { MyServer() }
///       static func nextEvent(_ truth: MyServer, _ choices: inout Choices) -> MyEvent { … }
///     }
///
/// Everything here must be a function of its arguments alone: no clock, no randomness except
/// `choices`, no reliance on the order of a `Set` or a `Dictionary`. A seed that is run twice must
/// give the same run; ``Simulation`` checks that, too.
public protocol SimulatedApp<Model, Truth>: AgreeingApp {
  /// The server half of the app's protocol. By default Zulip's event queues.
  associatedtype Server: SimulatedServer = EventQueueServer<Truth> where Server.Truth == Truth
  /// The user of each client. By default one who does nothing.
  associatedtype User: SimulatedUser = PassiveUser<Model, Truth, Server.Sync>
  where User.Model == Model, User.Truth == Truth, User.Sync == Server.Sync

  /// The disk under each client. By default it keeps values as they are. A model with a saved form
  /// of its own should use a ``RowDisk``, so that the form is tested, too.
  associatedtype Disk: SimulatedDisk = ValueDisk<Model, Server.Sync.Place>
  where Disk.Model == Model, Disk.Place == Server.Sync.Place

  /// Returns the next event that the server commits.
  ///
  /// Called some hundred times in a run, at moments that the world chooses: while the faults last,
  /// and once after they have stopped. Draws from the stream `workload`. The least value of each
  /// draw should be the tamest, because failing runs are shrunk towards it. Draw from a few small
  /// numbers: values that collide often reveal more mistakes than values that all differ.
  /// - Parameters:
  ///   - truth: the state that the event will be applied to.
  ///   - choices: what to draw from.
  static func nextEvent(_ truth: Truth, _ choices: inout Choices) -> Truth.Change

  /// An event that the model refuses (throws) and the truth accepts, for the fault `refused-event`.
  /// `nil`, the default: the model refuses none, and the fault never strikes.
  static func eventToRefuse(_ truth: Truth) -> Truth.Change?

  /// A snapshot that the model refuses (throws), for the fault `refused-snapshot`. `nil`, the
  /// default: it refuses none, and the fault never strikes.
  static func snapshotToRefuse(_ truth: Truth) -> Truth.Snapshot?

  /// The request of a push, sent from a finger. Supplied where the model takes no changes.
  static func request(
    _ push: PushRequest<Model.Change>, at finger: Server.Place?
  ) -> Server.Push

  /// As ``request(_:at:)``, with the confirmed state at the finger; `nil`: there is no finger. It
  /// is for a protocol whose clients run their changes themselves. By default it leaves the state
  /// out.
  static func request(
    _ push: PushRequest<Model.Change>, at finger: Server.Place?, over state: Model.Change.State?
  ) -> Server.Push

  /// The server's answer to a request for a page. It chose what to answer in the state `found`, and
  /// reads it a little `later`. Supplied where the model holds everything.
  static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth
  ) -> Model.Lists.Page

  /// As ``page(_:found:later:)``, but wrong; `nil`, the default: this page cannot be wrong in this
  /// way.
  static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth,
    breaking breach: PageBreach
  ) -> Model.Lists.Page?

  /// A change by which the server breaks its contract towards readers, for the faults
  /// `silent-change` and `old-cache`. `nil`, the default: the contract cannot be broken so, and the
  /// fault never strikes. May draw from the stream `workload`.
  static func nextBreach(
    _ fault: Fault, _ truth: Truth, _ choices: inout Choices
  ) -> Truth.Change?

  /// The change that ends such breaches when the faults stop; `nil`, the default: none.
  static func endOfBreaches(_ truth: Truth) -> Truth.Change?

  /// The server's name for the client with this model; `nil`: it has none. By default the name of
  /// its outbox, if it has one.
  static func clientName(of model: Model) -> UInt64?

  /// Returns the same value as the `checksum` of a truth that shows the same state; a different one
  /// otherwise, except by chance. Called after every input, so most of a run's time may go into it.
  ///
  /// By default the checksum of the model's `description`, which fits the default of `ServerTruth`.
  static func checksum(of model: Model) -> UInt64

  /// Describes a model on one line, for a story. Keep the words in a fixed order, so that two texts
  /// can be compared word by word. By default its `description`.
  static func describe(_ model: Model) -> String

  /// Describes a truth, in the same text as a model of the same state. By default its
  /// `description`.
  static func describe(_ truth: Truth) -> String

  /// Describes an event on one line, for a conversation. By default its `description`, or if it has
  /// none, the cases and values that Swift prints of it. (Embedded Swift cannot print those: there
  /// the default is "".)
  static func describe(_ event: Truth.Change) -> String
}

extension SimulatedApp {
  public static func request(
    _ push: PushRequest<Model.Change>, at finger: Server.Place?, over state: Model.Change.State?
  ) -> Server.Push { request(push, at: finger) }

  public static func eventToRefuse(_ truth: Truth) -> Truth.Change? { nil }

  public static func snapshotToRefuse(_ truth: Truth) -> Truth.Snapshot? { nil }

  public static func nextBreach(
    _ fault: Fault, _ truth: Truth, _ choices: inout Choices
  ) -> Truth.Change? { nil }

  public static func endOfBreaches(_ truth: Truth) -> Truth.Change? { nil }

  #if hasFeature(Embedded)
    public static func describe(_ event: Truth.Change) -> String { "" }
  #else
    public static func describe(_ event: Truth.Change) -> String { "\(event)" }
  #endif

  public static func clientName(of model: Model) -> UInt64? { model.client?.number }

  public static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth,
    breaking breach: PageBreach
  ) -> Model.Lists.Page? { nil }
}

extension SimulatedApp where Model.Change == Never, Server.Push == MutationPush {
  /// Nothing is ever pushed.
  public static func request(
    _ push: PushRequest<Never>, at finger: Server.Place?
  ) -> MutationPush {
    MutationPush(client: push.client, knownRefusal: .none, mutations: [])
  }
}

extension SimulatedApp where Model.Lists == NoLists {
  /// No page is ever asked for.
  public static func page(
    _ request: PageRequest<NoLists.Narrow, NoLists.ID>, found: Truth, later: Truth
  ) -> NoLists.Page { preconditionFailure("a model without lists asks for no page") }
}

extension SimulatedApp where Model: CustomStringConvertible {
  public static func checksum(of model: Model) -> UInt64 {
    var digest = StateDigest()
    digest.fold(model.description)
    return digest.value
  }

  public static func describe(_ model: Model) -> String { model.description }
}

extension SimulatedApp where Truth: CustomStringConvertible {
  public static func describe(_ truth: Truth) -> String { truth.description }
}

extension SimulatedApp where Truth.Change: CustomStringConvertible {
  public static func describe(_ event: Truth.Change) -> String { event.description }
}
