#if !hasFeature(Embedded)

  /// Keeps an app's model level with a server, and says how fresh it is.
  ///
  ///     let machine = UpdateMachine(source: source, store: store)
  ///     async let following: Void = machine.run()
  ///     for await state in await machine.states() { show(state.model, state.freshness) }
  ///
  /// It owns one ``Replica`` and performs its effects; all decisions are made there. Every method
  /// feeds one input, with no `await` between reading the replica and storing it back. Any method
  /// may be called from anywhere, at any time, before, during and after ``run(inForeground:)``.
  ///
  /// Everything that it does runs in child tasks of `run()`: when that has returned, nothing is
  /// going on. It holds nobody who holds it, so it goes when its last user goes.
  public actor UpdateMachine<Origin: Source> {
    public typealias Model = Origin.Model
    public typealias Place = Origin.Sync.Place
    public typealias State = ReplicaState<Model>
    public typealias Inputs = Replica<Model, Origin.Sync>.Input
    /// Hears of every input after it was taken, before its effects are performed: for logs and
    /// tests. Called on the actor; must not block.
    public typealias Tap =
      @Sendable (Inputs, Machine<Place>.Effects, Replica<Model, Origin.Sync>, Moment) -> Void

    /// Hears what the app's log should hear. Called on the actor; must not block.
    public typealias Reporter = @Sendable (DriverReport) -> Void

    /// How long a log-out may try to release the server's log.
    public static var releaseTime: TimeSpan { .seconds(5) }

    public nonisolated let executor: any SerialExecutor

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    nonisolated let source: Origin
    nonisolated let store: (any Store<Model, Place>)?
    nonisolated let clock: any DriverClock
    nonisolated let chance: any Chance
    let tap: Tap?
    let reporter: Reporter?

    var replica: Replica<Model, Origin.Sync>
    /// Inputs that came while one was being taken, as a store that answers at once makes them.
    var inbox: [Inputs] = []
    var isFeeding = false

    var errands = Errands<Place, Model>()
    var observers = Observers<Model>()
    /// What the store said when it last failed to save.
    var saveError: StoreError?
    /// The sleep until freshness changes by itself.
    var alarm: (errand: ErrandID, at: Moment)?

    /// - Parameters:
    ///   - store: where the replica outlives the process; `nil`: nowhere, as is right for presence
    ///     and typing, which are worth nothing after a restart.
    ///   - executor: runs the actor's jobs; must run them one after the other.
    public init(
      source: Origin, store: (any Store<Model, Place>)? = nil,
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
      replica = Replica(life: chance.newLife(), settings: settings)
    }

    deinit { observers.finish() }

    // MARK: Running

    /// Follows the server until ``stop()``, ``logOut()`` or the cancellation of the surrounding
    /// task, which means `stop()`. Then it may be called again, and goes on from the finger it has.
    /// Failures never end it. Calling it while it runs is a programmer's mistake, and traps.
    ///
    /// - Parameter inForeground: whether the app is in front of its user. A server process is.
    public func run(inForeground: Bool = true) async {
      let endings = errands.endings
      while errands.endsSoon { await waitForOver() }
      guard errands.endings == endings, !Task.isCancelled else { return }
      await serve { $0.feed(.started(foreground: inForeground)) }
    }

    /// Ends `run()`. Nothing is released or erased: the next start goes on from here.
    public func stop() {
      errands.noteEnding()
      stopServing()
    }

    /// The account goes: the model is dropped, the saved form erased, and the server's log released,
    /// for which it may take ``releaseTime``. Returns when all that is done and `run()`, if it was
    /// going on, has nothing more to do.
    ///
    /// Throws if the saved form could not be erased; it may then be called again.
    public func logOut() async throws(StoreError) {
      errands.noteEnding()
      let error: StoreError?
      if errands.isServing {
        feed(.loggedOut)
        endServing()
        error = await waitForOver()
      } else {
        error = await serve {
          $0.feed(.loggedOut)
          $0.endServing()
        }
      }
      if let error { throw error }
    }

    // MARK: What the app says

    /// The app is in front of its user again. iOS: `sceneWillEnterForeground`; macOS:
    /// `applicationDidBecomeActive`; a server process never says it.
    public func enterForeground() { feed(.foregrounded) }

    /// The user has left. iOS: `sceneDidEnterBackground`, after whatever grace the app gives; macOS:
    /// when no window is visible, or never. That the process is suspended need not be said: it shows
    /// in the clock.
    public func enterBackground() { feed(.backgrounded) }

    /// The device has another network, or one again (`NWPathMonitor`).
    public func networkChanged() { feed(.networkChanged) }

    /// The source now has other credentials of the *same* user. Another user is another machine.
    public func credentialsChanged() { feed(.credentialsChanged) }

    /// The user asked to try now.
    public func retryNow() { feed(.retryRequested) }

    // MARK: What the app sees

    /// The present state.
    public var state: State {
      let now = clock.now
      return State(
        holding: replica.holding, status: replica.isLoaded ? replica.status : nil,
        freshness: replica.freshness(at: now), at: now)
    }

    /// Reads several things of one state, with nothing in between.
    public func read<Value: Sendable>(_ body: (State) -> Value) -> Value { body(state) }

    /// The present state and every newer one. Subscribed when the call returns. Each call gives a
    /// sequence of its own.
    public func states() -> ReplicaStates<Model> {
      let states = observers.add(state)
      setAlarm()
      return states
    }

    // MARK: Inputs

    /// Gives one input to the replica and performs what comes of it.
    func feed(_ input: Inputs) {
      inbox.append(input)
      guard !isFeeding else { return }
      isFeeding = true
      while !inbox.isEmpty {
        let input = inbox.removeFirst()
        let now = clock.now
        let effects = replica.handle(input, at: now)
        tap?(input, effects, replica, now)
        assert(replica.violation() == nil, "\(replica.violation()!)")
        perform(effects)
      }
      isFeeding = false
      publish()
    }
  }

#endif
