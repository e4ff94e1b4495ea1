public import UpdateMachine

// The parts of an app with a client view: its mutations, and the confirmed state that they are
// replayed on.

/// An app's mutation of its client view: a mutator's name, and arguments for it. The client runs
/// its own `apply(to:)`, which may guess what the data layer's mutator will do.
public protocol ViewMutation<Content>: Mutation where State == ViewMap<Content> {
  /// The type of the view's values.
  associatedtype Content: ViewValue = JSONValue

  /// The arguments for the data layer's mutator.
  var arguments: JSONValue { get }

  /// The view that a new client begins with, so that its user can make changes before the first
  /// pull (`SyncModel.beginning`). `nil`, the default: there is none.
  static var beginning: ViewMap<Content>? { get }
}

extension ViewMutation {
  public static var beginning: ViewMap<Content>? { nil }
}

/// The model of an app: a client's confirmed view, and which of its mutations that contains.
/// Pending mutations are in the outbox.
public struct ConfirmedView<Change: ViewMutation>: SyncModel {
  public typealias Snapshot = PulledView<Change.Content>
  public typealias Event = PulledView<Change.Content>
  public typealias Refusal = ClientViewRefusal

  /// The view as it was pulled.
  package internal(set) var model: ClientViewModel<Change.Content>

  /// A view that comes from no server, for a client without a name.
  public static var beginning: ConfirmedView? {
    Change.beginning.map { ConfirmedView(model: ClientViewModel(beginning: $0)) }
  }

  init(model: ClientViewModel<Change.Content>) { self.model = model }

  public init(snapshot: Snapshot) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  public init(
    snapshot: Snapshot, replacing old: ConfirmedView?
  ) throws(ClientViewRefusal) {
    // Another client's confirmations say nothing about this one. So a replica that lags may lack
    // what was confirmed under a name that the server has forgotten since.
    let known = old?.client == snapshot.client ? old?.model : nil
    if let old, known == nil, snapshot.mayBeOlder(than: old.model.finger) { throw .confirmsLess }
    model = try ClientViewModel(snapshot: snapshot, replacing: known)
  }

  public mutating func apply(_ event: Event) throws(ClientViewRefusal) { try model.apply(event) }

  public var client: ClientID? { model.finger.client }

  public var confirmation: MutationConfirmation {
    MutationConfirmation(last: model.lastMutation, refusal: model.refusal)
  }

  public var state: ViewMap<Change.Content> { model.view }
}

extension PulledView {
  /// Whether it may be older than a view of the same user under another name.
  fileprivate func mayBeOlder(than finger: ViewFinger) -> Bool {
    if isCurrent || finger.client == .nameless { return false }
    guard let commit, let known = finger.commit else { return true }
    return commit < known
  }
}

extension MutationPush {
  /// Converts an outbox's push.
  public init<Change: ViewMutation>(_ push: PushRequest<Change>) {
    self.init(
      client: push.client, knownRefusal: push.knownRefusal, voided: push.voided,
      mutations: push.mutations.map {
        NamedMutation(id: $0.id, name: $0.change.name, arguments: $0.change.arguments)
      })
  }
}
