#if !hasFeature(Embedded)

  public import UpdateMachine

  /// A server in this process that keeps a log of changes, in real time, for examples, previews and
  /// tests.
  ///
  ///     let server = LocalChangeLog(truth: Board())
  ///     let machine = UpdateMachine(source: server.source(for: BoardModel.self))
  ///
  /// A poll may wait: if it finds nothing new, it is answered as soon as there is a change. To test
  /// a source of your own, let a server in the test answer with ``register()`` and
  /// ``poll(after:waits:)``, whose results are `Codable`.
  public actor LocalChangeLog<Truth: ServerTruth>: LocalServer {
    private var server: ChangeLogServer<Truth>
    let clock: any DriverClock
    var waitingPolls = WaitingPolls()

    /// Creates a server with an empty log, under a name of its own.
    ///
    /// - Parameters:
    ///   - truth: the server's state.
    ///   - retained: the most changes that are kept. A client that lacks an older one starts over.
    ///   - clock: tells how long a poll has waited.
    public init(truth: Truth, retained: Int = 1000, clock: any DriverClock = SystemClock()) {
      self.clock = clock
      server = ChangeLogServer(.drawn(), truth: truth)
      server.retained = retained
    }

    /// Returns a source that connects a client to this server, for a model of its snapshots and
    /// events.
    public nonisolated func source<Model: SyncModel>(
      for model: Model.Type
    ) -> LocalSource<Model, ChangeLog<Truth.Event>>
    where
      Model.Snapshot == Truth.Snapshot, Model.Event == Truth.Event, Model.Change == Never,
      Model.Lists == NoLists
    {
      LocalSource(
        snapshot: { _ throws(SyncFailure) in
          // A waiting poll is given up after 100 s. This log has no dates; a year stands for that.
          let terms = ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400))
          return await self.register().registered(terms: terms)
        },
        news: { (place, waits) throws(SyncFailure) in
          try await self.poll(after: place, waits: waits)
        },
        answer: { _, _ in .accepted })
    }

    /// The present state.
    public var truth: Truth { server.truth }

    /// Makes a change. Every connected client will hear of it.
    public func commit(_ change: Truth.Change) {
      server.commit(change)
      tellNews()
    }

    /// Forgets all changes so far, as a server does with old ones. Clients that lack any of them
    /// start over.
    public func forgetChanges() { server.forget() }

    /// Puts another state in place, as when a backup is restored. The log begins anew, under
    /// another name, and all clients start over. Waiting ones are told at once.
    public func restore(_ truth: Truth) {
      server.begin(.drawn(), truth: truth)
      tellNews()
    }

    /// Answers a register.
    public func register() -> ChangeLogSnapshot<Truth.Snapshot> { server.snapshot }

    /// Answers a poll. Throws `expired` if the changes after the place are no longer known.
    ///
    /// - Parameters:
    ///   - place: where the client is.
    ///   - waits: whether to wait for news, for less than a minute; `false`: answers at once.
    public func poll(
      after place: ChangeLogPlace, waits: Bool
    ) async throws(SyncFailure) -> ChangeLogBatch<Truth.Event> {
      try await firstNews(
        in: { () throws(SyncFailure) in try server.changes(after: place) },
        isNews: { batch in !waits || ChangeLog.advance(place, over: batch) != .seen })
    }
  }

  extension ChangeLogEpoch {
    /// A name that no other server has: a client that has kept another log must not go on in it.
    fileprivate static func drawn() -> ChangeLogEpoch {
      var random = SystemRandomNumberGenerator()
      return ChangeLogEpoch(String(UInt64.random(in: 1...(.max), using: &random), radix: 16))
    }
  }

#endif
