#if !hasFeature(Embedded)

  /// What an app sees of a replica, as one value: never half of a change. The driver makes it; an
  /// app makes one only for previews and tests.
  public struct ReplicaState<Model: SyncModel>: Sendable {
    /// What there is to show. *Unknown* until the saved form was read; stays readable while stale.
    public var holding: Holding<Model>
    /// The user's changes. `nil` if there is neither a model nor a beginning, or if the model takes
    /// no changes.
    package var local: LocalChanges<Model.Change>?
    /// The user's changes while there is no state to replay them over.
    private var kept: KeptOutbox<Model.Change>?
    /// `nil` until the saved form was read.
    public var status: MachineStatus?
    /// What to tell the user, as of ``at``.
    public var freshness: Freshness
    /// When changes are sent again after a failed push; `nil`: no push waits for that.
    public internal(set) var nextPush: Moment?
    /// The moment of this state, by the driver's clock.
    public var at: Moment

    /// A state for a preview or a test, of a replica without changes of the user's.
    public init(
      holding: Holding<Model>, status: MachineStatus?, freshness: Freshness, at: Moment
    ) {
      self.init(holding: holding, local: nil, status: status, freshness: freshness, at: at)
    }

    package init(
      holding: Holding<Model>, local: LocalChanges<Model.Change>?,
      kept: KeptOutbox<Model.Change>? = nil, status: MachineStatus?,
      freshness: Freshness, nextPush: Moment? = nil, at: Moment
    ) {
      self.kept = kept
      self.nextPush = nextPush
      self.holding = holding
      self.local = local
      self.status = status
      self.freshness = freshness
      self.at = at
    }

    /// The user's changes, with or without a state to replay them over.
    var outbox: Outbox<Model.Change>? { local?.outbox ?? kept?.outbox }

    /// The model, if one is held.
    public var model: Model? {
      if case .model(let model) = holding { model } else { nil }
    }

    /// The latest moment, by the driver's clock, at which the model is known to have equalled the
    /// server's state; `nil`: unknown.
    package var upToDateAsOf: Moment? { freshness.upToDateAsOf }
  }

  extension ReplicaState: Equatable where Model: Equatable {
    /// Compares states of one replica: views of the same version are equal.
    public static func == (one: ReplicaState, other: ReplicaState) -> Bool {
      one.holding == other.holding && one.status == other.status
        && one.freshness == other.freshness && one.at == other.at
        && one.nextPush == other.nextPush
        && one.local?.view.version == other.local?.view.version
        && one.outbox?.currentVersion == other.outbox?.currentVersion
        && one.outbox?.storedVersion == other.outbox?.storedVersion
    }
  }

#endif
