#if !hasFeature(Embedded)

  public import UpdateMachine

  /// One user's records on a server in this process, in real time, for examples, lessons and tests.
  ///
  ///     let server = LocalRecordSync(pullingEvery: .seconds(5))
  ///     let machine = UpdateMachine(source: server.source(client: client))
  ///
  /// It answers each pull at once, and tells nobody of news: they come with the next pull.
  public actor LocalRecordSync {
    private var server: RecordServer
    private let clock: any DriverClock
    private let period: TimeSpan

    /// Makes a server without records.
    ///
    /// - Parameters:
    ///   - period: the time between two pulls of a client. Real apps pull every minute.
    ///   - clock: gives the time from which stamps are made.
    public init(
      pullingEvery period: TimeSpan = .seconds(60), clock: any DriverClock = SystemClock()
    ) {
      // Another epoch each time: what a client has kept of an earlier server is of no use.
      var random = SystemRandomNumberGenerator()
      server = RecordServer(epoch: .random(in: 1...(.max), using: &random))
      self.period = period
      self.clock = clock
    }

    /// Returns a source that connects clients to this server.
    public nonisolated func source() -> LocalSource<RecordModel, RecordSync> {
      LocalSource(
        snapshot: { client throws(SyncFailure) in try await self.register(client) },
        news: { (finger, _) throws(SyncFailure) in
          try await self.pull(after: finger, for: nil)
        },
        answer: { (push, finger) throws(SyncFailure) in
          guard let finger else { return .behind }  // Nothing has been pulled.
          return await self.push(push.mutations, at: finger)
        })
    }

    /// The present records, each with all its columns.
    public var records: VersionedMap<RecordKey, JSONObject> { server.records }

    /// Sets columns of a record from outside, and creates it if it does not exist.
    public func set(_ key: RecordKey, _ columns: JSONObject) {
      server.set(key, columns, at: clock.now)
    }

    /// Deletes a record from outside.
    public func delete(_ key: RecordKey) { server.delete(key, at: clock.now) }

    func pull(
      after finger: RecordFinger?, for client: ClientID?
    ) throws(SyncFailure) -> PulledRecords {
      let schema = RecordSchema(1)
      let request = try RecordPull(client: client, after: finger, schema: schema)
      guard let answer = server.pull(request) else { throw .expired }
      return answer
    }

    func push(_ mutations: [PushRequest<RecordChange>.Item], at finger: RecordFinger) -> PushAnswer
    {
      let refused = server.push(RecordPush(mutations, at: finger), at: clock.now)
      return RecordPush.answer(to: mutations, refusing: refused, tookRest: server.takesRest)
    }

    func register(_ client: ClientID) throws(SyncFailure) -> Registered<
      PulledRecords, RecordFinger
    > {
      let pulled = try pull(after: nil, for: client)
      return Registered(
        snapshot: pulled, finger: pulled.finger, terms: .recordSync(pullingEvery: period),
        isComplete: pulled.isWhole)
    }
  }

#endif
