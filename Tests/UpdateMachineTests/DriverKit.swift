import Foundation
import TestSupport
import Testing

@testable import UpdateMachine

// What the tests of the driver use: an executor that is stepped by hand, a clock that is moved by
// hand, and a source and a store that are answered by hand. Nothing runs by itself, so nothing here
// sleeps, and every test runs the same way every time.

/// Runs the jobs of actors and tasks when a test says so, on the test's own thread. It runs the
/// oldest ready job first or, with a seed, a random one.
final class StepExecutor: SerialExecutor, TaskExecutor, Sendable {
  private let ready = Locked<[UnownedJob]>([])
  private let order: Locked<SplitMix>?

  init(seed: UInt64? = nil) { order = seed.map { Locked(SplitMix($0)) } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.append(job) }
  }

  /// Runs one ready job. Returns `false` if there is none.
  @discardableResult
  func step() -> Bool {
    let next = ready.withLock { ready -> UnownedJob? in
      if ready.isEmpty { return nil }
      return ready.remove(at: order?.withLock { $0.below(ready.count) } ?? 0)
    }
    guard let job = next else { return false }
    unsafe job.runSynchronously(
      isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    return true
  }

  /// Runs until no job is ready.
  func drain() {
    var count = 0
    while step() {
      count += 1
      precondition(count < 1_000_000, "the jobs never end")
    }
  }
}

/// A value behind a lock. It is not a `Mutex`, because the thread sanitizer does not understand how
/// a contended `Mutex` waits, and then reports races that do not exist.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }
}

/// A value that both tests and the tasks they start use.
final class Box<Value: Sendable>: Sendable {
  private let content: Locked<Value>

  init(_ value: Value) { content = Locked(value) }

  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }

  func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    content.withLock { value in body(&value) }
  }
}

/// Tasks that wait to be told something, each under a number. A task that is cancelled before it
/// waits, while it waits, or after it was told, is released at most once.
final class Waiters<Answer: Sendable>: Sendable {
  private struct State {
    var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
    var letGo: [Int: Answer] = [:]
  }
  private let state = Locked(State())

  var count: Int { state.withLock { $0.waiting.count } }

  /// Waits to be told. `letGoWith` is what a cancelled task is told; with `nil`, cancelling changes
  /// nothing.
  func wait(
    for number: Int, letGoWith early: Answer?, onCancel note: @escaping @Sendable () -> Void = {}
  ) async -> Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let told = state.withLock { state in
          if let told = state.letGo.removeValue(forKey: number) { return told as Answer? }
          state.waiting[number] = continuation
          return nil
        }
        if let told { continuation.resume(returning: told) }
      }
    } onCancel: {
      note()
      guard let early else { return }
      if !tell(number, early) { state.withLock { $0.letGo[number] = early } }
    }
  }

  /// Tells the task with this number. Returns `false` if no such task waits.
  @discardableResult
  func tell(_ number: Int, _ answer: Answer) -> Bool {
    let waiting = state.withLock { $0.waiting.removeValue(forKey: number) }
    waiting?.resume(returning: answer)
    return waiting != nil
  }
}

/// A clock that stands still until a test moves it.
final class HandClock: DriverClock {
  private struct State {
    var now = Moment.ms(0)
    var wall = WallTime(milliseconds: 1_000_000)
    var count = 0
    var sleepers: [Int: Moment] = [:]
  }
  private let state = Locked(State())
  private let waiters = Waiters<Bool>()

  var now: Moment { state.withLock { $0.now } }
  var wallTime: WallTime {
    get { state.withLock { $0.wall } }
    set { state.withLock { $0.wall = newValue } }
  }

  /// The moments at which sleepers must be woken, earliest first.
  var alarms: [Moment] { state.withLock { $0.sleepers.values.sorted() } }

  func sleep(until moment: Moment) async throws(CancellationError) {
    let number: Int? = state.withLock { state in
      guard moment > state.now else { return nil }
      state.count += 1
      state.sleepers[state.count] = moment
      return state.count
    }
    guard let number else { return }
    let isOver = await waiters.wait(for: number, letGoWith: false)
    _ = state.withLock { $0.sleepers.removeValue(forKey: number) }
    if !isOver { throw CancellationError() }
  }

  /// Moves on to the next sleeper's moment and wakes the sleeper. If nobody sleeps until `end` or
  /// earlier, moves on to `end` and returns `false`.
  func advance(towards end: Moment) -> Bool {
    let next = state.withLock { state in
      let next = state.sleepers.filter { $0.value <= end }
        .min { ($0.value, $0.key) < ($1.value, $1.key) }
      let moment = max(state.now, next?.value ?? end)
      state.wall = (Moment(milliseconds: state.wall.milliseconds) + (moment - state.now)).wall
      state.now = moment
      if let next { state.sleepers[next.key] = nil }
      return next
    }
    guard let next else { return false }
    waiters.tell(next.key, true)
    return true
  }
}

extension Moment {
  /// The time of a wall clock that shows as many milliseconds.
  fileprivate var wall: WallTime { WallTime(milliseconds: milliseconds) }
}

/// Draws the end of every range, and counts incarnations from 1.
final class FixedChance: Chance {
  private let lives = Box<UInt64>(0)

  func newSeed() -> UInt64 { 1 }

  func draw(from range: MomentRange) -> Moment { range.latest }

  func newIncarnation() -> Incarnation {
    lives.change { count in
      count += 1
      return Incarnation(count)
    }
  }
}

/// A source that answers what a test says, when the test says so.
final class ScriptedSource: SyncSource {
  typealias Model = Ledger
  typealias Sync = LedgerSync

  enum Ask: Equatable, Sendable, CustomStringConvertible {
    case register
    case poll(Spot, waits: Bool)
    case release(String)

    var description: String {
      switch self {
      case .register: "register"
      case .poll(let spot, let waits): waits ? "poll \(spot)" : "poll \(spot), quick"
      case .release(let log): "release \(log)"
      }
    }
  }

  enum Answer: Sendable {
    case snapshot([Int], Spot, ServerTerms)
    case batch(LedgerBatch)
    case failure(SyncFailure)
    case done
  }

  typealias Call = ScriptedCalls<Ask, Answer>.Call
  private let calls: ScriptedCalls<Ask, Answer>

  /// - Parameter endsWhenCancelled: whether a call ends when its task is cancelled. It then fails
  ///   with what a careless adapter makes of that, which is the worst that the machine can hear. If
  ///   `false`, it ends only when the test answers it.
  init(endsWhenCancelled: Bool = true) {
    calls = ScriptedCalls(whenCancelled: endsWhenCancelled ? .failure(.malformed) : nil)
  }

  /// Everything that was asked so far, in order.
  var asked: [String] { calls.all.map(\.ask.description) }

  /// The calls that have not ended yet.
  var open: [Call] { calls.open }

  func register(
    as client: ClientID
  ) async throws(SyncFailure) -> Registered<[Int], Spot> {
    switch await calls.call(.register) {
    case .snapshot(let entries, let spot, let terms):
      return Registered(snapshot: entries, finger: spot, terms: terms)
    case .failure(let failure): throw failure
    case .batch, .done: throw .malformed
    }
  }

  func poll(after finger: Spot, waits: Bool) async throws(SyncFailure) -> LedgerBatch {
    switch await calls.call(.poll(finger, waits: waits)) {
    case .batch(let batch): return batch
    case .failure(let failure): throw failure
    case .snapshot, .done: throw .malformed
    }
  }

  func release(_ log: String) async { _ = await calls.call(.release(log)) }

  /// Answers a call. A second answer to the same call reaches nobody.
  func answer(_ number: Int, _ answer: Answer) { calls.answer(number, answer) }

  /// Answers the newest open call.
  func answer(_ answer: Answer) {
    guard let call = open.last else {
      Issue.record("no call is open")
      return
    }
    self.answer(call.number, answer)
  }

  func snapshot(_ entries: [Int], _ spot: Spot, terms: ServerTerms = testTerms) {
    answer(.snapshot(entries, spot, terms))
  }

  func batch(from first: Int, _ events: [Int?]) {
    answer(.batch(LedgerBatch(first: first, events: events)))
  }

  func fail(_ failure: SyncFailure) { answer(.failure(failure)) }
}

/// A store that does what a test says, when it says so.
final class ScriptedStore: ReplicaStore {
  typealias Model = Ledger
  typealias Place = Spot

  private struct State {
    var stored: DatedReplica<Ledger, Spot>?
    var notes: [String] = []
    var begun: [(number: Int, note: String)] = []
    var count = 0
    var isSlow = false
    var failure: StoreError?
    var heedsCancellation = false
  }
  private let state = Locked(State())
  private let waiters = Waiters<Bool>()

  init(_ stored: SavedReplica<Ledger, Spot>? = nil, writtenAt: Int64 = 940_000) {
    guard let stored else { return }
    state.withLock {
      $0.stored = DatedReplica(
        replica: stored, writtenAt: WallTime(milliseconds: writtenAt))
    }
  }

  /// What is saved, like "[1] a:7".
  var content: String {
    state.withLock { state in
      state.stored.map { "\($0.replica.model.entries) \(fingerText($0.replica.finger))" }
        ?? "nothing"
    }
  }

  /// What was done, in the order in which it ended.
  var done: [String] { state.withLock { $0.notes } }

  /// What was begun and has not ended.
  var open: [String] { state.withLock { $0.begun.map(\.note) } }

  /// Whether operations wait for ``finish()``.
  var isSlow: Bool {
    get { state.withLock { $0.isSlow } }
    set { state.withLock { $0.isSlow = newValue } }
  }

  /// The error with which every operation ends, if any.
  var failure: StoreError? {
    get { state.withLock { $0.failure } }
    set { state.withLock { $0.failure = newValue } }
  }

  /// Whether a waiting operation fails when its task is cancelled.
  var heedsCancellation: Bool {
    get { state.withLock { $0.heedsCancellation } }
    set { state.withLock { $0.heedsCancellation = newValue } }
  }

  /// Ends the oldest waiting operation.
  func finish() {
    guard let number = state.withLock({ $0.begun.first?.number }) else {
      Issue.record("no operation was begun")
      return
    }
    waiters.tell(number, true)
  }

  func loadChanges() async throws(StoreError) -> SavedChanges<Never>? { nil }

  func read(_ queries: [RowQuery]) async throws(StoreError) -> [RowAnswer] {
    throw .failed("nothing was left unloaded")
  }

  func load() async throws(StoreError) -> DatedReplica<Ledger, Spot>? {
    try await perform("load")
    return state.withLock { $0.stored }
  }

  func save(_ replica: DatedReplica<Ledger, Spot>) async throws(StoreError) {
    try await perform("save \(fingerText(replica.replica.finger))")
    state.withLock { $0.stored = replica }
  }

  func erase() async throws(StoreError) {
    try await perform("erase")
    state.withLock { $0.stored = nil }
  }

  private func perform(_ note: String) async throws(StoreError) {
    let (number, isSlow) = state.withLock { state in
      state.count += 1
      #expect(state.begun.isEmpty, "the store does one operation at a time")
      state.begun.append((state.count, note))
      return (state.count, state.isSlow)
    }
    var isDone = true
    if isSlow {
      isDone = await waiters.wait(for: number, letGoWith: heedsCancellation ? false : nil)
    }
    let failure = state.withLock { state in
      state.begun.removeAll { $0.number == number }
      let failure = isDone ? state.failure : StoreError.failed("given up")
      state.notes.append(failure == nil ? note : "\(note) failed")
      return failure
    }
    if let failure { throw failure }
  }
}

typealias LedgerDriver = UpdateMachine<ScriptedSource>
typealias LedgerState = ReplicaState<Ledger>

/// A finger as text, for the list of what was done.
func fingerText(_ finger: Spot?) -> String { finger.map { "\($0)" } ?? "no finger" }
