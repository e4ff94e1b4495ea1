import CAllocations
import Foundation
import Simulator
import SyncProtocols
import UpdateMachine

// The machine, whole simulations, the actor and its observers.

// MARK: One input through the machine

/// Runs rounds of a healthy client's life: an event arrives, a late timer fires, and the write
/// ends. A round is three inputs. `look` gets the effects of each.
@inline(never)
func rounds(_ count: Int, look: (Machine<QueueFinger>.Effects) -> Void) {
  var settings = MachineSettings()
  settings.retry.paceInterval = .milliseconds(1)
  var machine = Machine<QueueFinger>(incarnation: Incarnation(1), settings: settings)
  let queue = QueueID("q1")
  var now = Moment(milliseconds: 0)
  var request: UInt64 = 1
  look(machine.handle(.app(.started(foreground: true)), at: now))
  look(
    machine.handle(
      .snapshotArrived(
        RequestID(incarnation: Incarnation(1), part: .machine, number: request),
        finger: QueueFinger(queue: queue, lastEventID: -1),
        terms: ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))), at: now))
  look(machine.handle(.written(WriteID(1)), at: now))
  for event in 0..<Int64(count) {
    now = now + .milliseconds(10)
    request += 1
    look(
      machine.handle(
        .polled(
          RequestID(incarnation: Incarnation(1), part: .machine, number: request),
          movedTo: QueueFinger(queue: queue, lastEventID: event)), at: now))
    look(machine.handle(.fired(TimerID(part: .machine, 0)), at: now))  // A late timer is absorbed.
    look(machine.handle(.written(WriteID(UInt64(event) + 2)), at: now))
  }
  precondition(machine.status.isLive, "the benchmark's client is healthy")
}

func benchmarkMachine() {
  let count = size(1_000_000, smoke: 100_000)
  var seen: UInt64 = 0
  let inPlace = seconds { rounds(count) { seen &+= $0.arm?.timer.number ?? 0 } }
  // For comparison: the effects as an array, as many such machines return them.
  let inArrays = seconds { rounds(count) { seen &+= UInt64($0.list.count) } }
  let before = allocation_count()
  rounds(1000) { seen &+= $0.arm?.timer.number ?? 0 }
  let allocations = allocation_count() - before
  rounds(1000) { seen &+= UInt64($0.list.count) }
  let inArraysAllocations = allocation_count() - before - allocations
  precondition(seen > 0, "effects were seen")
  row(
    "one input through the machine", .time(inPlace / Double(count * 3)),
    beside: ["the same, effects in an array": .time(inArrays / Double(count * 3))])
  counted("  allocations in 3,000 inputs", before < 0 ? -1 : allocations)
  line("  beside: effects in an array", before < 0 ? "not counted" : "\(inArraysAllocations)")
}

// MARK: Whole simulations

/// Runs seeds on `jobs` threads. Returns the seconds that it took, and the statistics.
func simulate(seeds: UInt64, jobs: Int, faults: FaultSet) -> (seconds: Double, RunStatistics) {
  final class Sum: @unchecked Sendable {
    let lock = NSLock()
    var statistics = RunStatistics()
  }
  let sum = Sum()
  let start = ContinuousClock.now
  DispatchQueue.concurrentPerform(iterations: jobs) { job in
    var statistics = RunStatistics()
    for seed in stride(from: UInt64(job + 1), through: seeds, by: jobs) {
      statistics.add(
        Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed, faults: faults)))
    }
    sum.lock.withLock { sum.statistics.add(statistics) }
  }
  let seconds = since(start)
  precondition(sum.statistics.failures == 0, "every run is well")
  return (seconds, sum.statistics)
}

func benchmarkSimulations() {
  let seeds: UInt64 = size(4000, smoke: 400)
  let one = simulate(seeds: seeds, jobs: 1, faults: .all)
  let both = simulate(seeds: seeds, jobs: 2, faults: .all)
  precondition(one.1.traceHash == both.1.traceHash, "jobs change nothing")
  row(
    "simulations (4 clients, 300 steps, all faults), 2 cores",
    .rate(Double(seeds) / both.seconds, "a second"))
  row("  one core", .rate(Double(seeds) / one.seconds, "a second"))
  row("  steps", .rate(Double(one.1.steps) / one.seconds, "a second a core"))
  counted("  steps in \(seeds) seeds", one.1.steps)
  let quiet = simulate(seeds: seeds, jobs: 1, faults: .none)
  row(
    "simulated time, with faults",
    .rate(Double(one.1.simulatedMilliseconds) / 1000 / one.seconds, "× real time"),
    beside: [
      "without faults": .rate(
        Double(quiet.1.simulatedMilliseconds) / 1000 / quiet.seconds, "× real time")
    ])
}

// MARK: The actor

func benchmarkActors() {
  let seeds: ClosedRange<UInt64> = 1...size(1000, smoke: 100)
  var steps: Int64 = 0
  var jobs: Int64 = 0
  let actors = elapsed {
    for seed in seeds {
      let run = Simulation<DirectoryApp>.runActors(SimulationConfiguration(seed: seed))
      precondition(run.result.finding == nil, "every run is well")
      steps += run.result.steps
      jobs += run.jobs
    }
  }
  var valueSteps: Int64 = 0
  let values = elapsed {
    for seed in seeds {
      valueSteps += Simulation<DirectoryApp>.run(SimulationConfiguration(seed: seed)).steps
    }
  }
  let rate = Double(steps) / actors
  let baseline = Double(valueSteps) / values
  row(
    "steps through the real actor, a core", .rate(rate, "a second"),
    beside: ["the value engine": .rate(baseline, "a second")])
  row("  jobs", .rate(Double(jobs) / actors, "a second"))
  counted("  jobs in \(seeds.upperBound) seeds", jobs)
}

/// A server whose state is a counter.
struct Count: ServerTruth {
  var snapshot: Int64 = 0
  var checksum: UInt64 { UInt64(bitPattern: snapshot) }
  mutating func apply(_ event: Int64) { snapshot = event }
  static func merged(_ pending: Int64, _ newer: Int64) -> Int64? { nil }
  static func isDeletion(_ event: Int64) -> Bool { false }
}

struct CountModel: SyncModel {
  var count: Int64
  init(snapshot: Int64) throws(Never) { count = snapshot }
  mutating func apply(_ event: Int64) throws(Never) { count = event }
}

/// Measures the time from the server's commit to the observer's next state, on a real executor. The
/// core on which a task wakes is chance, and changes both times by a factor. So ours and the
/// baseline are measured in turns, and the best of each counts.
func benchmarkObserver() async {
  let server = LocalEventQueue(truth: Count())
  var settings = MachineSettings()
  settings.retry.paceInterval = .milliseconds(0)
  let machine = UpdateMachine(source: server.source(for: CountModel.self), settings: settings)
  let turns: Int64 = 10
  let rounds: Int64 = size(2000, smoke: 200)
  await withDiscardingTaskGroup { group in
    group.addTask { await machine.run() }
    var states = await machine.states().makeAsyncIterator()
    while await states.next()?.model == nil {}
    var best = (ours: Double.infinity, baseline: Double.infinity)
    for turn in 0..<turns {
      let start = ContinuousClock.now
      for round in (turn * rounds + 1)...((turn + 1) * rounds) {
        await server.commit(round)
        while await states.next()?.model?.count != round {}
      }
      best.ours = min(best.ours, since(start) / Double(rounds))
      best.baseline = min(best.baseline, await baselineOfObserver(rounds))
    }
    row(
      "an event from the server's commit to an observer", .time(best.ours),
      beside: ["a number there and back through two streams": .time(best.baseline)])
    await machine.stop()
  }
}

/// Measures a round trip between two tasks: the least that a question and its answer cost.
func baselineOfObserver(_ rounds: Int64) async -> Double {
  let (there, go) = AsyncStream.makeStream(of: Int64.self)
  let (back, come) = AsyncStream.makeStream(of: Int64.self)
  return await withDiscardingTaskGroup { group in
    group.addTask { for await number in there { come.yield(number) } }
    var answers = back.makeAsyncIterator()
    let start = ContinuousClock.now
    for round in 1...rounds {
      go.yield(round)
      _ = await answers.next()
    }
    go.finish()
    return since(start) / Double(rounds)
  }
}

func benchmarkMemory() {
  let server = LocalEventQueue(truth: Count())
  let count = 10_000
  let before = allocated_bytes()
  var machines: [UpdateMachine<LocalEventQueueSource<Count, CountModel>>] = []
  machines.reserveCapacity(count)
  for _ in 0..<count {
    machines.append(UpdateMachine(source: server.source(for: CountModel.self)))
  }
  let each = (allocated_bytes() - before) / Int64(machines.count)
  let beforeClients = allocated_bytes()
  var clients: [SyncClient<CountModel, EventQueue<Int64>>] = []
  clients.reserveCapacity(count)
  for incarnation in 0..<count {
    clients.append(SyncClient(incarnation: Incarnation(UInt64(incarnation))))
  }
  let client = (allocated_bytes() - beforeClients) / Int64(clients.count)
  row(
    "memory of an idle machine", .bytes(before < 0 ? -1 : each),
    beside: ["its client alone": .bytes(before < 0 ? -1 : client)])
}
