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
  /// What reads parts of the server's state besides the log. By default nothing does: the model holds
  /// everything.
  associatedtype Reader: SimulatedReader = NoReader<Model, Truth, Server.Sync>
  where Reader.Model == Model, Reader.Truth == Truth, Reader.Sync == Server.Sync

  /// What sends changes of the user's. By default nobody makes any.
  associatedtype Writer: SimulatedWriter = NoWriter<Model, Truth, Server.Sync>
  where Writer.Model == Model, Writer.Truth == Truth, Writer.Sync == Server.Sync

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

  /// A change by which the server breaks its contract towards readers, for the faults `silent-change`
  /// and `old-cache`; `nil`, the default: it cannot be broken so, and the fault never strikes. May
  /// draw, from the stream `workload`.
  static func nextBreach(
    _ fault: Fault, _ truth: Truth, _ choices: inout Choices
  ) -> Truth.Change?

  /// The change with which such breaches end, when the faults stop; `nil`, the default: none.
  static func endOfBreaches(_ truth: Truth) -> Truth.Change?

  /// What the server calls the client that has this model; `nil`, the default: nothing.
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

  public static func clientName(of model: Model) -> UInt64? { nil }
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
