public import UpdateMachine

/// The diff server of one user, as a plain value: it saves bandwidth, and nothing else hangs on it.
///
/// It fetches the whole view for each pull, and keeps some of the states that it gave out. If it has the
/// one that a client names, it answers with what changed since; if not, with everything. History
/// that is missing costs bandwidth, never correctness.
///
/// A state gets a new ID only if it is not one that is kept: a view that flaps back and forth, or is
/// pulled by many clients, uses up no history. Every answer has the client's last mutation ID and last
/// refusal and the state's checksum, whether or not anything changed, so no acknowledgement is ever
/// missed, and a client that went wrong finds it out with its next pull.
///
/// It knows how to compare, digest and measure values, by ``ViewValue``, and cannot look into them.
///
/// States share what they have in common, with each other and, in one process, with the data layer.
/// Costs of a pull: the difference from what was fetched last, which is O(n) for a view that was read
/// anew from the network, and O(changes × log n) for a fork; all else is O(changes × log n), too.
public struct DiffServer<Value: ViewValue>: Sendable {
  /// Names this start of it. No two starts of one diff server may have the same.
  @inlinable
  public var epoch: UInt64 { _epoch }
  @usableFromInline var _epoch: UInt64
  /// How many states are kept: enough for clients that pull every minute to be away for a while, or for
  /// that many changes in between.
  public var historyMaximum: Int
  public var byteCountMaximum: Int64

  /// How this diff server breaks its contract at the next occasion; only ``ViewBreach/wrongDelta`` is
  /// its own.
  public var breach: ViewBreach?
  /// How often it did.
  @inlinable
  public var breachCount: Int64 { _breachCount }
  @usableFromInline var _breachCount: Int64 = 0

  /// The states that are kept, the one given out last at the end; never empty.
  @usableFromInline var history: [State]
  /// What the last state was made of, for a data layer in this process: a fork of that is compared fast.
  @usableFromInline var fetched: VersionedMap<ViewKey, Value>
  @usableFromInline var lastNumber: UInt64 = 0

  @usableFromInline
  struct State: Sendable {
    @usableFromInline var id: ServerStateID
    @usableFromInline var view: ViewMap<Value>
    @usableFromInline var size: ViewSize

    @inlinable
    init(id: ServerStateID, view: ViewMap<Value>, size: ViewSize) {
      self.id = id
      self.view = view
      self.size = size
    }
  }

  @inlinable
  public static var historyMaximumDefault: Int { 64 }

  @inlinable
  public init(
    epoch: UInt64, historyMaximum: Int = DiffServer.historyMaximumDefault,
    byteCountMaximum: Int64 = ViewSize.byteCountMaximum
  ) {
    _epoch = epoch
    self.historyMaximum = historyMaximum
    self.byteCountMaximum = byteCountMaximum
    let nothing = ServerStateID(epoch: epoch, number: 0)
    history = [State(id: nothing, view: ViewMap(), size: ViewSize())]
    fetched = VersionedMap()
  }

  // MARK: Inputs

  /// Answers a pull of a client that has a state, with what was fetched for it. Throws `viewTooLarge`,
  /// and then keeps what it has.
  @inlinable
  public mutating func pull(
    _ state: ServerStateID?, _ fetched: FetchedView<Value>
  ) throws(ClientViewFailure) -> PulledView<Value> {
    let current = try keep(fetched.view)
    var content = ViewContent<Value>.full(current.view.map)
    var checksum = current.view.checksum
    if let state, let known = history.last(where: { $0.id == state }) {
      let changes = current.view.map.difference(from: known.view.map).changes
      var delta = changes.map { ViewChange(key: $0.key, value: $0.new) }
      if breach == .wrongDelta, let change = changes.last {
        delta.removeLast()
        var wrong = current.view
        wrong[change.key] = change.old
        checksum = wrong.checksum
        breach = nil
        _breachCount += 1
      }
      content = .delta(from: state, delta)
    }
    return PulledView(
      client: fetched.client, state: current.id, checksum: checksum,
      lastMutation: fetched.lastMutation, refusal: fetched.refusal, commit: fetched.commit,
      content: content)
  }

  /// Loses its history: clients get full views.
  @inlinable
  public mutating func forget() {
    let number = lastNumber
    self = emptied(epoch: epoch)
    lastNumber = number + 1
    history[0].id.number = lastNumber
  }

  /// Starts anew with nothing, not even its last number; so it needs an epoch of its own.
  @inlinable
  public mutating func restart(epoch: UInt64) { self = emptied(epoch: epoch) }

  // MARK: Queries

  /// The states that it has, the one given out last at the end.
  @inlinable
  public var states: [ServerStateID] { history.map(\.id) }

  // MARK: Helpers

  @inlinable
  func emptied(epoch: UInt64) -> DiffServer {
    var empty = DiffServer(
      epoch: epoch, historyMaximum: historyMaximum, byteCountMaximum: byteCountMaximum)
    empty.breach = breach
    empty._breachCount = breachCount
    return empty
  }

  /// The state that a view is, new or known, which is then the last one.
  @inlinable
  mutating func keep(
    _ view: VersionedMap<ViewKey, Value>
  ) throws(ClientViewFailure) -> State {
    var state = history[history.count - 1]
    let difference = view.difference(from: fetched)
    for change in difference.changes {
      state.size.change(change.key, from: change.old, to: change.new)
    }
    guard state.size.byteCount <= byteCountMaximum else {
      throw .viewTooLarge(byteCount: state.size.byteCount, maximum: byteCountMaximum)
    }
    fetched = view
    if difference.isEmpty { return state }
    state.view.apply(difference)
    if let known = history.lastIndex(where: {
      $0.view.checksum == state.view.checksum && $0.view == state.view
    }) {
      state.id = history.remove(at: known).id
    } else {
      lastNumber += 1
      state.id = ServerStateID(epoch: epoch, number: lastNumber)
    }
    history.append(state)
    history.removeFirst(max(0, history.count - max(1, historyMaximum)))
    return state
  }
}
