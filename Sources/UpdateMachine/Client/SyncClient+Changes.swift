// The user's changes: the outbox beside the model, and everything that it is told.

extension SyncClient {
  /// Changes the view, whole or not at all. If it throws, nothing has changed. A client without a
  /// model throws, too, unless it begins with the ``SyncModel/beginning``. So does one that is
  /// not connected, if its changes are not taken offline (``SyncModel/mutatesOffline``).
  ///
  /// - Returns: the app's handle on the mutation from now on; what the mutator returned here, where
  ///   the server's run may have another result; and what the host must do about it, in order.
  @inlinable
  public mutating func mutate(
    _ change: Model.Change, at now: Moment
  ) throws(MutationError<Model.Change.Refusal>) -> (
    ticket: MutationTicket, value: Model.Change.Value, effects: Effects
  ) {
    try requireStorable(change, at: now)
    var effects = Effects()
    let before = look(at: now)
    holdBack(at: now, &effects)
    guard let made = try _local?.mutate(change, at: now, &effects.outbox) else {
      throw .nothingHeld
    }
    settle(since: before, at: now, &effects)
    return (made.ticket, made.value, effects)
  }

  /// Takes back the newest change that can be undone: what it did, and nothing that others have
  /// done since. The outcome says how; <doc:UndoAndRedo> says what becomes of changes that are
  /// pending, refused or coalesced. Only changes with an inverse can be undone
  /// (``Mutation/inverse(from:to:)``). If it throws, nothing has changed.
  @inlinable
  public mutating func undo(
    at now: Moment
  ) throws(MutationError<Model.Change.Refusal>) -> (
    outcome: UndoOutcome<Model.Change.Refusal>, effects: Effects
  ) { try takeBack(newestOf: .undo, at: now) }

  /// Takes back the newest undo, as ``undo(at:)`` takes back a change. A new change that can be
  /// undone leaves nothing to redo.
  @inlinable
  public mutating func redo(
    at now: Moment
  ) throws(MutationError<Model.Change.Refusal>) -> (
    outcome: UndoOutcome<Model.Change.Refusal>, effects: Effects
  ) { try takeBack(newestOf: .redo, at: now) }

  @inlinable
  mutating func takeBack(
    newestOf stack: UndoStack, at now: Moment
  ) throws(MutationError<Model.Change.Refusal>) -> (
    outcome: UndoOutcome<Model.Change.Refusal>, effects: Effects
  ) {
    try requireStorable(_local?.change(toTakeBack: stack), at: now)
    var effects = Effects()
    let before = look(at: now)
    holdBack(at: now, &effects)
    guard let outcome = try _local?.takeBack(newestOf: stack, at: now, &effects.outbox) else {
      throw .nothingHeld
    }
    settle(since: before, at: now, &effects)
    return (outcome, effects)
  }

  /// Throws if no change is taken now, or not this one.
  @inlinable
  func requireStorable(
    _ change: Change?, at now: Moment
  ) throws(MutationError<Model.Change.Refusal>) {
    guard _local != nil else { throw .nothingHeld }
    guard Model.mutatesOffline || freshness(at: now).claim == .connected else {
      throw .notConnected
    }
    if settings.hasStore, let change, let failure = Model.objection(toStoring: change) {
      throw .unstorable(failure)
    }
  }

  // MARK: Inputs of the outbox

  /// Takes the user's decision about a mutation. An edit that cannot be saved changes nothing.
  @inlinable
  mutating func decided(
    _ decision: MutationDecision, at now: Moment, _ effects: inout Effects
  ) {
    if case .edited(_, let change) = decision, !canStore(change) { return }
    tellOutbox(decision.input, at: now, &effects)
  }

  /// Whether the change could be saved. Without a store it need not be.
  @inlinable
  package func canStore(_ change: Change) -> Bool {
    !settings.hasStore || Model.objection(toStoring: change) == nil
  }

  /// Feeds one input to the outbox. Its effect on the view shows at once.
  @inlinable
  mutating func tellOutbox(
    _ input: Outbox<Change>.Input, at now: Moment, _ effects: inout Effects
  ) {
    holdBack(at: now, &effects)
    _local?.handle(input, at: now, &effects.outbox)
  }

  /// Takes the answer to a push. If the push created something, no event may tell of it where the
  /// log says nothing: so lists that are only snapshots are read again.
  @inlinable
  mutating func pushAnswered(
    _ id: RequestID, _ answer: PushAnswer, at now: Moment, _ effects: inout Effects
  ) {
    let isOut = _local?.outbox.isPushing(id) ?? false
    tellOutbox(.answered(id, answer), at: now, &effects)
    guard isOut, case .created = answer else { return }
    confirmCreated()
    planner.refreshSnapshots()
  }

  /// Acknowledges the changes of which the model holds what they created. A page may bring it
  /// before its event, and before the answer to the push.
  @inlinable
  mutating func confirmCreated() {
    guard _local != nil, case .model(let model) = _holding else { return }
    while let ticket = _local?.outbox.heldMutation(where: { model.holds($0, created: $1) }) {
      _local?.confirm(model.state, echo: ticket)
    }
  }

  /// Runs after every input. Starts the outbox with the machine, replays it over the confirmed
  /// state, and saves it. If push comes first, it also asks the log once a push was answered.
  @inlinable
  mutating func settleOutbox(at now: Moment, _ effects: inout Effects) {
    if _machine.isStarted { beginWithoutState() }
    guard let outbox = _local?.outbox else { return }
    if _machine.isStarted, !outbox.isStarted {
      tellOutbox(
        .app(.started(foreground: _machine.isInForeground)), at: now, &effects)
    } else {
      holdBack(at: now, &effects)
      _local?.replay(at: now, &effects.outbox)
    }
    askSoonAfterPush(at: now, &effects)
    if _local?.takeSharedName() == true { effects.nameShared = outbox.client }
    if let version = effects.outbox.persist { storage.want(version, &effects.storage) }
  }

  /// Asks the log soon after an answered push, if push comes first, or if the answer was that the
  /// client is behind: the server can be reached, and has news. The machine hears of it as a change
  /// of network, so the same budget of wakes pays for it. If nothing is left of the budget, or the
  /// server has asked for a wait, the wish stays until a poll leaves. A poll that is out goes on.
  /// If its answer does not confirm the push, the log is asked again.
  @inlinable
  mutating func askSoonAfterPush(at now: Moment, _ effects: inout Effects) {
    guard let outbox = _local?.outbox, outbox.wantsPull, _machine.mayAsk(at: now),
      Sync.order == .pushFirst || outbox.isBehind || _machine.terms.cadence == .pushed
    else { return }
    switch status {
    case .live(.pausing), .pollFailed:
      tell(.app(.networkChanged), at: now, &effects)
    case .live(.polling):
      // A subscription may stay out for hours, and only a poll that leaves later shows that an
      // accepted change is in.
      guard _machine.terms.cadence == .pushed, !outbox.countsIDs else { return }
      tell(.app(.networkChanged), at: now, &effects)
    case .stale, .idle, .registering, .registerFailed, .live(.writing), .halted: return
    }
  }

  /// Holds pushes back before the first snapshot, because the client has no name yet; until the
  /// finger has moved, if the server has said that the client is behind; and while the client is
  /// not up to date, if pull comes first.
  @inlinable
  mutating func holdBack(at now: Moment, _ effects: inout Effects) {
    guard let outbox = _local?.outbox else { return }
    let isHeldBack =
      beginning != nil || outbox.isBehind && finger == pushedFrom
      || Sync.order == .pullFirst && (finger == nil || freshness(at: now).claim != .connected)
    guard outbox.isHeldBack != isHeldBack else { return }
    _local?.handle(.heldBack(isHeldBack), at: now, &effects.outbox)
  }

  // MARK: The outbox's client

  /// Takes over the outbox that was saved with a model.
  @inlinable
  mutating func restoreOutbox(_ saved: Saved, _ effects: inout Effects) {
    guard let outbox = saved.outbox else { return }
    // This version of the app may begin with something else.
    if saved.isBeginning { beginning = Model.beginning ?? saved.model }
    restore(outbox, over: (beginning ?? saved.model).state)
    if !outbox.unreadable.isEmpty { effects.storage.report = true }
  }

  /// Takes over the outbox of a saved form whose model cannot be read. Changes of what the server
  /// had sent wait for the first snapshot: over the beginning they would be about nothing, and end
  /// as overruled. A nameless outbox has only changes of the beginning.
  @usableFromInline
  mutating func restoreOutbox(_ changes: SavedChanges<Change>) {
    if changes.outbox.client == .nameless, let first = Model.beginning {
      beginning = first
      return restore(changes.outbox, over: first.state)
    }
    var outbox = changes.outbox
    outbox.restored(in: _machine.incarnation)
    outbox.settings = outboxSettings
    kept = .outbox(outbox)
  }

  @inlinable
  mutating func restore(_ outbox: Outbox<Change>, over state: Change.State) {
    var local = LocalChanges(outbox, over: state)
    local.restored(over: state, in: _machine.incarnation, settings: outboxSettings)
    _local = local
  }

  /// Lets the user change what the model begins with, if no state is held. The outbox has no name
  /// of its own, and sends nothing: the first snapshot names the client, and takes it over.
  @inlinable
  mutating func beginWithoutState() {
    guard Change.isPossible, outbox == nil, case .nothing = _holding,
      let first = Model.beginning
    else { return }
    beginning = first
    let outbox = Outbox<Change>(
      client: .nameless, delivery: Model.delivery, settings: outboxSettings,
      incarnation: _machine.incarnation, names: outboxNames)
    _local = LocalChanges(outbox, over: first.state, after: viewVersion)
  }

  /// Replays what is pending over a new confirmed state. If the snapshot names another client, the
  /// app has lost its old name. Then mutations that never left go on under the new name, and the
  /// rest are set aside (``Outbox/init(client:takingOver:)``).
  ///
  /// - Parameter sent: when the snapshot was requested; `nil`: it is incomplete, and may lack what
  ///   was accepted before.
  @inlinable
  mutating func adoptOutbox(
    of model: Model, askedAt sent: Moment?, at now: Moment, _ effects: inout Effects
  ) {
    guard let client = model.client else { return }
    // The state that these changes were made over could not be read, so their effect is unknown.
    let earlier = kept == nil ? _local?.view.confirmed : nil
    if let kept {
      _local = LocalChanges(kept.outbox, over: model.state, after: viewVersion)
      self.kept = nil
    }
    let isOther = _local?.outbox.client != client
    // The old outbox does nothing more. Replayed once without what is confirmed now, it would set
    // aside what depends on that.
    if isOther { _local?.handle(.app(.stopped), at: now, &effects.outbox) }
    // The snapshot contains everything accepted before `sent`, whichever client it names.
    if let sent { _local?.confirmAccepted(before: sent) { model.overrules($0) } }
    if isOther {
      let outbox =
        _local.map { Outbox(client: client, takingOver: $0.outbox) }
        ?? Outbox<Change>(
          client: client, delivery: Model.delivery, settings: outboxSettings,
          incarnation: _machine.incarnation, names: outboxNames)
      _local = LocalChanges(
        outbox, over: model.state, after: _local?.view.version ?? viewVersion)
      storage.forgetOutbox()
    }
    let confirmation = model.confirmation
    _local?.confirm(
      model.state, through: confirmation.last, refusal: confirmation.refusal, after: earlier)
  }

  /// The settings of the outbox. Without a store, nothing waits for a write.
  @inlinable
  var outboxSettings: OutboxSettings {
    var settings = Model.outboxSettings
    if !self.settings.hasStore { settings.machine.isDurable = false }
    return settings
  }
}
