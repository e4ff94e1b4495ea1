public import SyncProtocols
public import UpdateMachine

/// What is simulated: an app's model, the server's truth about it, and what goes on there.
///
/// The library's own worlds run ``Chat``; an app's tests run the app's model against its server.
/// Of a simple app, three things are to be said: where the world begins, what happens next, and, by
/// the `description` of model and truth, what each of them shows:
///
///     enum MyApp: SimulatedApp {
///       typealias Model = MyModel
///       static func beginning(_ choices: inout Choices) -> MyServer { MyServer() }
///       static func nextEvent(_ truth: MyServer, _ choices: inout Choices) -> MyEvent { … }
///     }
///
/// Everything here is a function of its arguments alone: no clock, no random number but from the
/// `choices`, no order that a `Set` or a `Dictionary` gives. A seed that is run twice must tell one
/// story; ``Simulation`` looks at that, too.
public protocol SimulatedApp: Sendable {
  /// What the app holds: the very type that it ships.
  associatedtype Model: SyncModel
  /// What its server holds, written as simply as can be, and best not with the model's own code:
  /// a mistake that both make is seen by nobody.
  associatedtype Truth: ServerTruth
  where Truth.Event == Model.Event, Truth.Snapshot == Model.Snapshot
  /// The server half of the protocol that it speaks. By default Zulip's event queues.
  associatedtype Server: SimulatedServer = EventQueueServer<Truth> where Server.Truth == Truth
  /// The user of each client. By default one who does nothing.
  associatedtype User: SimulatedUser = PassiveUser<Model, Truth, Server.Sync>
  where User.Model == Model, User.Truth == Truth, User.Sync == Server.Sync

  /// The disk under each client. By default it keeps values as they are; a model with a saved form of
  /// its own should be on a ``RowDisk``, so that the form is tried, too.
  associatedtype Disk: SimulatedDisk = ValueDisk<Model, Server.Sync.Place>
  where Disk.Model == Model, Disk.Place == Server.Sync.Place

  /// The server's state when the world begins. May draw, from the stream `workload`.
  static func beginning(_ choices: inout Choices) -> Truth

  /// Something that happens on the server's side: the next event to commit.
  ///
  /// Called some hundred times in a run, at moments of the world's own, while the faults last and
  /// once after they have stopped. Draws from the stream `workload`. The least value of each draw
  /// should be the tamest, for to that a failing run is shrunk. Draw from a few small numbers: things
  /// that meet again and again show more mistakes than things that are all different.
  /// - Parameters:
  ///   - truth: the state that the event will be applied to.
  ///   - choices: what to draw from.
  static func nextEvent(_ truth: Truth, _ choices: inout Choices) -> Truth.Change

  /// An event that the model refuses (throws) and the truth takes, for the fault `refused-event`;
  /// `nil`, the default: the model refuses none, and the fault never strikes.
  static func eventToRefuse(_ truth: Truth) -> Truth.Change?

  /// A snapshot that the model refuses (throws), for the fault `refused-snapshot`; `nil`, the
  /// default: it refuses none, and the fault never strikes.
  static func snapshotToRefuse(_ truth: Truth) -> Truth.Snapshot?

  /// What a push tells the server. Supplied where the model takes no changes.
  static func request(_ push: Outbox<Model.Change>.Push) -> MutationPush

  /// What the server answers to a question for a page: it has `found` what there is to answer with, and
  /// reads it a little `later`. Supplied where the model holds everything.
  static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth
  ) -> Model.Lists.Page

  /// As ``page(_:found:later:)``, but wrong; `nil`, the default: this page cannot be wrong in this way.
  static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth,
    breaking breach: PageBreach
  ) -> Model.Lists.Page?

  /// A change by which the server breaks its contract towards readers, for the faults `silent-change`
  /// and `old-cache`; `nil`, the default: it cannot be broken so, and the fault never strikes. May
  /// draw, from the stream `workload`.
  static func nextBreach(
    _ fault: Fault, _ truth: Truth, _ choices: inout Choices
  ) -> Truth.Change?

  /// The change with which such breaches end, when the faults stop; `nil`, the default: none.
  static func endOfBreaches(_ truth: Truth) -> Truth.Change?

  /// What the server calls the client that has this model; `nil`: nothing. By default the name of its
  /// outbox, if it has one.
  static func clientName(of model: Model) -> UInt64?

  /// Equal to the `checksum` of a truth that shows the same state, different otherwise, but for
  /// chance. Asked after every input: most of a run's time may go into it.
  ///
  /// By default the checksum of the model's `description`, which fits the default of `ServerTruth`.
  static func checksum(of model: Model) -> UInt64

  /// A model as text, on one line, for a story: words that stand in one order, so that two texts can
  /// be compared word by word. By default its `description`.
  static func describe(_ model: Model) -> String

  /// A truth as text: of the same state, the same text as of a model. By default its `description`.
  static func describe(_ truth: Truth) -> String

  /// An event as text, on one line, for a conversation. By default its `description`; of one that
  /// has none, "".
  static func describe(_ event: Truth.Change) -> String
}

extension SimulatedApp {
  public static func eventToRefuse(_ truth: Truth) -> Truth.Change? { nil }

  public static func snapshotToRefuse(_ truth: Truth) -> Truth.Snapshot? { nil }

  public static func nextBreach(
    _ fault: Fault, _ truth: Truth, _ choices: inout Choices
  ) -> Truth.Change? { nil }

  public static func endOfBreaches(_ truth: Truth) -> Truth.Change? { nil }

  public static func describe(_ event: Truth.Change) -> String { "" }

  public static func clientName(of model: Model) -> UInt64? { model.client?.number }

  public static func page(
    _ request: PageRequest<Model.Lists.Narrow, Model.Lists.ID>, found: Truth, later: Truth,
    breaking breach: PageBreach
  ) -> Model.Lists.Page? { nil }
}

extension SimulatedApp where Model.Change == Never {
  /// Nothing is ever pushed.
  public static func request(_ push: Outbox<Never>.Push) -> MutationPush {
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
    var digest = Digest()
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
