// Driver: the room of the actor that performs what the values below it decide. It owns the
// connection to the app: the source and store protocols, the clock, observation. It decides
// nothing, and has no rule of the protocol in it.
//
// Driver may use: every other room.

#if !hasFeature(Embedded)

  /// Keeps an app's model up to date with a server, and says how fresh it is.
  ///
  ///     let machine = UpdateMachine(source: source, store: store)
  ///     async let following: Void = machine.run()
  ///     for await state in await machine.states() {
  ///       show(state.model, state.freshness)
  ///       if state.status == .halted(.stopped) { break }  // Stopped, or logged out.
  ///     }
  ///
  /// It owns one ``SyncClient``, which makes all decisions, and performs its effects. Every method
  /// feeds one input, with no `await` between reading the client and storing it back. Any method
  /// may be called from any task or actor, at any time: before, during and after
  /// ``run(inForeground:)``. Only ``logOut()`` and ``mutate(_:)`` throw. All moments are by the
  /// driver's clock.
  ///
  /// All work runs in child tasks of `run()`, or of ``logOut()`` if that is called while nothing
  /// runs. When it has returned, nothing is going on, and no call of the source or the store is
  /// out. The machine creates no retain cycles, so it is released with its last reference. `run()`
  /// holds one until it returns.
  ///
  /// There are two ways to end: ``stop()`` keeps log and saved form for the next start,
  /// ``logOut()`` releases and erases them.
  public actor UpdateMachine<Origin: SyncSource> {
    /// The app's model.
    package typealias Model = Origin.Model
    /// The protocol's finger.
    package typealias Place = Origin.Sync.Place
    /// What the app sees.
    public typealias State = ReplicaState<Origin.Model>
    /// What the user can do.
    package typealias Change = Model.Change
    /// The model's partial lists.
    package typealias Lists = Model.Lists
    /// The value that decides everything.
    package typealias Client = SyncClient<Model, Origin.Sync>
    /// A closure that gets every input after it was taken, before its effects are performed, for
    /// logs and tests. It gets the input, its effects, the client as it is then, and the moment.
    /// Inputs come in the order in which they are taken. A `nil` input means that the app changed
    /// something or opened a window. Called on the actor, synchronously; must not block.
    package typealias Tap = @Sendable (Client.Input?, Client.Effects, Client, Moment) -> Void

    /// A closure that gets the entries for the app's log.
    package typealias Reporter = @Sendable (DriverReport) -> Void

    /// How long the release of a server's log may take before its task is cancelled.
    package static var releaseTime: TimeSpan { .seconds(5) }

    /// Runs the actor's jobs, one after the other.
    package nonisolated let executor: any SerialExecutor

    /// For the runtime: `executor`, which lives as long as the actor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    nonisolated let source: Origin
    nonisolated let store: (any ReplicaStore<Model, Place>)?
    nonisolated let clock: any DriverClock
    nonisolated let chance: any Chance
    let tap: Tap?
    let reporter: Reporter?

    var client: Client
    /// When the machine's and the outbox's last timers fire. Each part has one timer, so these are
    /// the armed ones, if any are.
    var machineFires = Moment.distantPast
    var outboxFires = Moment.distantPast
    var operations = OperationTable<Origin>()
    /// The store's last error.
    var storeError: StoreError?
    /// Why the last attempt to register or to poll failed; `nil`: it did not, or a save did.
    var trouble: SyncFailure?
    /// What the source has told of the first sync that is going on, or was the last.
    var progress: Double?

    var observers = Subscribers<State>()
    var windows: [WindowSubscriber<Lists>] = []
    /// The tasks that wait for mutations or watch the view. Made for the first of them, so that an
    /// idle machine is small.
    var mutations: MutationSubscribers<Change>?
    /// The tasks that watch the model. Made for the first of them.
    var modelQueries: QuerySubscribers<Origin.Model>?
    /// Counts the changes of the model.
    var modelVersion: UInt64 = 0
    /// The claim that observers were told last.
    var claimTold: Freshness.Claim?
    /// The sleep until freshness changes by itself.
    var alarm: (operation: OperationID, at: Moment)?
    /// Raised by windows that lose their reader, and heard while `run()` goes on.
    nonisolated let departing = Departures()
    var departures: OperationID?

    /// Creates a machine that does nothing until ``run(inForeground:)``; nothing is read yet. May
    /// be called from anywhere. One account may have several machines, side by side.
    ///
    /// - Parameters:
    ///   - source: the connection to the server, used by this machine alone.
    ///   - store: keeps the replica between processes, for this machine alone.
    ///   - acknowledges: whether the server is told of a finger before or after that is saved.
    ///   - settings: the machine's settings; the defaults suit most apps.
    ///   - client: the client's name at its server, if the app brings its own; `nil`, the default:
    ///     the library draws it, and another after a log-out. ``ClientNames/own(_:)`` says what may
    ///     go wrong.
    ///   - clock: the source of moments and of wall time.
    ///   - reporter: gets the entries for the app's log, in the order in which they happen; `nil`:
    ///     none are made. Called on the actor, synchronously; must not block.
    public init(
      source: Origin, store: any SyncStore, acknowledges: Acknowledgement = .afterSaving,
      settings: MachineSettings = MachineSettings(), client: ClientID? = nil,
      clock: any DriverClock = SystemClock(), reporter: (@Sendable (DriverReport) -> Void)? = nil
    ) where Origin.Model: StorableModel, Origin.Sync.Place: Storable {
      self.init(
        source: source, replicas: RowStore(store), acknowledges: acknowledges,
        settings: settings, name: client, clock: clock, reporter: reporter)
    }

    /// The same, with a tap for logs and tests.
    package init(
      source: Origin, store: any SyncStore, settings: MachineSettings = MachineSettings(),
      tap: @escaping Tap
    ) where Model: StorableModel, Origin.Sync.Place: Storable {
      self.init(source: source, replicas: RowStore(store), settings: settings, tap: tap)
    }

    /// The same without a store. The state is lost with the process, as is right for presence and
    /// typing, which are worth nothing after a restart.
    public init(
      source: Origin, settings: MachineSettings = MachineSettings(), client: ClientID? = nil,
      clock: any DriverClock = SystemClock(),
      reporter: (@Sendable (DriverReport) -> Void)? = nil
    ) {
      self.init(
        source: source, replicas: nil, settings: settings, name: client, clock: clock,
        reporter: reporter)
    }

    /// The same with a store of whole replicas, and all that a simulator decides.
    ///
    /// - Parameters:
    ///   - pages: how eagerly pages are fetched.
    ///   - name: the client's name, if the app brings its own.
    ///   - chance: draws waits, the number of this start, and the client's names.
    ///   - executor: runs the actor's jobs; must run them one after the other.
    ///   - tap: gets every input; `nil`: there is none.
    package init(
      source: Origin, replicas store: (any ReplicaStore<Model, Place>)?,
      acknowledges acknowledgement: Acknowledgement = .afterSaving,
      settings: MachineSettings = MachineSettings(), pages: PageSettings = PageSettings(),
      name: ClientID? = nil, clock: any DriverClock = SystemClock(),
      chance: any Chance = SystemChance(),
      executor: any SerialExecutor = SerialQueueExecutor(),
      reporter: Reporter? = nil, tap: Tap? = nil
    ) {
      self.source = source
      self.store = store
      self.clock = clock
      self.chance = chance
      self.executor = executor
      self.reporter = reporter
      self.tap = tap
      var numbers = ClientSettings()
      numbers.machine = settings
      numbers.pages = pages
      numbers.hasStore = store != nil
      numbers.acknowledges = acknowledgement
      let names = name.map { ClientNames.own($0) } ?? .drawn(seed: chance.newSeed())
      client = Client(incarnation: chance.newIncarnation(), settings: numbers, names: names)
    }

    deinit {
      observers.finish()
      for window in windows { window.subscribers.finish() }
    }

    // MARK: Running

    /// Reads the saved form, if that has not been read, and follows the server until ``stop()``,
    /// ``logOut()`` or the cancellation of the surrounding task, which means `stop()`. Failures
    /// never end it, and it never throws. When it returns, nothing is going on: it waits for open
    /// calls of the source and the store, and cancels all but writes.
    ///
    /// It may then be called again, and continues from its finger. A call after one of these ends
    /// waits until the old run has returned, and then begins. It does not begin if another `stop()`
    /// or `logOut()` comes meanwhile. A call during a run that was not ended is a programmer's
    /// mistake, and traps.
    ///
    /// A `stop()` before the run does not affect it. Call `run` from one task that lives as long as
    /// the app follows the server: one that the `App` starts, or a service's `run`. A view's
    /// `.task` will not do where an app can show several windows, since each would call it.
    ///
    /// - Parameter inForeground: whether the user sees the app. `true` for a server process.
    public func run(inForeground: Bool = true) async {
      let endings = operations.endings
      var inForeground = inForeground
      if operations.endsSoon {
        // Fed at once, because the user may leave or come back before this run's turn.
        feed(.app(inForeground ? .foregrounded : .backgrounded))
        while operations.endsSoon { await waitForOver() }
        inForeground = client.machine.isInForeground
      }
      guard operations.endings == endings, !Task.isCancelled else { return }
      let foreground = inForeground
      await serve { $0.feed(.app(.started(foreground: foreground))) }
    }

    /// Ends `run()`, and a `run()` that waits for it. Nothing is released or erased: the next start
    /// continues from here. When this returns, the status is *stopped*, the server is asked nothing
    /// more, and open requests have no effect. `run()` returns a little later, when the write under
    /// way, if any, and the cancelled calls have ended.
    ///
    /// Never throws. Does no harm if nothing runs.
    public func stop() {
      operations.noteEnding()
      stopServing()
    }

    /// Logs the account out. The model is dropped at once. The saved form is erased, after any
    /// write under way. The server's log is released, which may take five seconds. Returns when
    /// all that is done and `run()`, if it was going on, has nothing more to do. May be called
    /// without `run()`: then it reads the saved form first, to know what to release.
    ///
    /// Throws the store's error if the saved form could not be erased. Then the model is gone, but
    /// the saved form is not, and this may be called again. A log that was not released is no
    /// error: the server forgets it in time. If the surrounding task is cancelled, the release is
    /// given up, but the store is still asked.
    public func logOut() async throws(StoreError) {
      operations.noteEnding()
      let error: StoreError?
      if operations.isServing {
        feed(.app(.loggedOut))
        endServing()
        error = await waitForOver()
      } else {
        error = await serve {
          $0.feed(.app(.loggedOut))
          $0.endServing()
        }
      }
      if let error { throw error }
    }

    // MARK: Signals from the app

    /// The user sees the app again. iOS: `sceneWillEnterForeground`; macOS:
    /// `applicationDidBecomeActive`; a server process never calls it.
    public func enterForeground() { feed(.app(.foregrounded)) }

    /// The user has left. iOS: `sceneDidEnterBackground`, after any grace period that the app
    /// gives; macOS: when no window is visible, or never. A suspension of the process needs no
    /// signal: the clock shows it.
    public func enterBackground() { feed(.app(.backgrounded)) }

    /// The device has another network, or has one again (`NWPathMonitor`).
    public func networkChanged() { feed(.app(.networkChanged)) }

    /// The source has new credentials of the *same* user. Another user needs another machine.
    public func credentialsChanged() { feed(.app(.credentialsChanged)) }

    /// The user asked to try now.
    public func retryNow() { feed(.app(.retryRequested)) }

    // MARK: The app's view

    /// The present state; its freshness is as of now, by the driver's clock. O(1), apart from
    /// copying a model that is not copy-on-write.
    public var state: State {
      let now = clock.now
      var freshness = client.freshness(at: now)
      if freshness.nextAttempt != nil { freshness.nextAttempt = machineFires }
      var state = State(
        holding: client.holding, version: modelVersion, logOuts: client.nameCount,
        local: client.local, kept: client.kept, status: client.isLoaded ? client.status : nil,
        freshness: freshness,
        nextPush: client.local?.outbox.nextPush == nil ? nil : outboxFires, at: now)
      if freshness.claim != .connected, !client.status.isHalted { state.progress = progress }
      if case .unreachable = freshness.claim { state.trouble = trouble }
      return state
    }

    /// Returns the present state, and then the newest one whenever there is something else to show.
    /// Which request is out is not shown: an event that comes makes one state, and one more when it
    /// is saved and the next poll is out. The subscription begins before this returns, so nothing
    /// later is missed. Each call returns its own stream, for one reader. States between two
    /// readings are skipped, so a slow reader costs nothing. The subscription ends when the stream
    /// is dropped or its task is cancelled. Neither the call nor the stream keeps the machine
    /// alive: the stream ends when the machine is released.
    public func states() -> AsyncStream<State> {
      let states = observers.add(state)
      setAlarm()
      return states
    }

    // MARK: Inputs

    /// Feeds one input to the client, performs its effects, and tells subscribers.
    func feed(_ input: Client.Input) {
      let now = clock.now
      perform(input, client.handle(input, at: now), at: now)
    }

    /// Notes why an attempt failed, or that one did not.
    private func noteTrouble(_ input: Client.Input?, _ effects: Client.Effects) {
      switch input {
      case .failed(let request, let failure, _) where request.part == .machine: trouble = failure
      case .fired(let timer) where timer.part == .machine && effects.machine.cancel != nil:
        trouble = .timedOut
      case .snapshotArrived, .batchArrived:
        if case .failure(let failure) = effects.machine.report {
          trouble = failure
        } else {
          trouble = nil
        }
      case .writeFailed: trouble = nil
      default: break
      }
    }

    /// Performs the effects of an input, or of a call by the app (`nil`), and tells subscribers.
    func perform(_ input: Client.Input?, _ effects: Client.Effects, at now: Moment) {
      tap?(input, effects, client, now)
      assert(client.violation() == nil, "\(client.violation()!)")
      noteTrouble(input, effects)
      perform(effects)
      if case .app(.loggedOut) = input {
        mutations?.endAll()
        modelQueries?.endAll()
      }
      tell(effects)
    }
  }

#endif
