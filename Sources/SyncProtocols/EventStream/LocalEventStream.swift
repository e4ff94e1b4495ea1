#if !hasFeature(Embedded)

  public import UpdateMachine

  /// A server in this process that keeps one stream, in real time, for examples, lessons and tests.
  ///
  ///     let server = LocalEventStream(law: .ask)
  ///     let machine = UpdateMachine(source: server.source())
  ///
  /// A poll may wait: if it finds nothing new, it is answered as soon as an event is written.
  public actor LocalEventStream: LocalServer {
    private var server: StreamServer
    let clock: any DriverClock
    var waitingPolls = WaitingPolls()

    /// Creates a server with an empty stream.
    ///
    /// - Parameters:
    ///   - law: what becomes of changes of deleted objects.
    ///   - clock: tells how long a poll has waited.
    public init(law: StreamConflictLaw, clock: any DriverClock = SystemClock()) {
      self.clock = clock
      // A stream of its own: a client that has kept another one must not go on in this.
      var random = SystemRandomNumberGenerator()
      server = StreamServer(StreamID(.random(in: 1...(.max), using: &random)), law: law)
    }

    /// Returns a source that connects clients to this server.
    ///
    /// - Parameter objects: the objects that they follow; `nil`, the default: all of them. They
    /// must
    ///   be the same as long as the store.
    public nonisolated func source(
      following objects: [ViewKey]? = nil
    ) -> LocalSource<StreamModel, EventStream> {
      LocalSource(
        snapshot: { client throws(SyncFailure) in
          try await self.register(client, following: objects).registered()
        },
        news: { (place, waits) throws(SyncFailure) in
          try await self.poll(after: place, waits: waits)
        },
        answer: { (push, _) throws(SyncFailure) in try await self.push(MutationPush(push)) })
    }

    /// All events that were written, in the order of their sequences.
    public var events: [StreamEvent] { server.events }

    /// Writes another user's change. Every connected client will hear of it.
    ///
    /// - Parameters:
    ///   - change: what was made, under a new ID. What its maker had seen is set here.
    ///   - client: its maker; none of the clients that are connected.
    ///   - seen: the last event that its maker had seen; `nil`, the default, and anything beyond
    ///     the stream's end: all of them. A maker never goes back: what it had seen at an earlier
    ///     change it has seen now.
    public func write(
      _ change: StreamChange, by client: ClientID, havingSeen seen: StreamSequence? = nil
    ) {
      var change = change
      change.preceding = max(
        min(seen ?? server.latest, server.latest), server.seen(by: client))
      change.clientSequence = UInt64(server.events.count)
      server.write(change, by: client, at: clock.now)
      tellNews()
    }

    func register(_ client: ClientID, following objects: [ViewKey]?) -> StreamSnapshot {
      server.register(client, scope: objects, at: clock.now)
    }

    func poll(
      after place: StreamPlace, waits: Bool
    ) async throws(SyncFailure) -> StreamBatch {
      try await firstNews(
        in: { () throws(SyncFailure) in try server.read(place.request, at: clock.now) },
        isNews: { batch in !waits || EventStream.advance(place, over: batch) != .seen })
    }

    func push(_ push: MutationPush) throws(SyncFailure) -> PushAnswer {
      let answer = try server.push(push, at: clock.now)
      tellNews()
      return answer
    }
  }

#endif
