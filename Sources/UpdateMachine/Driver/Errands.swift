#if !hasFeature(Embedded)

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
    case save(WriteID, SavedReplica<Model, Place>)
    case erase
  }

  /// The driver's table of what is going on: which errands wait to be begun, which are out, and who
  /// waits for the end of each. Belongs to the actor.
  struct Errands<Place: Finger, Model: SyncModel>: Sendable {
    typealias Job = (id: ErrandID, errand: Errand<Place, Model>)

    /// `run()` is going on.
    private(set) var isServing = false
    /// It shall end, and has not yet.
    private(set) var isEnding = false
    private var count: UInt64 = 0
    private var waiting: [Job] = []
    private var out: [Out] = []
    /// `run()`, when it has nothing to begin.
    private var loop: CheckedContinuation<Void, Never>?
    /// Those who wait for `run()` to end.
    private var whenOver: [CheckedContinuation<Void, Never>] = []

    /// The store is asked one thing at a time.
    private var storeQueue: [Errand<Place, Model>] = []
    private var isStoreBusy = false

    /// One errand that was added and is not over. There are never more than a handful.
    private struct Out: Sendable {
      var id: ErrandID
      var request: RequestID?
      var timer: TimerID?
      /// Wanted no more.
      var isCancelled = false
      /// The errand's task, which waits to be told that it is over.
      var end: CheckedContinuation<Void, Never>?
    }

    mutating func begin() {
      precondition(!isServing, "run() is running already: one machine has one loop")
      isServing = true
      isEnding = false
    }

    mutating func finish() {
      isServing = false
      isEnding = false
      let waiting = whenOver
      whenOver = []
      for continuation in waiting { continuation.resume() }
    }

    /// `run()` takes new errands.
    var isOpen: Bool { isServing && !isEnding }

    mutating func waitForOver(_ continuation: CheckedContinuation<Void, Never>) {
      guard isServing else { return continuation.resume() }
      whenOver.append(continuation)
    }

    /// `run()` shall return as soon as nothing is going on any more.
    mutating func end() {
      guard isServing else { return }
      isEnding = true
      wakeLoop()
    }

    // MARK: Adding

    @discardableResult
    mutating func add(_ errand: Errand<Place, Model>) -> ErrandID {
      count += 1
      let id = ErrandID(number: count)
      var entry = Out(id: id)
      switch errand {
      case .register(let request), .poll(let request, _, _): entry.request = request
      case .timer(let timer, _): entry.timer = timer
      case .alarm, .release, .load, .save, .erase: break
      }
      out.append(entry)
      waiting.append((id, errand))
      wakeLoop()
      return id
    }

    /// Something for the store, after everything that it was asked before.
    mutating func addForStore(_ errand: Errand<Place, Model>) {
      guard !isStoreBusy else { return storeQueue.append(errand) }
      isStoreBusy = true
      add(errand)
    }

    mutating func storeIsDone() {
      isStoreBusy = false
      if !storeQueue.isEmpty { addForStore(storeQueue.removeFirst()) }
    }

    // MARK: Ending

    mutating func cancel(_ request: RequestID) { cancel(where: { $0.request == request }) }

    mutating func cancel(_ timer: TimerID) { cancel(where: { $0.timer == timer }) }

    mutating func cancel(_ errand: ErrandID) { cancel(where: { $0.id == errand }) }

    private mutating func cancel(where matches: (Out) -> Bool) {
      guard let index = out.firstIndex(where: matches) else { return }
      out[index].isCancelled = true
      let end = out[index].end
      out[index].end = nil
      end?.resume()
    }

    /// Whether an errand is wanted no more.
    func isCancelled(_ id: ErrandID) -> Bool { out.first { $0.id == id }?.isCancelled ?? true }

    /// The errand's task waits here for its end; told at once if that has come.
    mutating func wait(for id: ErrandID, _ end: CheckedContinuation<Void, Never>) {
      guard let index = out.firstIndex(where: { $0.id == id }), !out[index].isCancelled else {
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

    /// The next errand to begin, if one waits.
    mutating func takeNext() -> Job? { waiting.isEmpty ? nil : waiting.removeFirst() }

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
