#if !hasFeature(Embedded)

  // Local changes: how an app changes its model, and what it learns of them.

  extension UpdateMachine {
    /// Changes the model, whole or not at all. When this returns, the change is in the view and
    /// queued for the server. It waits neither for the store nor for a server; ``stored(_:)`` and
    /// ``acknowledged(_:)`` do.
    ///
    /// Allowed at any time once a model is held: while stale, in the background, halted, and after
    /// `stop()`. Without `run()` the change is kept in memory until the next `run()` or
    /// ``stored(_:)``, and is sent by the next `run()`.
    ///
    /// Throws, and changes nothing, if the mutator refuses or the outbox is full, or while not
    /// connected if ``SyncModel/mutatesOffline`` is `false`. Throws
    /// ``MutationError/nothingHeld`` before the saved form was read and after a log-out. At a first
    /// start it throws that until the first snapshot, unless the model has a
    /// ``SyncModel/beginning``. So it does after an update of the app that cannot read the saved
    /// model.
    ///
    /// - Returns: the app's handle on the mutation, for as long as it is pending, also after a
    ///   restart; and what the mutator returned here, where the server's run may have another
    ///   result.
    public func mutate(
      _ change: Origin.Model.Change
    ) throws(MutationError<Origin.Model.Change.Refusal>) -> (
      ticket: MutationTicket, value: Origin.Model.Change.Value
    ) {
      let now = clock.now
      let mutated: (ticket: MutationTicket, value: Change.Value, effects: Client.Effects)
      do throws(MutationError<Change.Refusal>) {
        mutated = try client.mutate(change, at: now)
      } catch {
        tap?(nil, Client.Effects(), client, now)
        throw error
      }
      perform(nil, mutated.effects, at: now)
      return (mutated.ticket, mutated.value)
    }

    /// Takes back the newest change that can be undone: what it did, and nothing that others have
    /// done since. The outcome says how; <doc:UndoAndRedo> says what becomes of changes that are
    /// pending, refused or coalesced. Only changes with an inverse can be undone
    /// (``Mutation/inverse(from:to:)``). Works offline, and after a restart. If it throws, nothing
    /// has changed.
    @discardableResult
    public func undo()
      throws(MutationError<Origin.Model.Change.Refusal>) -> UndoOutcome<Origin.Model.Change.Refusal>
    { try takeBack(newestOf: .undo) }

    /// Takes back the newest undo, as ``undo()`` takes back a change. A new change that can be
    /// undone leaves nothing to redo.
    @discardableResult
    public func redo()
      throws(MutationError<Origin.Model.Change.Refusal>) -> UndoOutcome<Origin.Model.Change.Refusal>
    { try takeBack(newestOf: .redo) }

    private func takeBack(
      newestOf stack: UndoStack
    ) throws(MutationError<Change.Refusal>) -> UndoOutcome<Change.Refusal> {
      let now = clock.now
      let taken: (outcome: UndoOutcome<Change.Refusal>, effects: Client.Effects)
      do throws(MutationError<Change.Refusal>) {
        taken = try client.takeBack(newestOf: stack, at: now)
      } catch {
        tap?(nil, Client.Effects(), client, now)
        throw error
      }
      perform(nil, taken.effects, at: now)
      return taken.outcome
    }

    /// Waits until no crash can lose the mutation as it is, because it is on disk with the replica.
    /// Then returns `true`. Never waits for a server, so it also returns offline. Without a store
    /// it returns at once, as far as there is anything to lose.
    ///
    /// While the store fails, it waits, and the save is repeated with growing waits. Without
    /// `run()` it makes one try at a save itself, and then waits for the next `run()`. Returns
    /// `false` if there is no such mutation, after a log-out, or if the surrounding task is
    /// cancelled.
    @discardableResult
    public func stored(_ ticket: MutationTicket) async -> Bool {
      guard let outbox = client.outbox, ticket <= outbox.newestTicket else {
        return false
      }
      let answers = wait { $0.isStored(ticket) ? true : nil }
      if !operations.isServing, !outbox.isStored(ticket) {
        await serve {
          $0.feed(.saveRequested)
          $0.endServing()
        }
      }
      for await isStored in answers { return isStored }
      return false
    }

    /// Waits until nothing more can be expected of the server alone, then returns the state of the
    /// mutation: `acknowledged`, when the confirmed state has it; `overruled` by it; `discarded`;
    /// `setAside` or `uncertain`, when the app must decide. The last two may still end by
    /// themselves, when a newer state heals them. Called while one of them holds, this returns it
    /// at once.
    ///
    /// Waits for as long as that takes, also offline and without `run()`. Returns `nil` if there is
    /// no such mutation or it is forgotten, after a log-out, or if the surrounding task is
    /// cancelled.
    @discardableResult
    public func acknowledged(_ ticket: MutationTicket) async -> MutationState? {
      guard let outbox = client.outbox, outbox.state(of: ticket) != nil else {
        return nil
      }
      // A mutation that is forgotten by now once had one of these states.
      let states = wait { outbox -> MutationState?? in
        switch outbox.state(of: ticket) {
        case .queued, .sent: nil
        case let state: .some(state)
        }
      }
      for await state in states { return state }
      return nil
    }

    /// Waits until the server has said that it has the mutation. It may run it later, so nobody
    /// need see it yet: ``acknowledged(_:)`` waits for that. Returns `true` then, or if the
    /// confirmed state has the mutation already.
    ///
    /// Returns `false` when nothing more can be expected of the server alone: the mutation is set
    /// aside, uncertain, overruled or discarded. Also if there is no such mutation, after a
    /// log-out, or if the surrounding task is cancelled. Waits for as long as that takes, also off
    /// line and without `run()`.
    @discardableResult
    public func accepted(_ ticket: MutationTicket) async -> Bool {
      guard let outbox = client.outbox, outbox.state(of: ticket) != nil else { return false }
      let answers = wait { outbox -> Bool? in
        switch outbox.state(of: ticket) {
        case .queued: nil
        case .sent: outbox.isAccepted(ticket) ? true : nil
        case .acknowledged: true
        case .setAside, .uncertain, .overruled, .discarded, nil: false
        }
      }
      for await isAccepted in answers { return isAccepted }
      return false
    }

    /// The state of a mutation; `nil`: there is none, or it is forgotten.
    public func state(of ticket: MutationTicket) -> MutationState? {
      client.outbox?.state(of: ticket)
    }

    // MARK: Mutations set aside

    /// Tries a refused or uncertain mutation again, unchanged. Returns whether it was one; if not,
    /// nothing happens.
    @discardableResult
    public func retry(_ ticket: MutationTicket) -> Bool {
      let can = client.local?.outbox.canRetry(ticket) ?? false
      feed(.mutation(.retried(ticket)))
      return can
    }

    /// Replaces a mutation that was refused or has never left. Returns whether it was one, and the
    /// new one can be encoded; if not, nothing happens.
    @discardableResult
    public func edit(_ ticket: MutationTicket, to change: Origin.Model.Change) -> Bool {
      let can = client.canStore(change) && client.local?.outbox.canEdit(ticket) ?? false
      feed(.mutation(.edited(ticket, change)))
      return can
    }

    /// Gives up a mutation that is refused, uncertain, unreadable, or has never left. Returns
    /// whether it was one; if not, nothing happens, since a mutation on its way cannot be called
    /// back.
    @discardableResult
    public func discard(_ ticket: MutationTicket) -> Bool {
      let can = client.local?.outbox.canDiscard(ticket) ?? false
      feed(.mutation(.discarded(ticket)))
      return can
    }

    // MARK: Subscriptions

    /// Returns the answers to a query about the view: one as soon as there is a view, then one
    /// whenever the answer changes. Ends at a log-out, or when the machine is released. Each call
    /// returns its own sequence.
    public func changes<Query: ViewQuery>(
      of query: Query
    ) -> ViewAnswers<Query.Answer> where Query.State == Origin.Model.Change.State {
      let stream = mutationSubscribers().queries.ask(query)
      tellMutations()
      return ViewAnswers(stream: stream)
    }

    /// Returns the answers to a query about a model that takes no changes: one as soon as a model
    /// is held, then one whenever the answer changes. Ends at a log-out, or when the machine is
    /// released. Each call returns its own sequence.
    public func changes<Query: ViewQuery>(
      of query: Query
    ) -> ViewAnswers<Query.Answer> where Query.State == Origin.Model, Origin.Model.Change == Never {
      answers(to: query)
    }

    /// The same for any model, for a checker.
    package func answers<Query: ViewQuery>(
      to query: Query
    ) -> ViewAnswers<Query.Answer> where Query.State == Origin.Model {
      let stream = modelSubscribers().ask(query)
      tellModel()
      return ViewAnswers(stream: stream)
    }

    /// Returns the tasks that wait for mutations or watch the view, to add one.
    private func mutationSubscribers() -> MutationSubscribers<Change> {
      if let mutations { return mutations }
      let first = MutationSubscribers<Change>()
      mutations = first
      return first
    }

    /// Returns the tasks that watch the model, to add one.
    private func modelSubscribers() -> QuerySubscribers<Origin.Model> {
      if let modelQueries { return modelQueries }
      let first = QuerySubscribers<Origin.Model>()
      modelQueries = first
      return first
    }

    /// Returns a stream with one answer, as soon as `answer` returns one, perhaps at once. The
    /// stream ends without an answer when the outbox is dropped.
    private func wait<Answer: Sendable>(
      for answer: @escaping (Outbox<Change>) -> Answer?
    ) -> AsyncStream<Answer> {
      let stream = mutationSubscribers().wait(answer)
      tellMutations()
      return stream
    }
  }

  /// The answers to one query, as they change. A slow reader skips those in between,
  /// and never gets the same answer twice in a row. For one reader. The query ends when the
  /// sequence and its iterator are dropped, or the reader's task is cancelled.
  public struct ViewAnswers<Answer: Equatable & Sendable>: AsyncSequence, Sendable {
    let stream: AsyncStream<Answer>

    /// An iterator over the answers.
    public struct Iterator: AsyncIteratorProtocol {
      var stream: AsyncStream<Answer>.Iterator
      var last: Answer?

      /// Returns the next answer that differs from the last; `nil`: there are no more.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Answer? {
        while let answer = await stream.next(isolation: actor) {
          guard answer != last else { continue }
          last = answer
          return answer
        }
        return nil
      }
    }

    /// Returns an iterator, for one reader.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: stream.makeAsyncIterator()) }
  }

  extension ReplicaState {
    /// The view: all pending mutations over the confirmed state or, before the first snapshot, over
    /// ``SyncModel/beginning``; `nil`: there is neither. Without a model nothing of it is
    /// confirmed.
    public var view: Model.Change.State? { local?.view.state }

    /// Mutations that the server has not confirmed, in order, without those that it refused.
    public var pending: [PendingMutation<Model.Change>] { outbox?.pending ?? [] }

    /// The name of the change that `undo()` would take back (``Mutation/name``), for a menu; `nil`:
    /// there is none.
    public var undoable: String? { local?.outbox.nameOfNewest(of: .undo) }

    /// The name of the change that `redo()` would make again; `nil`: there is none.
    public var redoable: String? { local?.outbox.nameOfNewest(of: .redo) }

    /// Mutations without effect on the view, which wait for the app or for a newer state.
    public var setAside: [MutationSetAside<Model.Change>] { outbox?.setAside ?? [] }

    /// The user's changes that were saved and that this version of the app cannot read. They have
    /// no effect, hold up no other, and stay saved until the app discards them or can read them.
    public var unreadable: [UnreadableMutation] { outbox?.unreadable ?? [] }

    /// Mutations that may be at a server that cannot recognise a second copy.
    public var uncertain: [PendingMutation<Model.Change>] { outbox?.uncertain ?? [] }
  }

#endif
