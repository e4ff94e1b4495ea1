// What the user changes: the outbox beside the model, told of everything that concerns it.

extension SyncClient {
  /// What a change gives at once.
  public struct Mutated: Sendable {
    public var ticket: MutationTicket
    /// What the mutator returned. The server's may make something else of it.
    public var value: Change.Value
    public var effects: Effects

    @inlinable
    init(ticket: MutationTicket, value: Change.Value, effects: Effects) {
      self.ticket = ticket
      self.value = value
      self.effects = effects
    }
  }

  /// The user changes something, in the view, whole or not at all. Nothing is changed if it throws, as it
  /// does also if nothing is held, for then nobody knows what would be changed.
  @inlinable
  public mutating func mutate(
    _ change: Change, at now: Moment
  ) throws(MutationError<Change.Refusal>) -> Mutated {
    var effects = Effects()
    let before = look(at: now)
    holdBack(at: now, &effects)
    guard let made = try _local?.mutate(change, at: now, &effects.outbox) else {
      throw .nothingHeld
    }
    settle(since: before, at: now, &effects)
    return Mutated(ticket: made.ticket, value: made.value, effects: effects)
  }

  // MARK: What the outbox hears

  /// Something happened to what is pending. What it changed is shown at once.
  @inlinable
  mutating func tellOutbox(
    _ input: Outbox<Change>.Input, at now: Moment, _ effects: inout Effects
  ) {
    holdBack(at: now, &effects)
    _local?.handle(input, at: now, &effects.outbox)
  }

  /// After every input: the outbox is started with the machine, replayed over what is confirmed now, and
  /// saved; and where push comes first, the log is asked once a push was answered.
  @inlinable
  mutating func settleOutbox(at now: Moment, _ effects: inout Effects) {
    guard let outbox = _local?.outbox else { return }
    if _machine.isStarted, !outbox.isStarted {
      tellOutbox(
        .app(.started(foreground: _machine.isInForeground)), at: now, &effects)
    } else {
      holdBack(at: now, &effects)
      _local?.replay(at: now, &effects.outbox)
    }
    askSoonAfterPush(at: now, &effects)
    if let version = effects.outbox.persist { storage.want(version, &effects.storage) }
  }

  /// Where push comes first, a push that was answered is a sign that asking now does better than
  /// waiting: the server is there, and has news. It is told like another network, so it is paid from
  /// the same budget. A question that is out is let be, and asked again after its answer if that does
  /// not confirm what was pushed.
  @inlinable
  mutating func askSoonAfterPush(at now: Moment, _ effects: inout Effects) {
    guard Sync.order == .pushFirst, _local?.outbox.wantsPull ?? false else { return }
    switch status {
    case .live(.pausing), .pollFailed:
      _local?.noteAsked()
      tell(.app(.networkChanged), at: now, &effects)
    case .stale, .idle, .registering, .registerFailed, .live(.polling), .live(.writing), .halted:
      return
    }
  }

  /// Where pull comes first, nothing is pushed by a client that is not level.
  @inlinable
  mutating func holdBack(at now: Moment, _ effects: inout Effects) {
    guard Sync.order == .pullFirst, let outbox = _local?.outbox else { return }
    let isHeldBack = finger == nil || freshness(at: now).claim != .connected
    guard outbox.isHeldBack != isHeldBack else { return }
    _local?.handle(.heldBack(isHeldBack), at: now, &effects.outbox)
  }

  // MARK: Whose it is

  /// The outbox that was saved with a model.
  @inlinable
  mutating func restoreOutbox(_ saved: Saved) {
    guard let outbox = saved.outbox else { return }
    var local = LocalChanges(outbox, over: saved.model.state)
    local.restored(
      over: saved.model.state, in: _machine.life, settings: outboxSettings)
    _local = local
  }

  /// A new confirmed state takes the place of the old one; the outbox stays, and what is pending is
  /// replayed. If the snapshot is for another client, the app has lost its name: then what never left
  /// goes on in the new one, and the rest is set aside (``Outbox/init(client:takingOver:)``).
  @inlinable
  mutating func adoptOutbox(
    of model: Model, askedAt sent: Moment, at now: Moment, _ effects: inout Effects
  ) {
    guard let client = model.client else { return }
    // Whatever the server calls us now, it has what it said that it has.
    _local?.confirmAccepted(before: sent)
    if _local?.outbox.client != client {
      // Nothing of the old one goes on.
      _local?.handle(.app(.stopped), at: now, &effects.outbox)
      let outbox =
        _local.map { Outbox(client: client, takingOver: $0.outbox) }
        ?? Outbox<Change>(
          client: client, isIdempotent: Model.knowsMutationsAgain, settings: outboxSettings,
          life: _machine.life, names: outboxNames)
      _local = LocalChanges(
        outbox, over: model.state, after: _local?.view.version ?? viewVersion)
      storage.forgetOutbox()
    }
    let confirmation = model.confirmation
    _local?.confirm(model.state, through: confirmation.last, refusal: confirmation.refusal)
  }

  /// Without a store nothing waits for a write.
  @inlinable
  var outboxSettings: OutboxSettings {
    var settings = Model.outboxSettings
    if !self.settings.hasStore { settings.machine.isDurable = false }
    return settings
  }
}
