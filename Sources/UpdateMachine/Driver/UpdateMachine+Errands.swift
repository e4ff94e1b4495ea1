#if !hasFeature(Embedded)

  // How effects are performed. Each takes a child task of `run()`, and ends in one input.

  extension UpdateMachine {
    /// Performs effects, in their order. Never waits: what takes time is put on the table of errands.
    func perform(_ effects: Machine<Place>.Effects) {
      if let request = effects.cancel { errands.cancel(request) }
      if let timer = effects.disarm { errands.cancel(timer) }
      switch effects.report {
      case .failure(let failure): reporter?(.failure(failure))
      case .store: if let saveError { reporter?(.store(saveError)) }
      case nil: break
      }
      if let log = effects.release { errands.add(.release(log)) }
      if effects.erase, store != nil { errands.addForStore(.erase) }
      if let write = effects.persist { persist(write) }
      switch effects.request {
      case .register(let request): errands.add(.register(request))
      case .poll(let request, let finger, let waits):
        errands.add(.poll(request, after: finger, waits: waits))
      case nil: break
      }
      if let arm = effects.arm {
        errands.add(.timer(arm.timer, at: chance.draw(from: arm.range)))
      }
    }

    /// Saves the replica as it is now, for a write of the machine's or, without one, for the outbox.
    func persist(_ write: WriteID?) {
      // Nothing to write where there is no store, or where the finger was dropped in the same step.
      guard store != nil, let saved = replica.saved else {
        if let write { inbox.append(.written(write)) }
        return
      }
      let outbox = changing?.mark(on: self)
      guard acknowledgement == .beforeSaving, let write else {
        return errands.save(SaveErrand(write: write, saved: saved, outbox: outbox))
      }
      errands.save(SaveErrand(write: nil, saved: saved, outbox: outbox))
      inbox.append(.written(write))
    }

    // MARK: The loop

    /// Begins errands as they come, until all is over. Returns why the saved form could not be
    /// erased, if it should have been.
    ///
    /// Nothing is awaited before `begin` is done.
    @discardableResult
    func serve(_ begin: (isolated UpdateMachine<Origin>) -> Void) async -> StoreError? {
      let cancelled = GivenUp()
      errands.begin(cancelled)
      if !replica.isLoaded {
        if store == nil { feed(.loaded(nil, age: nil)) } else { errands.addForStore(.load) }
      }
      paging?.attend(on: self)
      begin(self)
      setAlarm()
      await withTaskCancellationHandler {
        // Over, but a log-out came while the last task ended: it has something to do.
        repeat { await performErrands() } while !errands.isOver
      } onCancel: {
        cancelled.say()
      }
      alarm = nil
      return errands.finish()
    }

    private func performErrands() async {
      let (over, end) = AsyncStream.makeStream(of: Never.self)
      await withDiscardingTaskGroup { group in
        group.addTask { await self.endWhenCancelled(over) }
        while let job = await nextErrand() {
          group.addTask { await self.run(job) }
        }
        end.finish()
      }
    }

    /// What is going on comes to its end; nothing new is begun but what the end needs.
    func endServing() {
      if let alarm { errands.cancel(alarm.errand) }
      alarm = nil
      if let reload { errands.cancel(reload) }
      reload = nil
      paging?.leave(on: self)
      errands.end()
    }

    /// Returns why the saved form could not be erased, if it should have been.
    @discardableResult
    func waitForOver() async -> StoreError? {
      await withCheckedContinuation { errands.waitForOver($0) }
    }

    private func nextErrand() async -> Errands<Place, Model>.Job? {
      while true {
        if let next = errands.takeNext() { return next }
        if errands.isOver { return nil }
        await withCheckedContinuation { errands.wait($0) }
      }
    }

    /// Cancelling `run()` means `stop()`, but for a run that waits for its turn: that is another's.
    private nonisolated func endWhenCancelled(_ over: AsyncStream<Never>) async {
      for await _ in over {}
      if Task.isCancelled { await stopServing() }
    }

    func stopServing() {
      feed(.stopped)
      endServing()
    }

    // MARK: Errands

    /// One errand in a task of its own, with its work in another, so that it can be given up.
    private nonisolated func run(_ job: Errands<Place, Model>.Job) async {
      await withDiscardingTaskGroup { group in
        group.addTask { await self.work(on: job) }
        await self.waitForEnd(of: job.id)
        group.cancelAll()
      }
      await remove(job.id)
    }

    private func waitForEnd(of id: ErrandID) async {
      await withCheckedContinuation { errands.wait(for: id, $0) }
    }

    private func remove(_ id: ErrandID) { errands.remove(id) }

    private nonisolated func work(on job: Errands<Place, Model>.Job) async {
      let id = job.id
      switch job.errand {
      case .register(let request): await register(request, job)
      case .poll(let request, let finger, let waits):
        await poll(request, after: finger, waits: waits, job)
      case .timer(let timer, let moment):
        if await sleep(until: moment) { await end(id, .fired(timer)) }
      case .alarm(let moment):
        if await sleep(until: moment) { await alarmEnds(id) }
      case .release(let log): await release(log, id)
      case .load: await load(id)
      case .reload(let moment):
        if await sleep(until: moment) { await loadAgain(id) }
      case .save(let errand): await save(errand, id)
      case .read(let queries, let end): await read(queries, end, id)
      case .erase: await erase(id)
      case .page(_, let perform), .push(_, let perform): await perform(job)
      case .pageTimer(let timer, let moment):
        if await sleep(until: moment) { await pageTimerEnds(id, timer) }
      case .localTimer(let timer, let moment):
        if await sleep(until: moment) { await localTimerEnds(id, timer) }
      case .doorbell(let rings):
        for await _ in rings { await bellRang() }
        await end(id)
      }
    }

    /// The work is done: what came of it goes in, and the errand may end.
    private func end(_ id: ErrandID, _ input: Inputs) {
      errands.complete(id)
      feed(input)
    }

    private func alarmEnds(_ id: ErrandID) {
      errands.complete(id)
      alarmRang(id)
    }

    private func pageTimerEnds(_ id: ErrandID, _ timer: TimerID) {
      errands.complete(id)
      paging?.fired(timer, on: self)
    }

    private func localTimerEnds(_ id: ErrandID, _ timer: LocalTimer) {
      errands.complete(id)
      changing?.fired(timer, on: self)
    }

    private func bellRang() { paging?.replicaChanged(on: self) }

    private func end(_ id: ErrandID) { errands.complete(id) }

    /// `false`: the sleep was cut short.
    private nonisolated func sleep(until moment: Moment) async -> Bool {
      do throws(CancellationError) {
        try await clock.sleep(until: moment)
      } catch {
        return false
      }
      return !Task.isCancelled
    }

    private nonisolated func register(
      _ request: RequestID, _ job: Errands<Place, Model>.Job
    ) async {
      guard !job.givenUp.wasSaid else { return }  // Nothing is asked after `stop()`.
      do throws(SyncFailure) {
        let registered = try await source.register()
        await end(
          job.id,
          .snapshotArrived(
            request, registered.snapshot, finger: registered.finger, terms: registered.terms))
      } catch {
        await fail(request, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    /// Polls; goes on under the same request for as long as the machine leaves it out, as it does
    /// with a subscription.
    private nonisolated func poll(
      _ request: RequestID, after finger: Place, waits: Bool, _ job: Errands<Place, Model>.Job
    ) async {
      var next: Place? = finger
      do throws(SyncFailure) {
        while let finger = next, !job.givenUp.wasSaid {
          let batch = try await source.poll(after: finger, waits: waits)
          guard await wake({ $0.asleep(under: batch) }) else { return }
          next = await pushed(request, batch, job.id)
        }
      } catch {
        await fail(request, error, job.id, isCancelled: Task.isCancelled)
      }
    }

    /// The finger to go on from, if the request is still out.
    private func pushed(
      _ request: RequestID, _ batch: Origin.Sync.Batch, _ id: ErrandID
    ) -> Place? {
      feed(.batchArrived(request, batch))
      if replica.machine.isCurrent(request) { return replica.finger }
      errands.complete(id)
      return nil
    }

    /// A request that was given up has nothing to say of its end. Nor has one whose task is
    /// cancelled: if nobody gave the request up, then `run()` is, and `stopped` is on its way.
    private func fail(
      _ request: RequestID, _ failure: SyncFailure, _ id: ErrandID, isCancelled: Bool
    ) {
      let wasGivenUp = errands.isGivenUp(id)
      errands.complete(id)
      if !wasGivenUp, !isCancelled { feed(.failed(request, failure)) }
    }

    private nonisolated func release(_ log: Place.Log, _ id: ErrandID) async {
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

    private nonisolated func load(_ id: ErrandID) async {
      do throws(StoreError) {
        let found = try await store?.load()
        let age = found.flatMap { clock.wallTime.age(of: $0.writtenAt) }
        await storeEnds(id, .loaded(found?.replica, age: age))
      } catch {
        // Cut short: that says nothing of what is saved. The next run reads it.
        if Task.isCancelled { return await storeEnds(id, nil) }
        await loadFails(id, error)
      }
    }

    /// What cannot be read is left as it is. The replica starts stale; but a model that holds what is
    /// nowhere else waits until it can be read, for what is saved next would take its place.
    private func loadFails(_ id: ErrandID, _ error: StoreError) {
      reporter?(.store(error))
      guard Model.isSavedWithoutFinger, case .failed = error, !replica.isLoaded else {
        return storeEnds(id, .loaded(nil, age: nil))
      }
      storeEnds(id, nil)
      guard errands.isOpen else { return }  // The next run reads it.
      let numbers = replica.machine.settings
      let wait = loads.take(first: numbers.transientFirst, cap: numbers.transientCap)
      let earliest = clock.now + .milliseconds(1)
      let range = MomentRange(from: earliest, to: max(earliest, clock.now + wait))
      reload = errands.add(.reload(at: chance.draw(from: range)))
    }

    private func loadAgain(_ id: ErrandID) {
      errands.complete(id)
      reload = nil
      errands.addForStore(.load)
    }

    private nonisolated func save(
      _ errand: SaveErrand<Model, Place>, _ id: ErrandID
    ) async {
      do throws(StoreError) {
        try await store?.save(StoredReplica(replica: errand.saved, writtenAt: clock.wallTime))
        await saveEnds(id, errand, nil)
      } catch {
        await saveEnds(id, errand, error)
      }
    }

    private func saveEnds(
      _ id: ErrandID, _ errand: SaveErrand<Model, Place>, _ error: StoreError?
    ) {
      storeEnds(id, nil)
      if let error {
        saveError = error
        if errand.write == nil { reporter?(.store(error)) }  // Else the machine says when.
        if errand.outbox != nil { changing?.saveFailed(on: self) }
      } else if let outbox = errand.outbox {
        changing?.saved(outbox, on: self)
      }
      if let write = errand.write { feed(error == nil ? .written(write) : .writeFailed(write)) }
    }

    private nonisolated func erase(_ id: ErrandID) async {
      do throws(StoreError) {
        try await store?.erase()
        await noteErase(nil)
      } catch {
        await noteErase(error)
      }
      await storeEnds(id, nil)
    }

    private func noteErase(_ error: StoreError?) {
      errands.eraseEnded(error)
      if let error { reporter?(.store(error)) }
    }

    private func storeEnds(_ id: ErrandID, _ input: Inputs?) {
      errands.complete(id)
      errands.storeIsDone()
      if let input { feed(input) }
    }
  }

#endif
