#if !hasFeature(Embedded)

  // How effects are performed. Anything that takes time is an operation: a child task of `run()`
  // that ends in one input.

  extension UpdateMachine {
    /// Performs effects in order. Never waits.
    func perform(_ effects: Client.Effects) {
      effects.each { effect in
        switch effect {
        case .cancel(let request): operations.cancel(request)
        case .disarm(let timer): operations.cancel(timer)
        case .report(.failure(let failure)): reporter?(.failure(failure))
        case .report(.store): if let storeError { reporter?(.store(storeError)) }
        case .report(.nameShared(let client)): reporter?(.nameShared(client))
        case .release(let log): operations.add(.release(log))
        case .load: operations.add(.load)
        case .save(let write):
          guard let saved = client.saved else { break }
          let dated = DatedReplica(replica: saved, writtenAt: clock.wallTime)
          operations.add(.save(write, dated))
        case .read(let request, let queries): operations.add(.read(request, queries))
        case .erase: operations.add(.erase)
        case .register(let request):
          progress = nil
          operations.add(.register(request, as: client.name ?? .nameless))
        case .poll(let request, let finger, let waits):
          operations.add(.poll(request, after: finger, waits: waits))
        case .push(let push, let finger):
          operations.add(.push(push, at: finger, over: confirmedState(at: finger)))
        case .fetch(let id, let request): operations.add(.fetch(id, request))
        case .arm(let timer, let range): arm(timer, at: chance.draw(from: range))
        }
      }
    }

    /// The state at the finger of a push that is made now; `nil`: the push has no finger.
    private func confirmedState(at finger: Place?) -> Change.State? {
      guard finger != nil, case .model(let model) = client.holding else { return nil }
      return model.state
    }

    private func arm(_ timer: TimerID, at moment: Moment) {
      switch timer.part {
      case .machine: machineFires = moment
      case .outbox: outboxFires = moment
      case .storage, .pages: break
      }
      operations.add(.timer(timer, at: moment))
    }

    // MARK: The loop

    /// Runs operations as they come, until all are over. Returns why the saved form could not be
    /// erased, if it should have been.
    ///
    /// Nothing is awaited before `begin` has returned.
    @discardableResult
    func serve(_ begin: (isolated UpdateMachine<Origin>) -> Void) async -> StoreError? {
      let cancelled = CancellationFlag()
      operations.begin(cancelled)
      attendDepartures()
      closeLeftWindows()  // Their readers left while nothing ran to hear it.
      begin(self)
      setAlarm()
      await withTaskCancellationHandler {
        // All was over, but a log-out came while the last task ended: it added work.
        repeat { await performOperations() } while !operations.isOver
      } onCancel: {
        cancelled.set()
      }
      alarm = nil
      return operations.finish()
    }

    private func performOperations() async {
      let (over, end) = AsyncStream.makeStream(of: Never.self)
      await withDiscardingTaskGroup { group in
        group.addTask { await self.endWhenCancelled(over) }
        while let job = await nextOperation() {
          group.addTask { await self.run(job) }
        }
        end.finish()
      }
    }

    /// Lets what is going on come to its end. Only what the end needs is still begun.
    func endServing() {
      if let alarm { operations.cancel(alarm.operation) }
      alarm = nil
      if let departures { operations.cancel(departures) }
      departures = nil
      operations.end()
    }

    /// Waits for the end of `run()`. Returns why the saved form could not be erased, if it should
    /// have been.
    @discardableResult
    func waitForOver() async -> StoreError? {
      await withCheckedContinuation { operations.waitForOver($0) }
    }

    private func nextOperation() async -> OperationTable<Origin>.Job? {
      while true {
        if let next = operations.takeNext() { return next }
        if operations.isOver { return nil }
        await withCheckedContinuation { operations.wait($0) }
      }
    }

    /// Cancelling `run()` means `stop()`, except while it waits for an earlier run to finish.
    private nonisolated func endWhenCancelled(_ over: AsyncStream<Never>) async {
      for await _ in over {}
      if Task.isCancelled { await stopServing() }
    }

    func stopServing() {
      feed(.app(.stopped))
      endServing()
    }

    // MARK: Operations

    /// Runs one operation in its own task and its work in another, so that it can be cancelled.
    private nonisolated func run(_ job: OperationTable<Origin>.Job) async {
      await withDiscardingTaskGroup { group in
        group.addTask { await self.work(on: job) }
        await self.waitForEnd(of: job.id)
        group.cancelAll()
      }
      await remove(job.id)
    }

    private func waitForEnd(of id: OperationID) async {
      await withCheckedContinuation { operations.wait(for: id, $0) }
    }

    private func remove(_ id: OperationID) { operations.remove(id) }

    private nonisolated func work(on job: OperationTable<Origin>.Job) async {
      let id = job.id
      switch job.operation {
      case .register(let request, let name): await register(request, as: name, job)
      case .poll(let request, let finger, let waits):
        await poll(request, after: finger, waits: waits, job)
      case .push(let push, let finger, let state):
        await send(push, at: finger, over: state, job)
      case .fetch(let request, let page): await fetch(request, page, job)
      case .release(let log): await release(log, id)
      case .load: await load(id)
      case .save(let write, let saved): await save(write, saved, id)
      case .read(let request, let queries): await read(request, queries, id)
      case .erase: await erase(id)
      case .timer(let timer, let moment):
        if await sleep(until: moment) { await end(id, .fired(timer)) }
      case .alarm(let moment): if await sleep(until: moment) { await alarmEnds(id) }
      case .departures(let departures):
        for await _ in departures { await closeLeftWindows() }
        await end(id)
      }
    }

    /// Ends an operation whose work is done, and feeds the result.
    private func end(_ id: OperationID, _ input: Client.Input) {
      operations.complete(id)
      feed(input)
    }

    private func alarmEnds(_ id: OperationID) {
      operations.complete(id)
      alarmRang(id)
    }

    private func end(_ id: OperationID) { operations.complete(id) }

    /// Returns `false` if the sleep was cut short.
    private nonisolated func sleep(until moment: Moment) async -> Bool {
      do throws(CancellationError) {
        try await clock.sleep(until: moment)
      } catch {
        return false
      }
      return !Task.isCancelled
    }

    // MARK: The source

    private nonisolated func register(
      _ request: RequestID, as name: ClientID, _ job: OperationTable<Origin>.Job
    ) async {
      do throws(SyncFailure) {
        let registered = try await listening(to: job) { () throws(SyncFailure) in
          try await source.register(as: name)
        }
        await end(
          job.id,
          .snapshotArrived(
            request, registered.snapshot, finger: registered.finger, terms: registered.terms,
            isComplete: registered.isComplete))
      } catch {
        await fail(request, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    private nonisolated func poll(
      _ request: RequestID, after finger: Place, waits: Bool, _ job: OperationTable<Origin>.Job
    ) async {
      do throws(SyncFailure) {
        let batch = try await listening(to: job) { () throws(SyncFailure) in
          try await source.poll(after: finger, waits: waits)
        }
        await end(job.id, .batchArrived(request, batch))
      } catch {
        await fail(request, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    private nonisolated func send(
      _ push: PushRequest<Change>, at finger: Place?, over state: Change.State?,
      _ job: OperationTable<Origin>.Job
    ) async {
      guard !job.cancelled.isSet else { return }
      do throws(PushFailure) {
        let answer = try await source.push(push, at: finger, over: state)
        await answered(job.id, .pushAnswered(push.id, answer))
      } catch {
        await fail(
          push.id, error.failure, hasLeft: error.hasLeft, job.id, isCancelled: Task.isCancelled)
      }
    }

    private nonisolated func fetch(
      _ request: RequestID, _ page: PageRequest<Lists.Narrow, Lists.ID>,
      _ job: OperationTable<Origin>.Job
    ) async {
      guard !job.cancelled.isSet else { return }
      do throws(SyncFailure) {
        let page = try await source.page(page)
        await answered(job.id, .pageArrived(request, page))
      } catch {
        await fail(request, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    /// Feeds an answer, unless its request was given up.
    private func answered(_ id: OperationID, _ input: Client.Input) {
      let isAwaited = !operations.isCancelled(id)
      operations.complete(id)
      if isAwaited { feed(input) }
    }

    /// Feeds a failure, unless its request was given up or its task is cancelled. If only the task
    /// is cancelled, then `run()` is, and `stopped` is on its way.
    private func fail(
      _ request: RequestID, _ failure: SyncFailure, hasLeft: Bool = true, _ id: OperationID,
      isCancelled: Bool
    ) {
      let isAwaited = !operations.isCancelled(id) && !isCancelled
      operations.complete(id)
      if isAwaited { feed(.failed(request, failure, hasLeft: hasLeft)) }
    }

    private nonisolated func release(_ log: Place.Log, _ id: OperationID) async {
      let limit = clock.now + UpdateMachine.releaseTime
      await withDiscardingTaskGroup { group in
        group.addTask {
          await self.source.release(log)
          await self.end(id)
        }
        group.addTask { if await self.sleep(until: limit) { await self.end(id) } }
      }
    }

    // MARK: The store

    private nonisolated func load(_ id: OperationID) async {
      do throws(StoreError) {
        let found = try await store?.load()
        let age = found.flatMap { clock.wallTime.age(of: $0.writtenAt) }
        let unreadable = found?.replica.outbox?.unreadable ?? []
        guard let first = unreadable.first else {
          return await end(id, .loaded(found?.replica, age: age))
        }
        let reason = "\(unreadable.count) of the user's changes cannot be read: \(first.reason)"
        await storeFails(id, .unreadable(reason), .loaded(found?.replica, age: age))
      } catch {
        // A load that was cut short says nothing about what is saved: the next run repeats it.
        let failure = Task.isCancelled ? .cutShort : error.failure
        guard failure == .unreadable else {
          return await storeFails(id, error, .loadFailed(failure))
        }
        await loadChanges(id, error)
      }
    }

    /// Reads the user's changes of a form that could not be read whole.
    private nonisolated func loadChanges(_ id: OperationID, _ whole: StoreError) async {
      do throws(StoreError) {
        guard let changes = try await store?.loadChanges() else {
          return await storeFails(id, whole, .loadFailed(.unreadable))
        }
        await storeFails(id, whole, .changesLoaded(changes))
      } catch {
        let failure = Task.isCancelled ? .cutShort : error.failure
        let told = failure == .unreadable ? whole : error
        await storeFails(id, told, .loadFailed(failure))
      }
    }

    private nonisolated func save(
      _ write: WriteID, _ saved: DatedReplica<Model, Place>, _ id: OperationID
    ) async {
      do throws(StoreError) {
        try await store?.save(saved)
        await end(id, .written(write))
      } catch {
        await storeFails(id, error, .writeFailed(write))
      }
    }

    private nonisolated func read(
      _ request: RequestID, _ queries: [RowQuery], _ id: OperationID
    ) async {
      do throws(StoreError) {
        await end(id, .rowsRead(request, try await store?.read(queries) ?? []))
      } catch {
        let failure = Task.isCancelled ? .cutShort : error.failure
        await storeFails(id, error, .rowsFailed(request, failure))
      }
    }

    private nonisolated func erase(_ id: OperationID) async {
      do throws(StoreError) {
        try await store?.erase()
        await erased(id)
      } catch {
        await eraseFails(id, error)
      }
    }

    private func erased(_ id: OperationID) {
      operations.eraseEnded(nil)
      end(id, .erased(succeeded: true))
    }

    private func eraseFails(_ id: OperationID, _ error: StoreError) {
      operations.eraseEnded(error)
      storeFails(id, error, .erased(succeeded: false))
    }

    /// Keeps the store's error, which is reported when the client says so.
    private func storeFails(_ id: OperationID, _ error: StoreError, _ input: Client.Input) {
      storeError = error
      end(id, input)
    }
  }

  extension StoreError {
    fileprivate var failure: StoreFailure {
      switch self {
      case .failed, .unwritable, .taken: .failed
      case .unreadable: .unreadable
      }
    }
  }

#endif
