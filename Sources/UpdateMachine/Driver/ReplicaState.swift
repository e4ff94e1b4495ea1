#if !hasFeature(Embedded)

  /// What an app sees of a replica, as one value: never half of a change. The driver makes it; an
  /// app makes one only for previews and tests.
  public struct ReplicaState<Model: SyncModel>: Sendable {
    /// What there is to show. *Unknown* until the saved form was read; stays readable while stale.
    public var holding: Holding<Model>
    /// Counts the changes of what is held, so that models need not be compared.
    var version: UInt64
    /// Counts the log-outs. After one, tickets and versions of changes begin anew.
    var logOuts: UInt64
    /// The user's changes. `nil` if there is neither a model nor a beginning, or if the model takes
    /// no changes.
    package var local: LocalChanges<Model.Change>?
    /// The user's changes while there is no state to replay them over.
    private var kept: KeptOutbox<Model.Change>?
    /// `nil` until the saved form was read.
    public var status: MachineStatus?
    /// What to tell the user, as of ``at``.
    public var freshness: Freshness
    /// Why the last attempt failed, while the claim is ``Freshness/Claim/unreachable(since:)``:
    /// "too many requests" is no missing connection. `nil`: the claim is another, or the store
    /// failed. ``Freshness/nextAttempt`` says when the next attempt is due.
    public internal(set) var trouble: SyncFailure?
    /// When changes are sent again after a failed push; `nil`: no push waits for that.
    public internal(set) var nextPush: Moment?
    /// How much of what is lacking has come, from 0 to 1, while the client is not up to date;
    /// `nil`: the source does not tell (``SyncProgress``), or the client is up to date.
    public internal(set) var progress: Double?
    /// The moment of this state, by the driver's clock.
    public var at: Moment

    /// Creates a state for a preview or a test: by default one that is up to date.
    ///
    /// - Parameters:
    ///   - holding: what there is to show.
    ///   - changes: the user's changes that have not been sent, in order. The view has them; those
    ///     that throw are set aside. Ignored if no model is held.
    ///   - refused: the user's changes that the server has refused, which are set aside.
    ///   - status: what the machine is doing; `nil`: the saved form was not read yet.
    ///   - freshness: what to tell the user, as of `at`.
    ///   - at: the moment of the state.
    public init(
      holding: Holding<Model>, changes: [Model.Change] = [], refused: [Model.Change] = [],
      status: MachineStatus? = .live(.pausing),
      freshness: Freshness = Freshness(.connected, upToDateAsOf: nil),
      at: Moment = Moment(milliseconds: 0)
    ) {
      var local: LocalChanges<Model.Change>?
      if Model.Change.isPossible, case .model(let model) = holding {
        let outbox = Outbox(client: model.client ?? .nameless, pending: changes, refused: refused)
        var changes = LocalChanges(outbox, over: model.state)
        var effects = Outbox<Model.Change>.Effects()
        changes.replay(at: at, &effects)  // It is not started, so it has no effects.
        local = changes
      }
      self.init(holding: holding, local: local, status: status, freshness: freshness, at: at)
    }

    package init(
      holding: Holding<Model>, version: UInt64 = 0, logOuts: UInt64 = 0,
      local: LocalChanges<Model.Change>?, kept: KeptOutbox<Model.Change>? = nil,
      status: MachineStatus?, freshness: Freshness, nextPush: Moment? = nil, at: Moment
    ) {
      self.version = version
      self.logOuts = logOuts
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

  extension Outbox {
    /// Creates an outbox for a preview, whose changes have the tickets from 1 on.
    fileprivate init(client: ClientID, pending: [Change], refused: [Change]) {
      self.init(client: client)
      for change in pending {
        lastTicket.number += 1
        queue.append(
          Pending(tickets: TicketSet(lastTicket), change: change, version: version))
      }
      for change in refused {
        lastTicket.number += 1
        self.refused.append(
          Refused(
            tickets: TicketSet(lastTicket), rank: lastTicket.number, change: change,
            refusal: MutationRefusal(.none), mayHaveCopy: false, version: version))
      }
    }
  }

  extension ReplicaState: Equatable where Model: Equatable {
    /// Compares states of one replica: views of the same version are equal.
    public static func == (one: ReplicaState, other: ReplicaState) -> Bool {
      one.holding == other.holding && one.status == other.status
        && one.freshness == other.freshness && one.at == other.at
        && one.nextPush == other.nextPush && one.progress == other.progress
        && one.trouble == other.trouble
        && one.local?.view.version == other.local?.view.version
        && one.outbox?.currentVersion == other.outbox?.currentVersion
        && one.outbox?.storedVersion == other.outbox?.storedVersion
    }
  }

#endif
