// Queries of a client.

extension SyncClient {
  /// What there is to show. Readable in every status.
  @inlinable
  public var holding: Holding<Model> { _holding }

  /// The confirmed state; `nil`: none is held, or the saved form was not read yet.
  @inlinable
  public var model: Model? {
    if case .model(let model) = _holding { model } else { nil }
  }

  /// The user's changes, and the view with them. `nil` if the client has neither a model nor a
  /// beginning, or if the model takes no changes.
  @inlinable
  package var local: LocalChanges<Change>? { _local }

  /// The user's changes, even while there is no state to replay them over.
  @inlinable
  package var outbox: Outbox<Change>? { _local?.outbox ?? kept?.outbox }

  /// The view: all pending mutations over the confirmed state or, before the first snapshot, over
  /// ``SyncModel/beginning``; `nil`: there is neither.
  public var view: Model.Change.State? { _local?.view.state }

  /// Mutations that the server has not confirmed, in order, without those that it refused.
  public var pending: [PendingMutation<Model.Change>] { outbox?.pending ?? [] }

  /// Mutations without effect on the view, which wait for the app or for a newer state.
  public var setAside: [MutationSetAside<Model.Change>] { outbox?.setAside ?? [] }

  /// The user's changes that were saved and that this version of the app cannot read.
  public var unreadable: [UnreadableMutation] { outbox?.unreadable ?? [] }

  /// The name of the change that ``undo(at:)`` would take back; `nil`: there is none.
  public var undoable: String? { _local?.outbox.nameOfNewest(of: .undo) }

  /// The name of the change that ``redo(at:)`` would make again; `nil`: there is none.
  public var redoable: String? { _local?.outbox.nameOfNewest(of: .redo) }

  @inlinable
  package var machine: Machine<Place> { _machine }

  /// What the machine that follows the log is doing.
  @inlinable
  public var status: MachineStatus { _machine.status }

  @inlinable
  package var finger: Place? { _machine.finger }

  @inlinable
  package var isLoaded: Bool {
    if case .unknown = _holding { false } else { true }
  }

  /// What the app may tell its user at `now`; *unknown* until the saved form was read. A restored
  /// state says how old it is, as far as the wall clock tells.
  @inlinable
  public func freshness(at now: Moment) -> Freshness {
    guard isLoaded else { return Freshness(.unknown, upToDateAsOf: nil) }
    var freshness = _machine.freshness(at: now)
    freshness.upToDateAsOf = freshness.upToDateAsOf ?? restoredAsOf
    if _machine.isHerd, case .unreachable(let since) = freshness.claim {
      freshness.claim = .connecting(since: since)  // The server answered; it only wants patience.
    }
    return freshness
  }

  /// The next moment at which freshness changes without an input: a banner is due, or the device
  /// turns out to have slept. `nil`: not before the next input.
  @inlinable
  public func freshnessChange(after now: Moment) -> Moment? {
    isLoaded ? _machine.freshnessChange(after: now) : nil
  }

  /// The finger from which an open subscription continues: after all that it has brought, including
  /// batches that wait for rows. What it brings next is another answer to the same request. `nil`:
  /// the request is no subscription, or is no longer out.
  @inlinable
  func nextFinger(of request: RequestID) -> Place? {
    guard _machine.terms.cadence == .pushed, let outstanding = status.outstanding,
      outstanding.id == request, outstanding.waits, var finger = _machine.finger
    else { return nil }
    for (id, batch) in waitingBatches where id == request {
      if case .next(let next, _, _) = Sync.advance(finger, over: batch) { finger = next }
    }
    return finger
  }

  /// The windows that are open, oldest first.
  @inlinable
  package var openWindows: [WindowID] { planner.openWindows }

  /// The list and the part of it that a window shows; `nil`: the window is not open.
  @inlinable
  package func window(
    _ id: WindowID
  ) -> (narrow: Lists.Narrow, window: ListWindow<Lists.ID>)? { planner.window(id) }

  /// How many fetches are out.
  @inlinable
  package var fetchesOut: Int { planner.fetchesOut }

  /// Whether pages are on their way, or will be asked for at a moment that is set, or when rows
  /// have been read that may make them unnecessary.
  @inlinable
  package var awaitsPages: Bool {
    planner.fetchesOut > 0 || planner.retry.timer != nil || !rowsWanted().isEmpty
  }

  /// How many timers are armed.
  package var timersArmed: Int {
    (_machine.retry.timer == nil ? 0 : 1) + (storage.retry.timer == nil ? 0 : 1)
      + (planner.retry.timer == nil ? 0 : 1) + (_local?.outbox.sending.retry.timer == nil ? 0 : 1)
  }

  /// Whether the store was asked for something that it has not answered.
  package var awaitsStore: Bool { storage.out != nil }

  /// How many requests are out, without those whose answers wait for rows.
  package var requestsOut: Int {
    var count = planner.fetchesOut - waitingPages.count { planner.isOut($0.id) }
    if let id = status.outstanding?.id {
      let isAnswered = waitingBatches.contains { $0.id == id } && nextFinger(of: id) == nil
      if !isAnswered { count += 1 }
    }
    if case .pushing = _local?.outbox.status { count += 1 }
    return count
  }

  // MARK: Changes

  /// What observers are told about, as it was before an input.
  @usableFromInline
  struct Look: Sendable {
    @usableFromInline var status: MachineStatus
    @usableFromInline var freshness: Freshness
    @usableFromInline var view: UInt64?
    @usableFromInline var outbox: OutboxLook?

    @inlinable
    init(status: MachineStatus, freshness: Freshness, view: UInt64?, outbox: OutboxLook?) {
      self.status = status
      self.freshness = freshness
      self.view = view
      self.outbox = outbox
    }
  }

  /// The parts of an outbox that differ whenever the state of a mutation may have changed.
  @usableFromInline
  struct OutboxLook: Equatable, Sendable {
    @usableFromInline var client: ClientID
    @usableFromInline var version: OutboxVersion
    @usableFromInline var stored: OutboxVersion
    @usableFromInline var replayed: UInt64
    @usableFromInline var status: OutboxStatus
    @usableFromInline var nextPush: Moment?

    @inlinable
    init(_ outbox: Outbox<Change>) {
      client = outbox.client
      version = outbox.currentVersion
      stored = outbox.storedVersion
      replayed = outbox.replayedVersion
      status = outbox.status
      nextPush = outbox.nextPush
    }
  }

  @inlinable
  func look(at now: Moment) -> Look {
    var look = Look(status: status, freshness: freshness(at: now), view: nil, outbox: nil)
    if Change.isPossible {
      look.view = _local?.view.version
      look.outbox = outbox.map { OutboxLook($0) }
    }
    return look
  }

  @inlinable
  mutating func noteChanges(since before: Look, at now: Moment, _ effects: inout Effects) {
    let after = look(at: now)
    if after.status.code != before.status.code || after.freshness != before.freshness {
      effects.changes.insert(.status)
    }
    if after.view != before.view { effects.changes.insert(.view) }
    if after.outbox != before.outbox { effects.changes.insert(.outbox) }
  }
}

extension SyncClient {
  /// The first invariant that does not hold; `nil`: all hold. Checked after every input.
  @inlinable
  package func violation() -> Violation? {
    if let violation = _machine.violation() { return violation }
    if _machine.finger != nil, model == nil { return violated("a finger is held with its model") }
    if Change.isPossible {
      if let violation = _local?.outbox.violation() { return violation }
      if beginning == nil, _local?.outbox.client != model?.client {
        return violated("the outbox is of the client that the model is of")
      }
      if beginning != nil, model != nil {
        return violated("a client begins with nothing, or holds a model")
      }
      if kept != nil, _local != nil || model != nil {
        return violated("changes without a state are replayed over the first one")
      }
    }
    if !settings.hasStore, storage.out != nil {
      return violated("without a store no operation is requested")
    }
    return nil
  }

  @usableFromInline
  func violated(_ rule: String) -> Violation { Violation(rule: rule, found: description) }
}

extension SyncClient: CustomStringConvertible {
  public var description: String {
    var text = isLoaded ? _machine.description : "not loaded, \(_machine)"
    if let outbox { text += "; \(outbox)" }
    return text
  }
}
