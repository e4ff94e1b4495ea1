public import UpdateMachine

/// The reason why a client refuses a pulled view. The client keeps its state and registers anew,
/// which pulls the full view.
public enum ClientViewRefusal: Error, Hashable, Sendable {
  /// The view that came, or that the delta leads to, does not have the server's checksum.
  case checksum(expected: UInt64, found: UInt64)
  /// The delta starts from a state that the client does not have.
  case base(ServerStateID)
  /// The full view confirms less than the client's state does. The missing mutations are in the
  /// data layer and have left the outbox. Or it names another client, is not current, and may be
  /// older than what the client has.
  case confirmsLess
  /// The answer refuses a mutation that has not run yet. Any later pull would then seem older.
  case refusesAhead
}

/// A client's confirmed state: the view as of one server state, and which of the client's mutations
/// it contains. Replicache calls it a snapshot commit.
@usableFromInline
package struct ClientViewModel<Value: ViewValue>: SyncModel, Equatable {
  @usableFromInline package typealias Snapshot = PulledView<Value>
  @usableFromInline package typealias Event = PulledView<Value>
  @usableFromInline package typealias Refusal = ClientViewRefusal

  /// The view that mutations are replayed on.
  @inlinable
  package var view: ViewMap<Value> { _view }
  @usableFromInline var _view: ViewMap<Value>
  /// The finger of this view.
  @inlinable
  package var finger: ViewFinger { _finger }
  @usableFromInline var _finger: ViewFinger
  /// The client's last refused mutation, and why. All others up to the last mutation ID are in the
  /// view, unless they were refused earlier.
  @inlinable
  package var refusal: MutationRefusal? { _refusal }
  @usableFromInline var _refusal: MutationRefusal?

  /// A view that comes from no server: what a client begins with.
  @inlinable
  package init(beginning view: ViewMap<Value>) {
    _view = view
    _finger = ViewFinger(
      client: .nameless, state: ServerStateID(epoch: 0, number: 0), checksum: view.checksum,
      lastMutation: .none, lastRefusal: .none)
  }

  @inlinable
  package init(snapshot: PulledView<Value>) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  /// Keeps the old state's nodes where the full view equals it, so that differences are found fast.
  /// O(n).
  @inlinable
  package init(
    snapshot: PulledView<Value>, replacing old: ClientViewModel?
  ) throws(ClientViewRefusal) {
    if let old, snapshot.finger.confirmsLess(than: old.finger) { throw .confirmsLess }
    _view = try snapshot.content.view(on: old?.view ?? ViewMap(), of: old?.finger.state)
    _finger = snapshot.finger
    _refusal = snapshot.refusal
    try check()
  }

  @inlinable
  package mutating func apply(_ pulled: PulledView<Value>) throws(ClientViewRefusal) {
    if pulled.finger.confirmsLess(than: finger) { throw .confirmsLess }
    _view = try pulled.content.view(on: view, of: finger.state)
    _finger = pulled.finger
    _refusal = pulled.refusal
    try check()
  }

  @inlinable
  func check() throws(ClientViewRefusal) {
    if finger.lastRefusal > finger.lastMutation { throw .refusesAhead }
    guard view.checksum == finger.checksum else {
      throw .checksum(expected: finger.checksum, found: view.checksum)
    }
  }

  /// The last of the client's mutations in this state. Greater IDs must be replayed.
  @inlinable
  package var lastMutation: MutationID { finger.lastMutation }
}

extension ViewContent {
  /// Returns the view that results from the client's present one.
  @inlinable
  func view(
    on old: ViewMap<Value>, of state: ServerStateID?
  ) throws(ClientViewRefusal) -> ViewMap<Value> {
    var view = old
    switch self {
    case .full(let whole):
      if old.count == 0 { return ViewMap(whole) }  // The first view: no nodes to keep.
      view.apply(whole.difference(from: old.map))
    case .delta(let base, let changes):
      guard base == state else { throw .base(base) }
      for change in changes { view[change.key] = change.value }
    }
    return view
  }
}
