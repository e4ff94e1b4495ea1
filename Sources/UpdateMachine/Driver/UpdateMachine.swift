#if !hasFeature(Embedded)

  /// Keeps an app's model level with a server, and says how fresh it is.
  ///
  ///     let machine = UpdateMachine(source: source, store: store)
  ///     async let following: Void = machine.run()
  ///     for await state in await machine.states() {
  ///       show(state.model, state.freshness)
  ///       if state.status == .halted(.stopped) { break }  // Stopped, or logged out.
  ///     }
  ///
  /// It owns one ``SyncClient`` and performs its effects; all decisions are made there. Every method
  /// feeds one input, with no `await` between reading the client and storing it back. Any method
  /// may be called from anywhere, any task or actor, at any time: before, during and after
  /// ``run(inForeground:)``. Only ``logOut()`` throws. All moments are the driver's clock's.
  ///
  /// Everything that it does runs in child tasks of `run()` (of ``logOut()``, if that is called
  /// while nothing runs): when that has returned, nothing is going on, and no call of the source or
  /// the store is out. It holds nobody who holds it, so it goes when its last user goes; `run()`,
  /// while it goes on, is one.
  ///
  /// Two ends, which are two things: ``stop()`` keeps log and saved form for the next start,
  /// ``logOut()`` releases and erases them.
  public actor UpdateMachine<Origin: Source> {
    /// The app's model.
    public typealias Model = Origin.Model
    /// The protocol's finger.
    public typealias Place = Origin.Sync.Place
    /// What the app sees.
    public typealias State = ReplicaState<Model>
    /// What the user can do.
    public typealias Change = Model.Change
    /// The model's partial lists.
    public typealias Lists = Model.Lists
    /// The value that decides everything.
    public typealias Client = SyncClient<Model, Origin.Sync>
    /// Hears of every input after it was taken, before its effects are performed: for logs and
    /// tests. Gets the input, its effects, the client as it is then, and the moment; inputs come in
    /// the order in which they are taken. `nil` in place of an input: the app changed something or opened
    /// a window. Called on the actor, synchronously; must not block.
    public typealias Tap = @Sendable (Client.Input?, Client.Effects, Client, Moment) -> Void

    /// Hears what the app's log should hear, in the order in which it happens. Called on the actor,
    /// synchronously; must not block.
    public typealias Reporter = @Sendable (DriverReport) -> Void

    /// How long the release of a server's log may take: then its task is cancelled.
    public static var releaseTime: TimeSpan { .seconds(5) }

    /// Runs the actor's jobs, one after the other.
    public nonisolated let executor: any SerialExecutor

    /// For the runtime: ``executor``, which lives as long as the actor.
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
    var operations = OperationTable<Origin>()
    /// What the store said when it last failed.
    var storeError: StoreError?

    var observers = Subscribers<State>()
    var windows: [WindowSubscriber<Lists>] = []
    let mutations = MutationSubscribers<Change>()
    /// The sleep until freshness changes by itself.
    var alarm: (operation: OperationID, at: Moment)?
    /// Raised by windows that nobody looks through any more, and heard while `run()` goes on.
    nonisolated let departing = Departures()
    var departures: OperationID?

    /// A machine that does nothing until ``run(inForeground:)``. May be called from anywhere; nothing
    /// is read yet. One account may have several, side by side.
    ///
    /// - Parameters:
    ///   - source: the way to the server; the machine is its only user.
    ///   - store: where the replica outlives the process, for this machine alone.
    ///   - acknowledges: whether the server is told of a finger before or after that is saved.
    ///   - settings: the machine's numbers; right as they are for most.
    ///   - clock: where moments and the wall's time come from.
    ///   - chance: draws waits and the life's number.
    ///   - executor: runs the actor's jobs; must run them one after the other.
    ///   - reporter: hears what the app's log should hear; `nil`: nobody does.
    ///   - tap: hears every input; `nil`: nobody does.
    public init(
      source: Origin, store: any Store, acknowledges: Acknowledgement = .afterSaving,
      settings: MachineSettings = MachineSettings(), clock: any DriverClock = SystemClock(),
      chance: any Chance = SystemChance(),
      executor: any SerialExecutor = SerialQueueExecutor(), reporter: Reporter? = nil,
      tap: Tap? = nil
    ) where Model: StorableModel, Place: Storable {
      self.init(
        source: source, replicas: RowStore(store), acknowledges: acknowledges,
        settings: settings, clock: clock, chance: chance, executor: executor,
        reporter: reporter, tap: tap)
    }

    /// The same without a store: what it holds goes with the process, as is right for presence and
    /// typing, which are worth nothing after a restart.
    public init(
      source: Origin, settings: MachineSettings = MachineSettings(),
      clock: any DriverClock = SystemClock(), chance: any Chance = SystemChance(),
      executor: any SerialExecutor = SerialQueueExecutor(), reporter: Reporter? = nil,
      tap: Tap? = nil
    ) {
      self.init(
        source: source, replicas: nil, settings: settings, clock: clock, chance: chance,
        executor: executor, reporter: reporter, tap: tap)
    }

    /// The same with a store of whole replicas, as values.
    package init(
      source: Origin, replicas store: (any ReplicaStore<Model, Place>)?,
      acknowledges acknowledgement: Acknowledgement = .afterSaving,
      settings: MachineSettings = MachineSettings(), clock: any DriverClock = SystemClock(),
      chance: any Chance = SystemChance(), executor: any SerialExecutor = SerialQueueExecutor(),
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
      numbers.pages = source.pageSettings
      numbers.hasStore = store != nil
      numbers.acknowledges = acknowledgement
      client = Client(life: chance.newLife(), settings: numbers)
    }

    deinit {
      observers.finish()
      for window in windows { window.subscribers.finish() }
    }

    // MARK: Running

    /// Reads the saved form, if that has not been read, and follows the server until ``stop()``,
    /// ``logOut()`` or the cancellation of the surrounding task, which means `stop()`. Failures never
    /// end it, and it never throws. When it returns nothing is going on: it waits for calls of the
    /// source and the store that are out, all but writes cancelled.
    ///
    /// It may then be called again, and goes on from the finger it has. Called after one of these
    /// ends, but before the old run has returned, it waits for that, and then begins; not if another
    /// `stop()` or `logOut()` comes meanwhile. Called while another runs that nobody ended, it is a
    /// programmer's mistake, and traps.
    ///
    /// A `stop()` that comes before the run does not concern it. Call it from a task that lives as
    /// long as the app follows: SwiftUI's `.task`, a service's `run`.
    ///
    /// - Parameter inForeground: whether the app is in front of its user. A server process is.
    public func run(inForeground: Bool = true) async {
      let endings = operations.endings
      var inForeground = inForeground
      if operations.endsSoon {
        // Said at once: the user may leave, or come back, before it is this run's turn.
        feed(.app(inForeground ? .foregrounded : .backgrounded))
        while operations.endsSoon { await waitForOver() }
        inForeground = client.machine.isInForeground
      }
      guard operations.endings == endings, !Task.isCancelled else { return }
      let foreground = inForeground
      await serve { $0.feed(.app(.started(foreground: foreground))) }
    }

    /// Ends `run()`, and a `run()` that waits for it. Nothing is released or erased: the next start
    /// goes on from here. The state is *stopped* when this returns, and nothing is asked of the
    /// server any more; what was asked has no effect. `run()` itself returns a little later: when
    /// the write under way, if there is one, and the calls that were cancelled have ended.
    ///
    /// Never throws; stopping what does not run is right, too.
    public func stop() {
      operations.noteEnding()
      stopServing()
    }

    /// The account goes: the model is dropped at once, the saved form erased, after the write under
    /// way if there is one, and the server's log released, for which it may take ``releaseTime``.
    /// Returns when all that is done and `run()`, if it was going on, has nothing more to do. May be
    /// called without `run()`: then it reads the saved form first, to know what to release.
    ///
    /// Throws the store's error if the saved form could not be erased: the model is gone all the
    /// same, what is saved is not. It may then be called again. That a log was not released is not
    /// an error; the server forgets it in time. If the surrounding task is cancelled, the release is
    /// given up, and the store is asked all the same.
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

    // MARK: What the app says

    /// The app is in front of its user again. iOS: `sceneWillEnterForeground`; macOS:
    /// `applicationDidBecomeActive`; a server process never says it.
    public func enterForeground() { feed(.app(.foregrounded)) }

    /// The user has left. iOS: `sceneDidEnterBackground`, after whatever grace the app gives; macOS:
    /// when no window is visible, or never. That the process is suspended need not be said: it shows
    /// in the clock.
    public func enterBackground() { feed(.app(.backgrounded)) }

    /// The device has another network, or one again (`NWPathMonitor`).
    public func networkChanged() { feed(.app(.networkChanged)) }

    /// The source now has other credentials of the *same* user. Another user is another machine.
    public func credentialsChanged() { feed(.app(.credentialsChanged)) }

    /// The user asked to try now.
    public func retryNow() { feed(.app(.retryRequested)) }

    // MARK: What the app sees

    /// The present state; its freshness is as of now, by the driver's clock. O(1), but for the copy
    /// of a model that is not copied on write.
    public var state: State {
      let now = clock.now
      return State(
        holding: client.holding, local: client.local,
        status: client.isLoaded ? client.status : nil, freshness: client.freshness(at: now),
        at: now)
    }

    /// Reads several things of one state, with nothing in between. `body` runs on the actor, at
    /// once; must not block.
    public func read<Value: Sendable>(_ body: (State) -> Value) -> Value { body(state) }

    /// The present state and then the newest, whenever the reader asks for one. Subscribed when the
    /// call returns: nothing that comes later is missed. Each call gives a sequence of its own, for
    /// one reader, whose place is given up when the sequence is dropped or its task cancelled. Holds
    /// the machine neither here nor there: the sequence ends when that goes.
    public func states() -> ReplicaStates<Model> {
      let states = ReplicaStates<Model>(stream: observers.add(state))
      setAlarm()
      return states
    }

    // MARK: Inputs

    /// Gives one input to the client, performs what comes of it, and tells those who look.
    func feed(_ input: Client.Input) {
      let now = clock.now
      perform(input, client.handle(input, at: now), at: now)
    }

    /// Performs what came of an input, or of what the app did (`nil`), and tells those who look.
    func perform(_ input: Client.Input?, _ effects: Client.Effects, at now: Moment) {
      tap?(input, effects, client, now)
      assert(client.violation() == nil, "\(client.violation()!)")
      perform(effects)
      if case .app(.loggedOut) = input { mutations.endAll() }
      tell(effects)
    }
  }

#endif
