public import UpdateMachine

/// A ``ClientViewModel`` over which a client's mutations of one app are replayed: what `Rebased` makes
/// the model of a replica of.
public struct ConfirmedView<Change: Mutation, Value: ViewValue>: ConfirmingModel
where Change.State == ViewMap<Value> {
  public typealias Snapshot = PulledView<Value>
  public typealias Event = PulledView<Value>
  public typealias Refusal = ClientViewRefusal

  /// What the diff server has said.
  public private(set) var model: ClientViewModel<Value>

  public init(snapshot: PulledView<Value>) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  public init(
    snapshot: PulledView<Value>, replacing old: ConfirmedView?
  ) throws(ClientViewRefusal) {
    model = try ClientViewModel(snapshot: snapshot, replacing: old?.model)
  }

  public mutating func apply(_ pulled: PulledView<Value>) throws(ClientViewRefusal) {
    try model.apply(pulled)
  }

  public var client: ClientID { model.finger.client }

  public var confirmation: Confirmation {
    Confirmation(last: model.lastMutation, refusal: model.refusal)
  }

  public var state: ViewMap<Value> { model.view }
}
