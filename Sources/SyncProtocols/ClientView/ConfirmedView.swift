public import UpdateMachine

// What an app of a client view is made of: its mutations, and the confirmed state that they are
// replayed over.

/// An app's mutation of its client view: it has the name of one of the data layer's mutators, and
/// arguments for it. What ``Mutation/apply(to:)`` does is the client's own; it may guess.
public protocol ViewMutation: Mutation where State == ViewMap<Content> {
  /// What a value of the view is.
  associatedtype Content: ViewValue = JSON

  /// What the data layer's mutator is given.
  var arguments: JSON { get }
}

/// The model of an app: a client's confirmed view, with how far its mutations are in it. What is
/// pending is beside it, in the outbox.
public struct ConfirmedView<Change: ViewMutation>: SyncModel {
  public typealias Snapshot = PulledView<Change.Content>
  public typealias Event = PulledView<Change.Content>
  public typealias Refusal = ClientViewRefusal

  /// The view as it was pulled.
  public internal(set) var model: ClientViewModel<Change.Content>

  public init(snapshot: Snapshot) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  public init(
    snapshot: Snapshot, replacing old: ConfirmedView?
  ) throws(ClientViewRefusal) {
    // What another client has confirmed says nothing of this one.
    let known = old?.client == snapshot.client ? old?.model : nil
    model = try ClientViewModel(snapshot: snapshot, replacing: known)
  }

  public mutating func apply(_ event: Event) throws(ClientViewRefusal) { try model.apply(event) }

  public var client: ClientID? { model.finger.client }

  public var confirmation: MutationConfirmation {
    MutationConfirmation(last: model.lastMutation, refusal: model.refusal)
  }

  public var state: ViewMap<Change.Content> { model.view }
}

extension MutationPush {
  /// What an outbox wants pushed.
  public init<Change: ViewMutation>(_ push: Outbox<Change>.Push) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: $0.change.arguments)
      })
  }
}
