#if !hasFeature(Embedded)

  public import Observation

  /// What there is to show of a replica, for SwiftUI or any other observer on the main actor. Each
  /// property is written only when it changes. So a view that reads only ``model`` is not updated
  /// when the machine asks the server and there is nothing new.
  ///
  ///     let machine = UpdateMachine(source: source, store: store)
  ///     let replica = ObservableReplica(machine)
  ///     …
  ///     async let showing: Void = replica.follow()
  ///     await machine.run()
  ///
  /// It only shows. The app keeps the machine, and calls it to run, to change something and to log
  /// out. ``init(showing:)`` makes a replica for previews and tests, without a machine.
  @MainActor
  @Observable
  public final class ObservableReplica<Model: SyncModel> {
    /// The confirmed state; `nil`: none is held, or the saved form has not been read. Also written
    /// when the new model equals the old one, because models need not be comparable.
    public private(set) var model: Model?
    /// The model with all pending changes over it; `nil`: there is none, or the model takes no
    /// changes. An app whose users change things shows this.
    public private(set) var view: Model.Change.State?
    /// The user's changes that the server has not confirmed, in order, without those it refused.
    public private(set) var pending: [PendingMutation<Model.Change>] = []
    /// The user's changes without effect on the view, which wait for the app or for a newer state.
    public private(set) var setAside: [MutationSetAside<Model.Change>] = []
    /// The name of the change that `undo()` would take back, for a menu; `nil`: there is none.
    public private(set) var undoable: String?
    /// The name of the change that `redo()` would make again; `nil`: there is none.
    public private(set) var redoable: String?
    /// The user's changes that were saved and that this version of the app cannot read.
    public private(set) var unreadable: [UnreadableMutation] = []
    /// What to tell the user about freshness; *unknown* until the saved form was read. The rest of
    /// ``freshness`` changes with every answer of the server. This does not.
    public private(set) var claim: Freshness.Claim
    /// Why the last attempt failed, while the claim is *unreachable* (``ReplicaState/trouble``).
    public private(set) var trouble: SyncFailure?
    private var upToDateAsOf: Moment?
    private var nextAttempt: Moment?
    /// When changes are sent again after a failed push; `nil`: no push waits for that.
    public private(set) var nextPush: Moment?
    /// How much of what is lacking has come, from 0 to 1; `nil`: the source does not tell, or the
    /// client is up to date.
    public private(set) var progress: Double?
    /// What the machine is doing; `nil`: the saved form has not been read. Which request is
    /// out is not updated.
    public private(set) var status: MachineStatus?

    /// What has been shown.
    @ObservationIgnored private var shown: ReplicaState<Model>
    /// The machine's states; empty without a machine.
    @ObservationIgnored private let states: @Sendable () async -> AsyncStream<ReplicaState<Model>>

    /// Creates a replica that shows nothing, *unknown*, until ``follow()`` has begun. It keeps the
    /// machine alive.
    public convenience init<Origin: SyncSource>(_ machine: UpdateMachine<Origin>)
    where Origin.Model == Model {
      let unknown = ReplicaState<Model>(
        holding: .unknown, status: nil, freshness: Freshness(.unknown, upToDateAsOf: nil),
        at: machine.clock.now)
      self.init(unknown) { await machine.states() }
    }

    /// Creates a replica for a preview or a test, which always shows this state. ``follow()``
    /// returns at once.
    public convenience init(showing state: ReplicaState<Model>) {
      self.init(state) { AsyncStream { nil } }
    }

    private init(
      _ state: ReplicaState<Model>,
      states: @escaping @Sendable () async -> AsyncStream<ReplicaState<Model>>
    ) {
      shown = state
      self.states = states
      model = state.model
      view = state.view
      pending = state.pending
      setAside = state.setAside
      unreadable = state.unreadable
      undoable = state.undoable
      redoable = state.redoable
      claim = state.freshness.claim
      trouble = state.trouble
      upToDateAsOf = state.freshness.upToDateAsOf
      nextAttempt = state.freshness.nextAttempt
      nextPush = state.nextPush
      progress = state.progress
      status = state.status
    }

    /// The claim, and the moments to show with it, by the clock of the machine. A view that reads
    /// it is updated with every answer of the server.
    public var freshness: Freshness {
      Freshness(claim, upToDateAsOf: upToDateAsOf, nextAttempt: nextAttempt)
    }

    /// Keeps all properties up to date, on the main actor, until the surrounding task is cancelled.
    /// States that come faster than the main actor is free are skipped. It does not run the
    /// machine: call its `run()` beside it. May be called again after it has returned.
    public func follow() async {
      for await newer in await states() { show(newer) }
    }

    func show(_ newer: ReplicaState<Model>) {
      let older = shown
      shown = newer
      if newer.version != older.version { model = newer.model }
      if newer.local?.view.version != older.local?.view.version { view = newer.view }
      if !newer.hasPending(of: older) { pending = newer.pending }
      if !newer.hasSetAside(of: older) { setAside = newer.setAside }
      if newer.unreadable != unreadable { unreadable = newer.unreadable }
      if newer.undoable != undoable { undoable = newer.undoable }
      if newer.redoable != redoable { redoable = newer.redoable }
      let freshness = newer.freshness
      if freshness.claim != claim { claim = freshness.claim }
      if newer.trouble != trouble { trouble = newer.trouble }
      if freshness.upToDateAsOf != upToDateAsOf { upToDateAsOf = freshness.upToDateAsOf }
      if freshness.nextAttempt != nextAttempt { nextAttempt = freshness.nextAttempt }
      if newer.nextPush != nextPush { nextPush = newer.nextPush }
      if newer.progress != progress { progress = newer.progress }
      if newer.status?.code != status?.code { status = newer.status }
    }
  }

  // Which of the user's changes differ. Changes need not be comparable, so this compares what is
  // different whenever they are.
  extension ReplicaState {
    /// Whether the pending changes are those of an older state. O(pending).
    fileprivate func hasPending(of older: ReplicaState) -> Bool {
      guard isOfSameOutbox(as: older) else { return false }
      let (mine, others) = (outbox?.queue ?? [], older.outbox?.queue ?? [])
      return mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
        && (isOfSameReplay(as: older) || !mine.contains { $0.refusal != nil })
    }

    /// Whether what is set aside is as in an older state. O(pending).
    fileprivate func hasSetAside(of older: ReplicaState) -> Bool {
      guard isOfSameOutbox(as: older) else { return false }
      let (mine, others) = (outbox?.refused ?? [], older.outbox?.refused ?? [])
      let threw = (outbox?.queue ?? []).filter { $0.refusal != nil }
      let othersThrew = (older.outbox?.queue ?? []).filter { $0.refusal != nil }
      return mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
        && threw.count == othersThrew.count
        && zip(threw, othersThrew).allSatisfy { $0.isSame(as: $1) }
        && (threw.isEmpty || isOfSameReplay(as: older))
    }

    private func isOfSameOutbox(as other: ReplicaState) -> Bool {
      logOuts == other.logOuts && outbox?.client == other.outbox?.client
    }

    /// Whether a pending change that threw has thrown the same error: nothing was replayed since.
    private func isOfSameReplay(as other: ReplicaState) -> Bool {
      local?.view.version == other.local?.view.version
    }
  }

  extension PendingMutation {
    /// Whether nothing has happened to it, apart from a replay. `version` grows with each edit.
    fileprivate func isSame(as other: PendingMutation) -> Bool {
      tickets == other.tickets && version == other.version && stage == other.stage
        && mayHaveCopy == other.mayHaveCopy && (refusal == nil) == (other.refusal == nil)
    }
  }

  extension RefusedMutation {
    /// Whether it is the same refusal of the same change.
    fileprivate func isSame(as other: RefusedMutation) -> Bool {
      tickets == other.tickets && version == other.version && refusal == other.refusal
    }
  }

#endif
