#if !hasFeature(Embedded)

  internal import Synchronization

  /// The name of one operation of one driver.
  struct OperationID: Hashable, Sendable {
    var number: UInt64
  }

  /// Work that takes time: a child task of `run()`.
  enum Operation<Origin: SyncSource>: Sendable {
    typealias Place = Origin.Sync.Place
    typealias Lists = Origin.Model.Lists

    case register(RequestID, as: ClientID)
    case poll(RequestID, after: Place, waits: Bool)
    case push(
      PushRequest<Origin.Model.Change>, at: Place?, over: Origin.Model.Change.State?)
    case fetch(RequestID, PageRequest<Lists.Narrow, Lists.ID>)
    case release(Place.Log)
    case load
    /// Dated when it was asked for: what is made while nothing runs is written at the next start,
    /// and the form says how old it was then.
    case save(WriteID, DatedReplica<Origin.Model, Place>)
    case read(RequestID, [RowQuery])
    case erase
    case timer(TimerID, at: Moment)
    /// Sleeps until freshness changes by itself.
    case alarm(Moment)
    /// Waits for windows that have lost their reader.
    case departures(AsyncStream<Void>)

    /// The request that it carries out, if it can be cancelled by ID.
    var request: RequestID? {
      switch self {
      case .register(let id, _), .poll(let id, _, _), .fetch(let id, _), .read(let id, _): id
      case .push(let push, _, _): push.id
      case .release, .load, .save, .erase, .timer, .alarm, .departures: nil
      }
    }

    var timer: TimerID? {
      if case .timer(let id, _) = self { id } else { nil }
    }
  }

  /// A thread-safe, one-way cancellation flag.
  final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    func set() { flag.store(true, ordering: .releasing) }

    var isSet: Bool { flag.load(ordering: .acquiring) }
  }

  /// The driver's table of operations: which wait to begin, which are out, and which continuations
  /// wait for their ends. Belongs to the actor.
  struct OperationTable<Origin: SyncSource>: Sendable {
    /// An operation that may begin.
    struct Job: Sendable {
      var id: OperationID
      var operation: Operation<Origin>
      /// Set when the operation is over, or no longer wanted.
      var cancelled: CancellationFlag
    }

    /// Set when the task of `run()` is cancelled; `nil`: `run()` is not going on.
    private var serving: CancellationFlag?
    /// Whether `run()` was told to end, and has not yet.
    private(set) var isEnding = false
    /// How often an end was asked for. If it grows while a `run()` waits for its turn, that `run()`
    /// does not begin.
    private(set) var endings: UInt64 = 0
    /// Why the saved form could not be erased.
    private var eraseError: StoreError?
    private var count: UInt64 = 0
    private var waiting: [Job] = []
    private var out: [Out] = []
    /// The continuation of `run()` while it has nothing to begin.
    private var loop: CheckedContinuation<Void, Never>?
    /// The continuations that wait for `run()` to end.
    private var whenOver: [CheckedContinuation<StoreError?, Never>] = []

    /// An operation that was added and is not over. There are never more than a handful.
    private struct Out: Sendable {
      var id: OperationID
      var request: RequestID?
      var timer: TimerID?
      /// Set when it is over, or no longer wanted.
      var cancelled = CancellationFlag()
      /// The continuation of its task, which waits for the end of the operation.
      var end: CheckedContinuation<Void, Never>?
    }

    /// Whether `run()` is going on.
    var isServing: Bool { serving != nil }

    /// - Parameter cancelled: set when the serving task is cancelled.
    mutating func begin(_ cancelled: CancellationFlag) {
      precondition(!isServing, "run() is running already: one machine has one loop")
      serving = cancelled
      isEnding = false
      eraseError = nil
    }

    /// Resumes all that wait for the end. Returns, as it tells them, why the saved form was not
    /// erased.
    mutating func finish() -> StoreError? {
      serving = nil
      isEnding = false
      let waiting = whenOver
      whenOver = []
      for continuation in waiting { continuation.resume(returning: eraseError) }
      return eraseError
    }

    /// Whether `run()` takes new operations.
    var isOpen: Bool { isServing && !isEnding }

    /// Whether `run()` is going on but bound to end: it was told to, or its task was cancelled.
    var endsSoon: Bool { serving.map { isEnding || $0.isSet } ?? false }

    mutating func waitForOver(_ continuation: CheckedContinuation<StoreError?, Never>) {
      guard isServing else { return continuation.resume(returning: nil) }
      whenOver.append(continuation)
    }

    mutating func noteEnding() { endings += 1 }

    /// Makes `run()` return as soon as nothing is going on.
    mutating func end() {
      guard isServing else { return }
      isEnding = true
      wakeLoop()
    }

    mutating func eraseEnded(_ error: StoreError?) { eraseError = error }

    // MARK: Adding and ending

    @discardableResult
    mutating func add(_ operation: Operation<Origin>) -> OperationID {
      count += 1
      let entry = Out(
        id: OperationID(number: count), request: operation.request, timer: operation.timer)
      out.append(entry)
      waiting.append(Job(id: entry.id, operation: operation, cancelled: entry.cancelled))
      wakeLoop()
      return entry.id
    }

    mutating func cancel(_ request: RequestID) { cancel(where: { $0.request == request }) }

    mutating func cancel(_ timer: TimerID) { cancel(where: { $0.timer == timer }) }

    mutating func cancel(_ id: OperationID) { cancel(where: { $0.id == id }) }

    private mutating func cancel(where matches: (Out) -> Bool) {
      // An operation that is over keeps its ID until its task has ended.
      guard let index = out.firstIndex(where: { matches($0) && !$0.cancelled.isSet }) else {
        return
      }
      out[index].cancelled.set()
      let end = out[index].end
      out[index].end = nil
      end?.resume()
    }

    /// Whether an operation is over, or no longer wanted.
    func isCancelled(_ id: OperationID) -> Bool {
      out.first { $0.id == id }?.cancelled.isSet ?? true
    }

    /// Suspends the operation's task until the operation ends; resumes at once if it has.
    mutating func wait(for id: OperationID, _ end: CheckedContinuation<Void, Never>) {
      guard let index = out.firstIndex(where: { $0.id == id }), !out[index].cancelled.isSet else {
        return end.resume()
      }
      out[index].end = end
    }

    /// Ends an operation whose work is done: its task may return.
    mutating func complete(_ id: OperationID) { cancel(id) }

    /// Removes an operation whose task has ended.
    mutating func remove(_ id: OperationID) {
      out.removeAll { $0.id == id }
      if isEnding { wakeLoop() }
    }

    // MARK: The loop

    /// Returns the next operation to begin. Drops those that were cancelled before they began.
    mutating func takeNext() -> Job? {
      while !waiting.isEmpty {
        let job = waiting.removeFirst()
        if !job.cancelled.isSet { return job }
        out.removeAll { $0.id == job.id }
      }
      return nil
    }

    /// Whether nothing is going on, waits to begin, or waits for an end.
    var isIdle: Bool {
      !isServing && out.isEmpty && waiting.isEmpty && loop == nil && whenOver.isEmpty
    }

    /// Whether nothing is going on, and nothing will be.
    var isOver: Bool { isEnding && out.isEmpty && waiting.isEmpty }

    mutating func wait(_ loop: CheckedContinuation<Void, Never>) { self.loop = loop }

    private mutating func wakeLoop() {
      let waiting = loop
      loop = nil
      waiting?.resume()
    }
  }

#endif
