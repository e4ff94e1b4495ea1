#if !hasFeature(Embedded)

  public import UpdateMachine

  /// An EventQueue server in this process, in real time, for examples, lessons and tests.
  ///
  ///     let server = LocalEventQueue(truth: Board())
  ///     let machine = UpdateMachine(source: server.source(for: BoardModel.self))
  public actor LocalEventQueue<Truth: ServerTruth> {
    private var server: EventQueueServer<Truth>
    private let clock: any DriverClock
    private var waiters: [UInt64: CheckedContinuation<EventQueueServer<Truth>.Reply, Never>] = [:]
    private var count: UInt64 = 0

    /// How long an empty wait lasts. A real server's is about 50 s.
    package static var heartbeat: TimeSpan { .seconds(50) }

    /// Creates a server without queues that holds `truth`, in real time by default.
    public init(
      truth: Truth, configuration: QueueServerConfiguration = QueueServerConfiguration(),
      clock: any DriverClock = SystemClock()
    ) {
      self.clock = clock
      server = EventQueueServer(truth: truth, configuration: configuration, at: clock.now)
    }

    /// Returns a source that connects a client to this server, for a model of its snapshots and
    /// events.
    public nonisolated func source<Model: SyncModel>(
      for model: Model.Type
    ) -> LocalEventQueueSource<Truth, Model>
    where Model.Snapshot == Truth.Snapshot, Model.Event == Truth.Event {
      LocalEventQueueSource(server: self)
    }

    /// The present state.
    public var truth: Truth { server.truth }

    /// Commits a change. Every connected client will hear of it.
    public func commit(_ event: Truth.Change) {
      server.commit(event, at: clock.now)
      deliver()
    }

    /// Loses every queue, as a killed server does. Waiting clients are told at once.
    public func loseQueues() {
      server.restart(keepingQueues: false, at: clock.now)
      deliver()
    }

    func register() throws(SyncFailure) -> Registered<Truth.Snapshot, QueueFinger> {
      server.advance(to: clock.now)
      switch server.beginRegister(at: clock.now) {
      case .failure(let refusal): throw refusal.answer.failure() ?? .malformed
      case .success(let queue):
        let reply = server.finishRegister(queue, at: clock.now)
        guard case .registered(let snapshot, let finger, let terms) = reply else {
          throw reply.failure() ?? .malformed
        }
        return Registered(snapshot: snapshot, finger: finger, terms: terms)
      }
    }

    func poll(
      after finger: QueueFinger, waits: Bool
    ) async throws(SyncFailure) -> QueueBatch<Truth.Event> {
      count += 1
      let waiter = count
      let heartbeatAt = clock.now + LocalEventQueue.heartbeat
      server.advance(to: clock.now)
      var reply = server.poll(
        finger, waits: waits, waiter: waiter, heartbeatAfter: LocalEventQueue.heartbeat,
        at: clock.now)
      deliver()
      if reply == nil { reply = await wait(waiter, until: heartbeatAt) }
      guard case .batch(let batch) = reply else { throw reply?.failure() ?? .malformed }
      return batch
    }

    func release(_ queue: QueueID) {
      _ = server.release(queue)
      deliver()
    }

    /// Waits for news or a heartbeat, or until the client gives up.
    private func wait(
      _ waiter: UInt64, until heartbeatAt: Moment
    ) async -> EventQueueServer<Truth>.Reply {
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          do throws(CancellationError) {
            try await self.clock.sleep(until: heartbeatAt)
            await self.beat()
          } catch {
            await self.abandon(waiter)
          }
        }
        let reply = await withCheckedContinuation { waiters[waiter] = $0 }
        group.cancelAll()
        return reply
      }
    }

    private func beat() {
      server.advance(to: clock.now)
      deliver()
    }

    private func abandon(_ waiter: UInt64) {
      server.abandon(waiter: waiter)
      waiters.removeValue(forKey: waiter)?.resume(returning: .refused(.badGateway))
    }

    private func deliver() {
      for finished in server.takeFinished() {
        waiters.removeValue(forKey: finished.waiter)?.resume(returning: finished.reply)
      }
    }
  }

  /// The connection of one client to a ``LocalEventQueue``. It is a complete source if the model
  /// has no partial lists and takes no changes. Otherwise it is part of one, since this server has
  /// neither pages nor pushes.
  public struct LocalEventQueueSource<Truth: ServerTruth, Model: SyncModel>: Sendable
  where Model.Snapshot == Truth.Snapshot, Model.Event == Truth.Event {
    public typealias Sync = EventQueue<Model.Event>

    let server: LocalEventQueue<Truth>

    public func register(
      as client: ClientID
    ) async throws(SyncFailure) -> Registered<Model.Snapshot, QueueFinger> {
      try await server.register()
    }

    public func poll(
      after finger: QueueFinger, waits: Bool
    ) async throws(SyncFailure) -> QueueBatch<Model.Event> {
      try await server.poll(after: finger, waits: waits)
    }

    public func release(_ log: QueueID) async { await server.release(log) }
  }

  extension LocalEventQueueSource: SyncSource where Model.Change == Never, Model.Lists == NoLists {}

#endif
