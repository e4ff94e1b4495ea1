#if !hasFeature(Embedded)

  // How effects are performed. Each takes a child task of `run()`, and ends in one input.

  extension UpdateMachine {
    /// Performs effects, in their order. Never waits: what takes time is put on the table of errands.
    func perform(_ effects: Machine<Place>.Effects) {
      if let request = effects.cancel { errands.cancel(request) }
      if let timer = effects.disarm { errands.cancel(timer) }
      if let log = effects.release { errands.add(.release(log)) }
      switch effects.report {
      case .failure(let failure): reporter?(.failure(failure))
      case .store: if let saveError { reporter?(.store(saveError)) }
      case nil: break
      }
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

    private func persist(_ write: WriteID) {
      // Nothing to write where there is no store, or where the finger was dropped in the same step.
      guard store != nil, let saved = replica.saved else { return inbox.append(.written(write)) }
      errands.addForStore(.save(write, saved))
    }

    // MARK: The loop

    /// Begins errands as they come, until all is over.
    func serve(_ begin: (isolated UpdateMachine<Origin>) -> Void) async {
      errands.begin()
      let (over, end) = AsyncStream.makeStream(of: Never.self)
      await withDiscardingTaskGroup { group in
        group.addTask { await self.stopWhenCancelled(over) }
        if !replica.isLoaded {
          if store == nil { feed(.loaded(nil, age: nil)) } else { errands.addForStore(.load) }
        }
        begin(self)
        setAlarm()
        while let (id, errand) = await nextErrand() {
          group.addTask { await self.run(errand, id) }
        }
        end.finish()
      }
      errands.finish()
      alarm = nil
    }

    /// What is going on comes to its end; nothing new is begun but what the end needs.
    func endServing() {
      if let alarm { errands.cancel(alarm.errand) }
      alarm = nil
      errands.end()
    }

    func waitForOver() async {
      await withCheckedContinuation { errands.waitForOver($0) }
    }

    private func nextErrand() async -> (ErrandID, Errand<Place, Model>)? {
      while true {
        if let next = errands.takeNext() { return next }
        if errands.isOver { return nil }
        await withCheckedContinuation { errands.wait($0) }
      }
    }

    /// Cancelling `run()` means `stop()`.
    private nonisolated func stopWhenCancelled(_ over: AsyncStream<Never>) async {
      for await _ in over {}
      if Task.isCancelled { await stop() }
    }

    // MARK: Errands

    /// One errand in a task of its own, with its work in another, so that it can be given up.
    private nonisolated func run(_ errand: Errand<Place, Model>, _ id: ErrandID) async {
      await withDiscardingTaskGroup { group in
        group.addTask { await self.work(on: errand, id) }
        await self.waitForEnd(of: id)
        group.cancelAll()
      }
      await remove(id)
    }

    private func waitForEnd(of id: ErrandID) async {
      await withCheckedContinuation { errands.wait(for: id, $0) }
    }

    private func remove(_ id: ErrandID) { errands.remove(id) }

    private nonisolated func work(on errand: Errand<Place, Model>, _ id: ErrandID) async {
      switch errand {
      case .register(let request): await register(request, id)
      case .poll(let request, let finger, let waits):
        await poll(request, after: finger, waits: waits, id)
      case .timer(let timer, let moment):
        if await sleep(until: moment) { await end(id, .fired(timer)) }
      case .alarm(let moment):
        if await sleep(until: moment) { await alarmEnds(id) }
      case .release(let log): await release(log, id)
      case .load: await load(id)
      case .save(let write, let saved): await save(write, saved, id)
      case .erase: await erase(id)
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

    private nonisolated func register(_ request: RequestID, _ id: ErrandID) async {
      do throws(SyncFailure) {
        let registered = try await source.register()
        await end(
          id,
          .snapshotArrived(
            request, registered.snapshot, finger: registered.finger, terms: registered.terms))
      } catch {
        await fail(request, error, id)
      }
    }

    /// Polls; goes on under the same request for as long as the machine leaves it out, as it does
    /// with a subscription.
    private nonisolated func poll(
      _ request: RequestID, after finger: Place, waits: Bool, _ id: ErrandID
    ) async {
      var next: Place? = finger
      do throws(SyncFailure) {
        while let finger = next {
          let batch = try await source.poll(after: finger, waits: waits)
          next = await pushed(request, batch, id)
        }
      } catch {
        await fail(request, error, id)
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

    /// A request that was given up has nothing to say of its end.
    private func fail(_ request: RequestID, _ failure: SyncFailure, _ id: ErrandID) {
      let wasGivenUp = errands.isCancelled(id)
      errands.complete(id)
      if !wasGivenUp { feed(.failed(request, failure)) }
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
        // What cannot be read is left as it is; the replica starts stale.
        await noteLoad(error)
        await storeEnds(id, .loaded(nil, age: nil))
      }
    }

    private nonisolated func save(
      _ write: WriteID, _ saved: SavedReplica<Model, Place>, _ id: ErrandID
    ) async {
      do throws(StoreError) {
        try await store?.save(StoredReplica(replica: saved, writtenAt: clock.wallTime))
        await storeEnds(id, .written(write))
      } catch {
        await noteSave(error)
        await storeEnds(id, .writeFailed(write))
      }
    }

    private nonisolated func erase(_ id: ErrandID) async {
      do throws(StoreError) {
        try await store?.erase()
      } catch {
        await noteErase(error)
      }
      await storeEnds(id, nil)
    }

    private func noteSave(_ error: StoreError) { saveError = error }  // The machine reports it.

    private func noteErase(_ error: StoreError) {
      eraseError = error
      reporter?(.store(error))
    }

    private func noteLoad(_ error: StoreError) { reporter?(.store(error)) }

    private func storeEnds(_ id: ErrandID, _ input: Inputs?) {
      errands.complete(id)
      errands.storeIsDone()
      if let input { feed(input) }
    }
  }

#endif
