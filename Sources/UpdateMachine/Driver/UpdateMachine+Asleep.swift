#if !hasFeature(Embedded)

  // Rows of the saved form that are read when they are needed: what an answer names is woken before the
  // answer is taken, and what a window shows before it is shown.

  extension UpdateMachine {
    /// Which rows must be read before a batch is taken.
    func asleep(under batch: Origin.Sync.Batch) -> [RowQuery] {
      guard let store, let model = replica.model else { return [] }
      var events: [Model.Event] = []
      for index in 0..<batch.count {
        if let event = batch.event(at: index) { events.append(event) }
      }
      return store.asleep(in: model, under: events)
    }

    /// Reads rows until none is needed that sleeps. `false`: that was cut short by the end of `run()`.
    func wake(
      _ asleep: @Sendable (isolated UpdateMachine<Origin>) -> [RowQuery]
    ) async -> Bool {
      while true {
        let queries = asleep(self)
        if queries.isEmpty { return true }
        let isAwake = await withCheckedContinuation {
          errands.addForStore(.read(queries, .waits($0)))
        }
        if !isAwake { return false }
      }
    }

    nonisolated func read(_ queries: [RowQuery], _ end: ReadEnd, _ id: ErrandID) async {
      do throws(StoreError) {
        let answers = try await store?.read(queries) ?? []
        await readEnds(id, answers, nil, end, isCancelled: false)
      } catch {
        await readEnds(id, [], error, end, isCancelled: Task.isCancelled)
      }
    }

    /// What could not be read is given up: the server is asked for it anew. But a reading that was cut
    /// short says nothing of what is there.
    private func readEnds(
      _ id: ErrandID, _ answers: [RowAnswer], _ error: StoreError?, _ end: ReadEnd,
      isCancelled: Bool
    ) {
      errands.complete(id)
      if !isCancelled {
        if let error = error ?? wake(with: answers) {
          reporter?(.store(error))
          if let store { replica.change { store.forgetAsleep(in: &$0) } }
        }
      }
      errands.storeIsDone()
      switch end {
      case .waits(let continuation): continuation.resume(returning: !isCancelled)
      case .windows: paging?.woke(on: self)
      }
    }

    /// Returns why not.
    private func wake(with answers: [RowAnswer]) -> StoreError? {
      guard let store else { return nil }
      var damage: StoreError?
      replica.change { model in
        do throws(StoredFormError) {
          try store.wake(&model, with: answers)
        } catch {
          damage = .unreadable("\(error)")
        }
      }
      return damage
    }
  }

#endif
