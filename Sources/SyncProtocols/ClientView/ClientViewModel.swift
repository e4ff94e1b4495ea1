public import UpdateMachine

/// Why a client does not take what was pulled. It keeps what it has, and registers anew: it pulls the
/// full view.
public enum ClientViewRefusal: Error, Hashable, Sendable {
  /// What came, or what it made of the state we have, is not what the server meant.
  case checksum(expected: UInt64, found: UInt64)
  /// A delta from a state that we do not have.
  case base(ServerStateID)
  /// A full view that confirms less than is confirmed. Our mutations that it does not have are in the
  /// data layer, and have left the outbox.
  case confirmsLess
  /// It refuses a mutation of ours that was not run yet: whatever was pulled later would be older.
  case refusesAhead
}

/// A client's confirmed state: the view as of one server state, and how far the client's mutations are
/// in it. The seed's snapshot commit.
public struct ClientViewModel<Value: ViewValue>: SyncModel, Equatable {
  public typealias Snapshot = PulledView<Value>
  public typealias Event = PulledView<Value>
  public typealias Refusal = ClientViewRefusal

  /// What mutations are replayed on.
  @inlinable
  public var view: ViewMap<Value> { _view }
  @usableFromInline var _view: ViewMap<Value>
  /// The finger that goes with it.
  @inlinable
  public var finger: ViewFinger { _finger }
  @usableFromInline var _finger: ViewFinger
  /// The client's last mutation that was refused, and why. All others up to the last mutation ID
  /// are in the view, unless they were refused before.
  @inlinable
  public var refusal: MutationRefusal? { _refusal }
  @usableFromInline var _refusal: MutationRefusal?

  @inlinable
  public init(snapshot: PulledView<Value>) throws(ClientViewRefusal) {
    try self.init(snapshot: snapshot, replacing: nil)
  }

  /// The older state's nodes are kept where the full view is equal to it, so that what really changed
  /// can be found fast. O(n).
  @inlinable
  public init(
    snapshot: PulledView<Value>, replacing old: ClientViewModel?
  ) throws(ClientViewRefusal) {
    if let old, snapshot.finger.confirmsLess(than: old.finger) { throw .confirmsLess }
    _view = try snapshot.content.view(on: old?.view ?? ViewMap(), of: old?.finger.state)
    _finger = snapshot.finger
    _refusal = snapshot.refusal
    try check()
  }

  @inlinable
  public mutating func apply(_ pulled: PulledView<Value>) throws(ClientViewRefusal) {
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

  /// How far the client's mutations are in it: those above are still to be replayed.
  @inlinable
  public var lastMutation: MutationID { finger.lastMutation }
}

extension ViewContent {
  /// The view that it leads to from one that the client has.
  @inlinable
  func view(
    on old: ViewMap<Value>, of state: ServerStateID?
  ) throws(ClientViewRefusal) -> ViewMap<Value> {
    var view = old
    switch self {
    case .full(let whole):
      if old.count == 0 { return ViewMap(whole) }  // The first: there is nothing to keep.
      view.apply(whole.difference(from: old.map))
    case .delta(let base, let changes):
      guard base == state else { throw .base(base) }
      for change in changes { view[change.key] = change.value }
    }
    return view
  }
}
