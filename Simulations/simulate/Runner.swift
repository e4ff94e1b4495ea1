import Foundation
import Simulator
import UpdateMachine

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
  /// How long one run may take. One that takes longer counts as one that never ends.
  var longest = Duration.seconds(60)
  /// How often it looks at its jobs.
  var look = Duration.milliseconds(500)
  /// `nil`: each seed draws its world; if a protocol is named, from that protocol's worlds.
  var world: LibraryWorld?
  var spoken: LibraryWorld.SpokenProtocol?

  struct Outcome: Sendable {
    var statistics = RunStatistics()
    var stories = FailureStories()
    var seconds = 0.0
    var wasInterrupted = false
    /// The seed of a run that took too long. Its thread goes on, so the process has to end soon.
    var unending: UInt64?

    mutating func add(_ result: RunResult, world: LibraryWorld) {
      statistics.add(result)
      if let finding = result.finding { stories.add(finding, seed: result.seed, world: world) }
    }
  }

  /// The number of seeds that a job takes at a time: enough to make taking them cheap, and few
  /// enough to keep Ctrl-C and the progress line prompt.
  private static let portion: UInt64 = 16

  private final class Shared: Sendable {
    let next = Locked<UInt64>(0)
    let outcome = Locked(Outcome())
    let hasFailed = Locked(false)
    /// The run that each job is busy with, and how often it was seen to be.
    let busy: Locked<[(seed: UInt64, looks: Int)?]>
    let start = ContinuousClock.now

    init(jobs: Int) { busy = Locked(Array(repeating: nil, count: jobs)) }

    func begin(_ seed: UInt64, _ job: Int) { busy.withLock { $0[job] = (seed, 0) } }

    func end(_ job: Int) { busy.withLock { $0[job] = nil } }

    /// Looks at all jobs. Returns the seed of a run that was seen more often than this. Looks are
    /// counted, and not time, because a computer may sleep and a process may be stopped.
    func look(atMost looks: Int) -> UInt64? {
      busy.withLock { busy in
        var unending: UInt64?
        for job in busy.indices {
          busy[job]?.looks += 1
          if let run = busy[job], run.looks > looks { unending = unending ?? run.seed }
        }
        return unending
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
    let looks = Int(longest / look)
    let pause = look / .seconds(1)
    for thread in threads {
      while thread.wait(timeout: .now() + pause) == .timedOut {
        let done = shared.outcome.withLock { $0.statistics }
        console.progress(progressLine(done, since: start))
        if let seed = shared.look(atMost: looks) {
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

  /// The outcome so far, and a run that takes too long. A loop in an app's code cannot be stopped.
  /// If another run has failed, that one is told: it can be repeated.
  private func ended(_ shared: Shared, by seed: UInt64) -> Outcome {
    var outcome = shared.outcome.withLock { $0 }
    outcome.seconds = seconds(since: shared.start)
    outcome.unending = seed
    guard outcome.statistics.shortestFailure == nil else { return outcome }
    var result = RunResult(seed: seed)
    result.finding = Finding(
      .liveness, client: nil, at: Moment(milliseconds: 0), expected: "a run ends",
      found: "it has taken longer than \(longest) (--longest-run)")
    outcome.add(result, world: world(ofSeed: seed))
    return outcome
  }

  private func work(_ shared: Shared, _ job: Int) {
    var configuration = configuration
    while let portion = takePortion(shared) {
      for offset in portion {
        if Interrupt.wasAsked {
          shared.outcome.withLock { $0.wasInterrupted = true }
          break
        }
        if isEnough(shared) { break }
        configuration.seed = first &+ offset
        let drawn = self.world(ofSeed: configuration.seed)
        configuration.world = drawn
        let twice = Simulation<DirectoryApp>.isRunTwice(offset)
        shared.begin(configuration.seed, job)
        let result = engine.run(configuration, twice: twice)
        shared.end(job)
        shared.outcome.withLock { $0.add(result, world: drawn) }
        if untilFailure, result.finding != nil { shared.hasFailed.withLock { $0 = true } }
      }
      if Interrupt.wasAsked || isEnough(shared) { return }
    }
  }

  private func world(ofSeed seed: UInt64) -> LibraryWorld {
    world ?? LibraryWorld.drawn(by: seed, of: spoken)
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
