import TestSupport
import Testing

@testable import UpdateMachine

/// One driver on the bench, with everything that it uses.
final class Bench: DriverStand {
  let executor: StepExecutor
  let clock = HandClock()
  let source: ScriptedSource
  let store: ScriptedStore?
  var machine: LedgerDriver!
  /// What the driver has reported to the app's log.
  let reports = Box<[DriverReport]>([])
  /// Every input that the replica has taken, with its effects.
  let inputs = Box<[String]>([])

  static let saved = SavedReplica(
    model: Ledger(entries: [1]), finger: Spot("a", 7), terms: testTerms)

  init(
    store: ScriptedStore? = nil, endsWhenCancelled: Bool = true,
    settings: MachineSettings = MachineSettings(), seed: UInt64? = nil,
    acknowledges: Acknowledgement = .afterSaving
  ) {
    executor = StepExecutor(seed: seed)
    source = ScriptedSource(endsWhenCancelled: endsWhenCancelled)
    self.store = store
    let reports = reports
    let inputs = inputs
    machine = LedgerDriver(
      source: source, replicas: store, acknowledges: acknowledges, settings: settings, clock: clock,
      chance: FixedChance(),
      executor: executor, reporter: { report in reports.change { $0.append(report) } },
      tap: { input, effects, _, now in
        let texts = effects.texts(at: now).joined(separator: ", ")
        inputs.change { $0.append("\(input.map { "\($0)" } ?? "the app acts") → \(texts)") }
      })
  }

  /// A bench whose driver follows from a:7 with a waiting poll out, connected as of 50.
  static func following(endsWhenCancelled: Bool = true, seed: UInt64? = nil) -> (Bench, Started) {
    let bench = Bench(
      store: ScriptedStore(saved), endsWhenCancelled: endsWhenCancelled, seed: seed)
    let run = bench.run()
    bench.drain()
    bench.advance(.milliseconds(50))
    bench.source.batch(from: 8, [])
    bench.drain()
    #expect(bench.source.asked == ["poll a:7, quick", "poll a:7"])
    return (bench, run)
  }

  // MARK: Doing

  func run(foreground: Bool = true) -> Started {
    start { await $0.run(inForeground: foreground) }
  }

  /// Logs out. Returns the task, and the error that it throws.
  func logOut() -> (Started, Box<StoreError?>) {
    let failure = Box<StoreError?>(nil)
    let started = start { machine in
      do throws(StoreError) { try await machine.logOut() } catch { failure.value = error }
    }
    return (started, failure)
  }

  // MARK: Seeing

  var state: LedgerState { read { $0.state } }
  var entries: [Int]? { state.model?.entries }
  var status: String { state.status?.description ?? "unknown" }
  var claim: String { state.freshness.claim.description }

  /// The machine's status, model and finger as text, once everything is at rest.
  var summary: String {
    read { machine in
      let entries = machine.client.model.map { "\($0.entries)" } ?? "nothing"
      let finger = machine.client.finger.map { "\($0)" } ?? "none"
      return "\(machine.client.status), \(entries), \(finger)"
    }
  }

  /// Expects that nobody sleeps, nothing is asked or written, and no operation is under way.
  func expectNothingPending(_ comment: Comment? = nil, at place: SourceLocation = #_sourceLocation)
  {
    #expect(clock.alarms == [], comment, sourceLocation: place)
    #expect(source.open.map(\.ask) == [], comment, sourceLocation: place)
    #expect(store?.open ?? [] == [], comment, sourceLocation: place)
    #expect(read { $0.operations.isIdle }, comment, sourceLocation: place)
  }

  /// Expects that nothing happens in five minutes with every possible signal.
  func expectNoEffectAfterwards(
    _ comment: Comment? = nil, at place: SourceLocation = #_sourceLocation
  ) {
    let asked = source.asked.count
    let done = store?.done
    let before = summary
    tell { machine in
      machine.enterBackground()
      machine.networkChanged()
      machine.enterForeground()
      machine.retryNow()
      machine.credentialsChanged()
    }
    advance(.minutes(5))
    #expect(source.asked.count == asked, comment, sourceLocation: place)
    #expect(store?.done == done, comment, sourceLocation: place)
    #expect(summary == before, comment, sourceLocation: place)
    expectNothingPending(comment, at: place)
  }
}

/// A reader of states, which takes one when it is asked to.
final class Reader: Sendable {
  private let executor: StepExecutor
  let seen = Box<[LedgerState]>([])
  let hasEnded = Box(false)
  private let iterator: Box<Reading>

  /// An iterator that a test hands to its tasks, one at a time.
  struct Reading: @unchecked Sendable {
    var iterator: AsyncStream<LedgerState>.AsyncIterator?
  }

  init(_ states: AsyncStream<LedgerState>, on executor: StepExecutor) {
    self.executor = executor
    iterator = Box(Reading(iterator: states.makeAsyncIterator()))
  }

  /// Asks for one more state. It is in `seen` once it comes.
  @discardableResult
  func next() -> LedgerState? {
    let before = seen.value.count
    let task = Task(executorPreference: executor) { [self] in
      var reading = iterator.value
      let state = await reading.iterator?.next()
      iterator.value = reading
      if let state { seen.change { $0.append(state) } } else { hasEnded.value = true }
    }
    _ = task
    executor.drain()
    return seen.value.count > before ? seen.value.last : nil
  }

  /// Reads on until the states end.
  func follow() {
    let seen = seen
    let hasEnded = hasEnded
    let reading = iterator.change { content in
      defer { content.iterator = nil }
      return content
    }
    Task(executorPreference: executor) {
      var reading = reading
      while let state = await reading.iterator?.next() { seen.change { $0.append(state) } }
      hasEnded.value = true
    }
    executor.drain()
  }

  /// Drops the iterator.
  func leave() { iterator.change { $0.iterator = nil } }

  var claims: [String] { seen.value.map(\.freshness.claim.description) }
}
