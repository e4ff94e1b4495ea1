#if !hasFeature(Embedded)

  public import UpdateMachine

  /// A server of tables in this process, in real time, for examples, lessons and tests.
  ///
  ///     let server = LocalTableSync(Shopping.self)
  ///     let machine = UpdateMachine(source: server.source(client: client))
  ///
  /// A poll may wait: if it finds nothing new, it is answered as soon as a row changes, or after 50
  /// seconds with a ping.
  public actor LocalTableSync<Schema: TableSchema>: LocalServer {
    private var server = TableServer(tableCount: Schema.tableCount)
    let clock: any DriverClock
    var waitingPolls = WaitingPolls()

    /// Makes a server without rows.
    ///
    /// - Parameters:
    ///   - schema: the app's tables.
    ///   - clock: gives the time from which stamps are made, and tells how long a poll has waited.
    public init(_ schema: Schema.Type, clock: any DriverClock = SystemClock()) {
      self.clock = clock
    }

    /// Returns a source that connects clients to this server.
    public nonisolated func source() -> LocalSource<TableModel<Schema>, TableSync> {
      LocalSource(
        snapshot: { client throws(SyncFailure) in
          let snapshot = await self.register(client)
          return Registered(
            snapshot: snapshot, finger: snapshot.finger,
            terms: .tableSync(pingingEvery: WaitingPolls.patience), isComplete: false)
        },
        news: { (finger, waits) throws(SyncFailure) in
          try await self.poll(after: finger, waits: waits)
        },
        answer: { (push, _) throws(SyncFailure) in await self.push(MutationPush(push)) })
    }

    /// The present rows, without those that are deleted. Ascending by key.
    public var rows: [SyncedRow] { server.rows }

    /// Makes a change from outside. Every connected client will hear of it.
    ///
    /// Throws, and does nothing, if it is impossible. The codes of the refusal are those of
    /// ``TableChange``.
    public func change(_ change: TableChange) throws(ChangeRefusal) {
      try server.make(change, at: clock.now)
      tellNews()
    }

    func register(_ client: ClientID) -> TableSnapshot { server.register(client, at: clock.now) }

    func poll(after finger: TableFinger, waits: Bool) async throws(SyncFailure) -> TableBatch {
      server.advance(to: clock.now)
      return try await firstNews(
        in: { server.poll(finger, at: clock.now) },
        isNews: { _ in !waits || server.hasNews(for: finger) })
    }

    func push(_ push: MutationPush) -> PushAnswer {
      let answer = server.push(push, at: clock.now)
      tellNews()
      return answer
    }
  }

#endif
