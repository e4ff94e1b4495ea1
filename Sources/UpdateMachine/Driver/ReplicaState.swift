#if !hasFeature(Embedded)

  /// What an app sees of a replica, as one value: never half of one change. Made by the driver; an
  /// app makes one itself only for previews and tests.
  public struct ReplicaState<Model: SyncModel>: Sendable {
    /// What there is to show. *Unknown* until the saved form was read; stays readable while stale.
    public var holding: Holding<Model>
    /// What the user changed; `nil`: nothing is held, or the model takes no changes.
    public var local: LocalChanges<Model.Change>?
    /// `nil` until the saved form was read.
    public var status: MachineStatus?
    /// What to tell the user, as of ``at``.
    public var freshness: Freshness
    /// When this was so, by the driver's clock.
    public var at: Moment

    /// A state for a preview or a test.
    public init(
      holding: Holding<Model>, local: LocalChanges<Model.Change>? = nil, status: MachineStatus?,
      freshness: Freshness, at: Moment
    ) {
      self.holding = holding
      self.local = local
      self.status = status
      self.freshness = freshness
      self.at = at
    }

    /// The model, if one is held.
    public var model: Model? {
      if case .model(let model) = holding { model } else { nil }
    }

    /// The latest moment, by the driver's clock, at which the model is known to have been the
    /// server's state; `nil`: not known.
    public var levelAsOf: Moment? { freshness.levelAsOf }
  }

  extension ReplicaState: Equatable where Model: Equatable {
    /// Of one replica: two views of one version are equal.
    public static func == (one: ReplicaState, other: ReplicaState) -> Bool {
      one.holding == other.holding && one.status == other.status
        && one.freshness == other.freshness && one.at == other.at
        && one.local?.view.version == other.local?.view.version
        && one.local?.outbox.currentVersion == other.local?.outbox.currentVersion
        && one.local?.outbox.storedVersion == other.local?.outbox.storedVersion
    }
  }

  /// The states of a replica, as they come: the present one first, then the newest whenever the
  /// reader is ready for one. States in between are skipped, so a slow reader costs nothing. Ends
  /// when the machine goes away. One reader each.
  public struct ReplicaStates<Model: SyncModel>: AsyncSequence, Sendable {
    public typealias Element = ReplicaState<Model>
    public typealias Failure = Never

    let stream: AsyncStream<Element>

    /// The way to read them, for one reader: iterators of one sequence share one place.
    public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { stream.makeAsyncIterator() }
  }

#endif
