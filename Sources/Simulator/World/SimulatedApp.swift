public import SyncProtocols
public import UpdateMachine

/// What is simulated: an app's model, the server's truth about it, and what goes on there.
///
/// The library's own worlds run ``Chat``; an app's tests run the app's model against its server.
public protocol SimulatedApp: Sendable {
  associatedtype Model: SyncModel
  associatedtype Truth: ServerTruth
  where Truth.Event == Model.Event, Truth.Snapshot == Model.Snapshot

  /// The server's state when the world begins.
  static func beginning(_ choices: inout Choices) -> Truth

  /// Something that happens on the server's side: the next event to commit.
  static func nextEvent(_ truth: Truth, _ choices: inout Choices) -> Truth.Event

  /// An event that the model refuses and the truth takes, for the fault `refused-event`; `nil`: the
  /// model refuses none.
  static func eventToRefuse(_ truth: Truth) -> Truth.Event?

  /// A snapshot that the model refuses, for the fault `refused-snapshot`; `nil`: it refuses none.
  static func snapshotToRefuse(_ truth: Truth) -> Truth.Snapshot?

  /// Equal for a model and a truth that show the same state, different otherwise, but for chance.
  static func checksum(of model: Model) -> UInt64

  /// A model and a truth as text, to be compared in a story.
  static func describe(_ model: Model) -> String
  static func describe(_ truth: Truth) -> String
}
