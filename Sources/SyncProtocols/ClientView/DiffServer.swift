public import UpdateMachine

/// The diff server of one user, as a plain value. It saves bandwidth; correctness does not depend
/// on it.
///
/// It fetches the whole view for each pull, and keeps some of the states that it gave out. If it
/// has the state that the client names, it answers with the changes since then. Otherwise it sends
/// the whole view. Missing history costs bandwidth, never correctness.
///
/// A state gets a new ID only if it is not kept already. So a view that flaps, or that many clients
/// pull, uses up no history. Every answer has the client's last mutation ID, its last refusal and
/// the state's checksum, even if nothing changed. So no acknowledgement is ever missed, and a
/// client with a wrong state notices at its next pull.
///
/// It compares, digests and measures values through ``ViewValue``, and cannot read them.
///
/// States share common parts with each other and, in one process, with the data layer. The cost of
/// a pull is the comparison with the last fetched view, plus O(changes × log n). The comparison is
/// O(n) for a view read anew from the network, and O(changes × log n) for a fork.
@usableFromInline
package struct DiffServer<Value: ViewValue>: Sendable {
  /// Identifies this start. It must differ between all starts of one diff server.
  @inlinable
  package var epoch: UInt64 { _epoch }
  @usableFromInline var _epoch: UInt64
  /// The most states kept. It should be enough for clients that pull every minute to be away for a
  /// while, or for that many changes meanwhile.
  @usableFromInline package var historyMaximum: Int
  @usableFromInline package var byteCountMaximum: Int64

  /// How this diff server breaks its contract at the next opportunity. It can only do
  /// ``ViewBreach/wrongDelta``.
  @usableFromInline package var breach: ViewBreach?
  /// How often it broke its contract.
  @inlinable
  package var breachCount: Int64 { _breachCount }
  @usableFromInline var _breachCount: Int64 = 0

  /// The states that are kept, the most recently sent one at the end; never empty.
  @usableFromInline var history: [State]
  /// The view that the last state was made from. If a data layer in this process fetches a fork of
  /// it, the two are compared fast.
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
  package static var historyMaximumDefault: Int { 64 }

  @inlinable
  package init(
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

  /// Answers a client's pull with the view that was fetched for it. Throws `viewTooLarge`, and then
  /// does not change.
  @inlinable
  package mutating func pull(
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
      isCurrent: fetched.isCurrent, content: content)
  }

  /// Loses the history, so clients get full views.
  @inlinable
  package mutating func forget() {
    let number = lastNumber
    self = emptied(epoch: epoch)
    lastNumber = number + 1
    history[0].id.number = lastNumber
  }

  /// Starts anew and keeps nothing, not even the last number. So it needs a new epoch.
  @inlinable
  package mutating func restart(epoch: UInt64) { self = emptied(epoch: epoch) }

  // MARK: Queries

  /// The IDs of the kept states, the most recently sent one at the end.
  @inlinable
  package var states: [ServerStateID] { history.map { $0.id } }

  // MARK: Helpers

  @inlinable
  func emptied(epoch: UInt64) -> DiffServer {
    var empty = DiffServer(
      epoch: epoch, historyMaximum: historyMaximum, byteCountMaximum: byteCountMaximum)
    empty.breach = breach
    empty._breachCount = breachCount
    return empty
  }

  /// Returns the state of a view, new or known, and makes it the last one.
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
