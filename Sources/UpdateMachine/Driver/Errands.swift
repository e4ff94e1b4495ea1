#if !hasFeature(Embedded)

  internal import Synchronization

  /// Names one errand of one driver.
  struct ErrandID: Hashable, Sendable {
    var number: UInt64
  }

  /// Something to do that takes time: a child task of `run()`.
  enum Errand<Place: Finger, Model: SyncModel>: Sendable {
    case register(RequestID)
    case poll(RequestID, after: Place, waits: Bool)
    case timer(TimerID, at: Moment)
    case alarm(Moment)
    case release(Place.Log)
    case load
    /// The saved form could not be read, and is to be at that moment.
    case reload(at: Moment)
    case save(SaveErrand<Model, Place>)
    /// Reads rows of the store that sleep.
    case read([RowQuery], ReadEnd)
    case erase
    /// Asks for a page; only a source with pages has any, so it brings along how to ask.
    case page(FetchID, @Sendable (Errands<Place, Model>.Job) async -> Void)
    /// The planner's timer: its and the machine's are counted apart.
    case pageTimer(TimerID, at: Moment)
    /// Sends mutations; only a source of mutations has any, so it brings along how.
    case push(PushID, @Sendable (Errands<Place, Model>.Job) async -> Void)
    case localTimer(LocalTimer, at: Moment)
    /// Hears of windows that nobody looks through any more.
    case doorbell(AsyncStream<Void>)
  }

  /// Who waits for rows that are read.
  enum ReadEnd: Sendable {
    /// Told whether they are awake; not, if the reading was cut short.
    case waits(CheckedContinuation<Bool, Never>)
    /// Those who look through windows.
    case windows
  }

  /// What to save, and who wants to hear of it.
  struct SaveErrand<Model: SyncModel, Place: Finger>: Sendable {
    /// The machine's write; `nil`: it has asked for none.
    var write: WriteID?
    var saved: SavedReplica<Model, Place>
    /// The outbox in it; `nil`: there is none.
    var outbox: OutboxMark?
  }

  /// Says which outbox it is that is saved, and as of which version.
  struct OutboxMark: Hashable, Sendable {
    var client: ClientID
    var version: OutboxVersion
  }

  /// A word that is said once: something is wanted no more. Said anywhere, and heard anywhere at
  /// once, so that nothing is begun that was given up before.
  final class GivenUp: Sendable {
    private let isSaid = Atomic(false)

    func say() { isSaid.store(true, ordering: .releasing) }

    var wasSaid: Bool { isSaid.load(ordering: .acquiring) }
  }

  extension Errand {
    /// A save in place of this one; `nil`: this is none.
    fileprivate func merged(with newer: SaveErrand<Model, Place>) -> Errand? {
      guard case .save(let older) = self else { return nil }
      var newer = newer
      newer.write = newer.write ?? older.write  // The machine never has two out.
      return .save(newer)
    }
  }

  /// The driver's table of what is going on: which errands wait to be begun, which are out, and who
  /// waits for the end of each. Belongs to the actor.
  struct Errands<Place: Finger, Model: SyncModel>: Sendable {
    /// An errand that may begin.
    struct Job: Sendable {
      var id: ErrandID
      var errand: Errand<Place, Model>
      /// Set when the errand is over, or wanted no more.
      var givenUp: GivenUp
    }

    /// What `run()`, while it is going on, is told of the cancellation of its task.
    private var serving: GivenUp?
    /// It shall end, and has not yet.
    private(set) var isEnding = false
    /// Counts the times that somebody called for an end: a `run()` that waits for its turn and sees
    /// it grow does not begin.
    private(set) var endings: UInt64 = 0
    /// Why the saved form could not be erased.
    private var eraseError: StoreError?
    private var count: UInt64 = 0
    private var waiting: [Job] = []
    private var out: [Out] = []
    /// `run()`, when it has nothing to begin.
    private var loop: CheckedContinuation<Void, Never>?
    /// Those who wait for `run()` to end.
    private var whenOver: [CheckedContinuation<StoreError?, Never>] = []

    /// The store is asked one thing at a time.
    private var storeQueue: [Errand<Place, Model>] = []
    private var isStoreBusy = false

    /// One errand that was added and is not over. There are never more than a handful.
    private struct Out: Sendable {
      var id: ErrandID
      var request: RequestID?
      var timer: TimerID?
      var fetch: FetchID?
      var pageTimer: TimerID?
      var push: PushID?
      var localTimer: LocalTimer?
      /// Over, or wanted no more.
      var givenUp = GivenUp()
      /// The errand's task, which waits to be told that it is over.
      var end: CheckedContinuation<Void, Never>?
    }

    /// `run()` is going on.
    var isServing: Bool { serving != nil }

    /// - Parameter cancelled: told of the cancellation of the task that serves.
    mutating func begin(_ cancelled: GivenUp) {
      precondition(!isServing, "run() is running already: one machine has one loop")
      serving = cancelled
      isEnding = false
      eraseError = nil
    }

    /// Returns why the saved form could not be erased, as it tells those who wait.
    mutating func finish() -> StoreError? {
      serving = nil
      isEnding = false
      let waiting = whenOver
      whenOver = []
      for continuation in waiting { continuation.resume(returning: eraseError) }
      return eraseError
    }

    /// `run()` takes new errands.
    var isOpen: Bool { isServing && !isEnding }

    /// `run()` is going on, and is bound to end: it was told to, or its task was cancelled.
    var endsSoon: Bool { serving.map { isEnding || $0.wasSaid } ?? false }

    mutating func waitForOver(_ continuation: CheckedContinuation<StoreError?, Never>) {
      guard isServing else { return continuation.resume(returning: nil) }
      whenOver.append(continuation)
    }

    mutating func noteEnding() { endings += 1 }

    /// `run()` shall return as soon as nothing is going on any more.
    mutating func end() {
      guard isServing else { return }
      isEnding = true
      wakeLoop()
    }

    mutating func eraseEnded(_ error: StoreError?) { eraseError = error }

    // MARK: Adding

    @discardableResult
    mutating func add(_ errand: Errand<Place, Model>) -> ErrandID {
      count += 1
      let id = ErrandID(number: count)
      var entry = Out(id: id)
      switch errand {
      case .register(let request), .poll(let request, _, _): entry.request = request
      case .timer(let timer, _): entry.timer = timer
      case .page(let fetch, _): entry.fetch = fetch
      case .pageTimer(let timer, _): entry.pageTimer = timer
      case .push(let push, _): entry.push = push
      case .localTimer(let timer, _): entry.localTimer = timer
      case .alarm, .release, .load, .reload, .save, .read, .erase, .doorbell: break
      }
      out.append(entry)
      waiting.append(Job(id: id, errand: errand, givenUp: entry.givenUp))
      wakeLoop()
      return id
    }

    /// Something for the store, after everything that it was asked before.
    mutating func addForStore(_ errand: Errand<Place, Model>) {
      guard !isStoreBusy else { return storeQueue.append(errand) }
      isStoreBusy = true
      add(errand)
    }

    /// Saves a replica, after everything that the store was asked before. If the last of that is a
    /// save that has not begun, this newer one takes its place, and both are told of its end.
    mutating func save(_ errand: SaveErrand<Model, Place>) {
      if let index = storeQueue.indices.last {
        if let merged = storeQueue[index].merged(with: errand) {
          storeQueue[index] = merged
          return
        }
      } else {
        for index in waiting.indices {
          guard let merged = waiting[index].errand.merged(with: errand) else { continue }
          waiting[index].errand = merged
          return
        }
      }
      addForStore(.save(errand))
    }

    mutating func storeIsDone() {
      isStoreBusy = false
      if !storeQueue.isEmpty { addForStore(storeQueue.removeFirst()) }
    }

    // MARK: Ending

    mutating func cancel(_ request: RequestID) { cancel(where: { $0.request == request }) }

    mutating func cancel(_ timer: TimerID) { cancel(where: { $0.timer == timer }) }

    mutating func cancel(_ fetch: FetchID) { cancel(where: { $0.fetch == fetch }) }

    mutating func cancel(pageTimer: TimerID) { cancel(where: { $0.pageTimer == pageTimer }) }

    mutating func cancel(_ push: PushID) { cancel(where: { $0.push == push }) }

    mutating func cancel(_ timer: LocalTimer) { cancel(where: { $0.localTimer == timer }) }

    /// Everything of what is pending.
    mutating func cancelLocal() {
      for errand in out where errand.push != nil || errand.localTimer != nil { cancel(errand.id) }
    }

    mutating func cancel(_ errand: ErrandID) { cancel(where: { $0.id == errand }) }

    private mutating func cancel(where matches: (Out) -> Bool) {
      guard let index = out.firstIndex(where: matches) else { return }
      out[index].givenUp.say()
      let end = out[index].end
      out[index].end = nil
      end?.resume()
    }

    /// Whether an errand is over, or wanted no more.
    func isGivenUp(_ id: ErrandID) -> Bool {
      out.first { $0.id == id }?.givenUp.wasSaid ?? true
    }

    /// The errand's task waits here for its end; told at once if that has come.
    mutating func wait(for id: ErrandID, _ end: CheckedContinuation<Void, Never>) {
      guard let index = out.firstIndex(where: { $0.id == id }), !out[index].givenUp.wasSaid else {
        return end.resume()
      }
      out[index].end = end
    }

    /// An errand's work is done: its task may end.
    mutating func complete(_ id: ErrandID) { cancel(id) }

    /// An errand's task has ended.
    mutating func remove(_ id: ErrandID) {
      out.removeAll { $0.id == id }
      if isEnding { wakeLoop() }
    }

    // MARK: The loop

    /// The next errand to begin, if one waits. What was given up before it began never does.
    mutating func takeNext() -> Job? {
      while !waiting.isEmpty {
        let job = waiting.removeFirst()
        if !job.givenUp.wasSaid { return job }
        out.removeAll { $0.id == job.id }
      }
      return nil
    }

    /// Nothing is going on, waits to, or waits for the end of something.
    var isIdle: Bool {
      !isServing && out.isEmpty && waiting.isEmpty && storeQueue.isEmpty && !isStoreBusy
        && loop == nil && whenOver.isEmpty
    }

    /// Nothing is going on, and nothing shall.
    var isOver: Bool { isEnding && out.isEmpty && waiting.isEmpty }

    mutating func wait(_ loop: CheckedContinuation<Void, Never>) { self.loop = loop }

    private mutating func wakeLoop() {
      let waiting = loop
      loop = nil
      waiting?.resume()
    }
  }

#endif
