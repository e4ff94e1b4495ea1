import Foundation
import Simulator
import UpdateMachine
import ZulipWorld

/// What runs the clients of a world.
typealias Engine = SimulationEngine

extension Engine {
  func run(_ configuration: SimulationConfiguration, twice: Bool = false) -> RunResult {
    EveryWorld.visited(
      configuration.world,
      by: EngineRun(engine: self, configuration: configuration, twice: twice))
  }

  func trace(_ configuration: SimulationConfiguration) -> (RunResult, Trace) {
    EveryWorld.visited(
      configuration.world, by: EngineTrace(engine: self, configuration: configuration))
  }
}

private struct EngineRun: AppVisitor {
  let engine: Engine
  let configuration: SimulationConfiguration
  let twice: Bool

  func visit<App: SimulatedApp>(_ app: App.Type) -> RunResult {
    Simulation<App>.run(configuration, engine: engine, twice: twice)
  }
}

private struct EngineTrace: AppVisitor {
  let engine: Engine
  let configuration: SimulationConfiguration

  func visit<App: SimulatedApp>(_ app: App.Type) -> (RunResult, Trace) {
    Simulation<App>.trace(configuration, engine: engine)
  }
}

/// Runs many seeds on several threads, and adds up the results.
struct Runner: Sendable {
  var configuration: SimulationConfiguration
  var engine = Engine.value
  var first: UInt64
  var seeds: UInt64
  var jobs: Int
  /// Whether to stop at the first failing run.
  var untilFailure = false
  /// No run begins after this time; `nil`: there is no limit.
  var budget: Duration?
  /// How long one run may take; one that takes longer never ends.
  var longest = Duration.seconds(60)
  /// `nil`: each seed draws its world; if a protocol is named, from that protocol's worlds.
  var world: LibraryWorld?
  var spoken: LibraryWorld.SpokenProtocol?

  struct Outcome: Sendable {
    var statistics = RunStatistics()
    var seconds = 0.0
    var wasInterrupted = false
    /// The seed of a run that did not end. Its thread goes on, so the process has to end soon.
    var unending: UInt64?
  }

  /// The number of seeds that a job takes at a time: enough to make taking them cheap, and few
  /// enough to keep Ctrl-C and the progress line prompt.
  private static let portion: UInt64 = 16

  private final class Shared: Sendable {
    let next = Locked<UInt64>(0)
    let outcome = Locked(Outcome())
    let hasFailed = Locked(false)
    /// The run that each job is busy with, and since when.
    let busy: Locked<[(seed: UInt64, since: ContinuousClock.Instant)?]>
    let start = ContinuousClock.now

    init(jobs: Int) { busy = Locked(Array(repeating: nil, count: jobs)) }

    func begin(_ seed: UInt64, _ job: Int) {
      busy.withLock { $0[job] = (seed, ContinuousClock.now) }
    }

    func end(_ job: Int) { busy.withLock { $0[job] = nil } }

    /// The seed of a run that has taken longer than this.
    func unending(after longest: Duration) -> UInt64? {
      let now = ContinuousClock.now
      return busy.withLock { busy in
        busy.lazy.compactMap { $0 }.first { now - $0.since > longest }?.seed
      }
    }
  }

  func run(_ console: Console) -> Outcome {
    let shared = Shared(jobs: jobs)
    let start = shared.start
    let threads = (0..<jobs).map { job in
      let finished = DispatchSemaphore(value: 0)
      let thread = Thread {
        work(shared, job)
        finished.signal()
      }
      thread.stackSize = 8 << 20
      thread.start()
      return finished
    }
    for thread in threads {
      while thread.wait(timeout: .now() + .milliseconds(500)) == .timedOut {
        let done = shared.outcome.withLock { $0.statistics }
        console.progress(progressLine(done, since: start))
        if let seed = shared.unending(after: longest) {
          console.progress(nil)
          return ended(shared, by: seed)
        }
      }
    }
    console.progress(nil)
    var outcome = shared.outcome.withLock { $0 }
    outcome.seconds = seconds(since: start)
    return outcome
  }

  /// The outcome so far, and a run that does not end. A loop in an app's code cannot be stopped.
  private func ended(_ shared: Shared, by seed: UInt64) -> Outcome {
    var outcome = shared.outcome.withLock { $0 }
    outcome.seconds = seconds(since: shared.start)
    outcome.unending = seed
    var result = RunResult(seed: seed)
    result.finding = Finding(
      .liveness, client: nil, at: Moment(milliseconds: 0), expected: "a run ends",
      found: "after \(longest) it is still in a step")
    outcome.statistics.add(result)
    return outcome
  }

  private func work(_ shared: Shared, _ job: Int) {
    var statistics = RunStatistics()
    var configuration = configuration
    while let portion = takePortion(shared) {
      for offset in portion {
        if Interrupt.wasAsked {
          shared.outcome.withLock { $0.wasInterrupted = true }
          break
        }
        if isEnough(shared) { break }
        configuration.seed = first &+ offset
        configuration.world = world ?? LibraryWorld.drawn(by: configuration.seed, of: spoken)
        let twice = Simulation<DirectoryApp>.isRunTwice(offset)
        shared.begin(configuration.seed, job)
        statistics.add(engine.run(configuration, twice: twice))
        shared.end(job)
        if untilFailure, statistics.failures > 0 { shared.hasFailed.withLock { $0 = true } }
      }
      let done = statistics
      shared.outcome.withLock { $0.statistics.add(done) }
      statistics = RunStatistics()
      if Interrupt.wasAsked || isEnough(shared) { return }
    }
  }

  /// Whether to begin no more runs although seeds are left.
  private func isEnough(_ shared: Shared) -> Bool {
    if untilFailure, shared.hasFailed.withLock({ $0 }) { return true }
    return budget.map { ContinuousClock.now - shared.start >= $0 } ?? false
  }

  private func takePortion(_ shared: Shared) -> Range<UInt64>? {
    shared.next.withLock { next in
      guard next < seeds else { return nil }
      let end = min(next + Runner.portion, seeds)
      defer { next = end }
      return next..<end
    }
  }

  private func progressLine(_ done: RunStatistics, since start: ContinuousClock.Instant) -> String {
    let elapsed = seconds(since: start)
    let rate = Double(done.seeds) / max(elapsed, 0.001)
    return "run: \(done.seeds) of \(seeds) worlds, \(Int(rate)) a second, \(done.failures) failures"
  }

  private func seconds(since start: ContinuousClock.Instant) -> Double {
    let elapsed = ContinuousClock.now - start
    return Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
  }
}

/// A value behind a lock. It is not a `Mutex`, because the thread sanitizer does not see the waits
/// of a contended one, and reports races that do not exist.
private final class Locked<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }
}
