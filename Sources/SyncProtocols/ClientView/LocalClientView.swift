#if !hasFeature(Embedded)

  public import UpdateMachine

  /// One user's data layer and diff server in this process, in real time, for examples, lessons and
  /// tests.
  ///
  ///     let server = LocalClientView(Reservations())
  ///     let machine = UpdateMachine(source: server.source(for: Wish.self))
  ///
  /// A pull may wait: if it finds nothing new, it is answered as soon as there is news. This stands
  /// for the poke that a real server sends its clients.
  public actor LocalClientView<Mutators: ViewMutators>: LocalServer {
    /// The type of the view's values.
    public typealias Content = Mutators.Value

    private var server: ClientViewServer<Mutators>
    let clock: any DriverClock
    var waitingPolls = WaitingPolls()
    private let pushCredential = PushCredential("push")
    private let pullCredential = PullCredential("pull")

    /// Makes a server with an empty view, which these mutators change.
    public init(_ mutators: Mutators, clock: any DriverClock = SystemClock()) {
      self.clock = clock
      server = ClientViewServer(
        DataLayer(mutators), DiffServer(epoch: 1), pushCredential: pushCredential,
        pullCredential: pullCredential)
    }

    /// Returns a source that connects clients to this server, for an app's mutations. The server
    /// tells any holder of a client's name about that client's mutations.
    ///
    /// - Parameter change: the type of the mutations.
    public nonisolated func source<Change: ViewMutation>(
      for change: Change.Type
    ) -> LocalSource<ConfirmedView<Change>, ClientView<Content>>
    where Change.Content == Content {
      LocalSource(
        snapshot: { client throws(SyncFailure) in
          let pulled = try await self.pull(client, from: nil, waits: false)
          var terms = ServerTerms.clientView()
          terms.cadence = .waits
          return Registered(
            snapshot: pulled, finger: pulled.finger, terms: terms, isComplete: pulled.isCurrent)
        },
        news: { (finger, waits) throws(SyncFailure) in
          try await self.pull(finger.client, from: finger, waits: waits)
        },
        answer: { (push, _) throws(SyncFailure) in try await self.push(MutationPush(push)) })
    }

    /// The present view.
    public var view: ViewMap<Content> { server.dataLayer.last.view }

    /// Changes the view from outside. Every connected client will hear of it.
    public func change<Result: Sendable, Failure: Error>(
      _ body: sending (inout ViewTransaction<Content>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      let result = try server.dataLayer.change(body)
      tellNews()
      return result
    }

    /// From now on pushes are accepted, but not run.
    public func holdPushes() { server.runsAtOnce = false }

    /// Runs the waiting pushes. From now on each push is run at once.
    public func runPushes() {
      server.runsAtOnce = true
      while server.dataLayer.runNext() != nil {}
      tellNews()
    }

    func push(_ push: MutationPush) throws(SyncFailure) -> PushAnswer {
      let answer: PushAnswer
      do throws(ClientViewFailure) {
        answer = try server.push(push, with: pushCredential)
      } catch {
        throw error.failure
      }
      tellNews()
      return answer
    }

    /// - Parameter finger: the client's finger; `nil`: it has nothing.
    func pull(
      _ client: ClientID, from finger: ViewFinger?, waits: Bool
    ) async throws(SyncFailure) -> PulledView<Content> {
      try await firstNews(
        in: { () throws(SyncFailure) in
          do throws(ClientViewFailure) {
            return try server.pull(
              PullRequest(client: client, state: finger?.state), with: pullCredential)
          } catch {
            throw error.failure
          }
        },
        isNews: { pulled in
          guard waits, let finger else { return true }
          return ClientView.advance(finger, over: pulled) != .seen
        })
    }
  }

#endif
