#if !hasFeature(Embedded)

  // Local changes: how an app changes its model, and what it hears of that.

  extension UpdateMachine {
    /// What a mutation gives its app at once.
    public struct Mutated: Sendable {
      /// The app's handle on it, for as long as it is pending and after a restart, too.
      public var ticket: MutationTicket
      /// What the mutator returned. The server's may make something else of it.
      public var value: Change.Value
    }

    /// Changes the model, whole or not at all. When this returns the change is in the view, and is
    /// queued for the server. It waits for nobody: neither the store nor a server; ``stored(_:)`` and
    /// ``acknowledged(_:)`` do.
    ///
    /// Right at any time once a model is held: while stale, in the background, halted, and after
    /// `stop()`. Without `run()` it is kept in memory until the next `run()` or ``stored(_:)``, and
    /// sent by the next `run()`. Throws, and changes nothing, if the mutator refuses, if no more can
    /// be kept, and as long as nothing is held: before the saved form was read, at a first start
    /// before the first snapshot, and after a log-out.
    public func mutate(
      _ change: Change
    ) throws(MutationError<Change.Refusal>) -> Mutated {
      let now = clock.now
      let mutated: Client.Mutated
      do throws(MutationError<Change.Refusal>) {
        mutated = try client.mutate(change, at: now)
      } catch {
        tap?(nil, Client.Effects(), client, now)
        throw error
      }
      perform(nil, mutated.effects, at: now)
      return Mutated(ticket: mutated.ticket, value: mutated.value)
    }

    /// Returns `true` when no crash can lose the mutation as it is: it is on disk with the replica.
    /// Never waits for a server, so it returns offline, too. Without a store that is at once, as far
    /// as there is anything to lose by.
    ///
    /// While the store fails, it waits: saving is tried again with growing waits. Without `run()` it
    /// has the store tried once itself, and then waits for the next `run()`. Returns `false` if there
    /// is no such mutation, the account goes, or the surrounding task is cancelled.
    @discardableResult
    public func stored(_ ticket: MutationTicket) async -> Bool {
      guard let outbox = client.local?.outbox, ticket <= outbox.newestTicket else {
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

    /// Returns what has become of the mutation as soon as nothing more is to be expected of the
    /// server alone: `acknowledged`, when the confirmed state has it; `discarded`; `setAside` or
    /// `uncertain`, when it is for the app to say what shall become of it. These two may still pass
    /// by themselves, when a newer state heals them; asked again meanwhile, they are told at once.
    ///
    /// Waits offline, and without `run()`, for as long as that takes. Returns `nil` if there is no such
    /// mutation or nobody remembers it, the account goes, or the surrounding task is cancelled.
    @discardableResult
    public func acknowledged(_ ticket: MutationTicket) async -> MutationState? {
      guard let outbox = client.local?.outbox, outbox.state(of: ticket) != nil else {
        return nil
      }
      // A state that is forgotten was one of these, once.
      let states = wait { outbox -> MutationState?? in
        switch outbox.state(of: ticket) {
        case .queued, .sent: nil
        case let state: .some(state)
        }
      }
      for await state in states { return state }
      return nil
    }

    /// What has become of a mutation; `nil`: there is no such one, or nobody remembers.
    public func state(of ticket: MutationTicket) -> MutationState? {
      client.local?.outbox.state(of: ticket)
    }

    // MARK: What is set aside

    /// Has a mutation tried again as it is that the server refused, or that is uncertain. Says whether
    /// it was one; if not, nothing happens.
    @discardableResult
    public func retry(_ ticket: MutationTicket) -> Bool {
      let can = client.local?.outbox.canRetry(ticket) ?? false
      feed(.mutation(.retried(ticket)))
      return can
    }

    /// Puts another mutation in the place of one that was refused or has never left. Says whether it
    /// was one; if not, nothing happens.
    @discardableResult
    public func edit(_ ticket: MutationTicket, to change: Change) -> Bool {
      let can = client.local?.outbox.canEdit(ticket) ?? false
      feed(.mutation(.edited(ticket, change)))
      return can
    }

    /// Gives up a mutation that is refused, uncertain, or has never left. Says whether it was one; if
    /// not, nothing happens: what is on its way cannot be called back.
    @discardableResult
    public func discard(_ ticket: MutationTicket) -> Bool {
      let can = client.local?.outbox.canDiscard(ticket) ?? false
      feed(.mutation(.discarded(ticket)))
      return can
    }

    // MARK: Subscriptions

    /// The answers to a question about the view: one as soon as there is a view, and then one whenever
    /// it is another. Ends when the account or the machine goes. Each call gives a sequence of its own.
    public func changes<Query: ViewQuery>(
      of query: Query
    ) -> ViewAnswers<Query.Answer> where Query.State == Change.State {
      let stream = mutations.ask(query)
      mutations.tell(client.local)
      return ViewAnswers(stream: stream)
    }

    /// Waits until `answer` has one to give, which may be at once; ends without one when the outbox
    /// goes.
    private func wait<Answer: Sendable>(
      for answer: @escaping (Outbox<Change>) -> Answer?
    ) -> AsyncStream<Answer> {
      let stream = mutations.wait(answer)
      mutations.tell(client.local)
      return stream
    }
  }

  /// The answers to one question about the view, as they become others. A reader that is slow skips
  /// those in between, and never gets the same answer twice in a row. One reader; the question is asked
  /// no more when the sequence and its iterator are dropped, or the reader's task is cancelled.
  public struct ViewAnswers<Answer: Equatable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Answer
    public typealias Failure = Never

    let stream: AsyncStream<Answer>

    /// Reads them, each when asked to.
    public struct Iterator: AsyncIteratorProtocol {
      var stream: AsyncStream<Answer>.Iterator
      var last: Answer?

      /// The newest answer, when it is another than the last; `nil`: there will be none.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Answer? {
        while let answer = await stream.next(isolation: actor) {
          guard answer != last else { continue }
          last = answer
          return answer
        }
        return nil
      }
    }

    /// The way to read them, for one reader.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: stream.makeAsyncIterator()) }
  }

  extension ReplicaState {
    /// What there is to show: the confirmed state with all that is pending over it; `nil`: nothing is
    /// held.
    public var view: Model.Change.State? { local?.view.state }

    /// How many mutations the server has not confirmed, those that were refused left out.
    public var pendingCount: Int { local?.outbox.pending.count ?? 0 }

    /// What has no effect on the view, and waits for the app or for a newer state.
    public var setAside: [MutationSetAside<Model.Change>] { local?.outbox.setAside ?? [] }

    /// What may or may not be at the server, which cannot tell.
    public var uncertain: [PendingMutation<Model.Change>] { local?.outbox.uncertain ?? [] }
  }

#endif
