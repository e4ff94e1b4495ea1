import CAllocations
import Foundation
import Simulator
import SyncProtocols
import UpdateMachine

// Counts first, then times; every time stands beside a baseline that was taken in the same run.
// swift run -c release --package-path Simulations/Benchmarks

/// Seconds that `body` takes, the best of five.
func seconds(_ body: () -> Void) -> Double {
  var best = Double.infinity
  for _ in 0..<5 {
    let start = ContinuousClock.now
    body()
    let elapsed = ContinuousClock.now - start
    best = min(
      best, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
  }
  return best
}

func line(_ name: String, _ value: String) {
  print(name.padding(toLength: 52, withPad: " ", startingAt: 0) + value)
}

// MARK: One input through the machine

/// One round of a healthy client's life: an event comes, is written, and the next poll goes out.
/// Three inputs. `look` sees every effect.
@inline(never)
func rounds(_ count: Int, look: (Machine<QueueFinger>.Effects) -> Void) {
  var settings = MachineSettings()
  settings.paceInterval = .milliseconds(1)
  var machine = Machine<QueueFinger>(life: Life(1), settings: settings)
  let queue = QueueID("q1")
  var now = Moment(milliseconds: 0)
  var request: UInt64 = 1
  look(machine.handle(.started(foreground: true), at: now))
  look(
    machine.handle(
      .snapshotArrived(
        RequestID(life: Life(1), number: request),
        finger: QueueFinger(queue: queue, lastEventID: -1),
        terms: Terms(longDeadline: .seconds(100), lifetime: .seconds(600))), at: now))
  look(machine.handle(.written(WriteID(1)), at: now))
  for event in 0..<Int64(count) {
    now = now + .milliseconds(10)
    request += 1
    look(
      machine.handle(
        .polled(
          RequestID(life: Life(1), number: request),
          movedTo: QueueFinger(queue: queue, lastEventID: event)), at: now))
    look(machine.handle(.fired(TimerID(0)), at: now))  // A late timer: absorbed.
    look(machine.handle(.written(WriteID(UInt64(event) + 2)), at: now))
  }
  precondition(machine.status.isLive, "the benchmark's client is healthy")
}

func benchmarkMachine() {
  let count = 1_000_000
  var seen: UInt64 = 0
  let inPlace = seconds { rounds(count) { seen &+= $0.arm?.timer.number ?? 0 } }
  // What a machine usually returns: an array of its effects.
  let inArrays = seconds { rounds(count) { seen &+= UInt64($0.list.count) } }
  let before = allocation_count()
  rounds(1000) { seen &+= $0.arm?.timer.number ?? 0 }
  let allocations = allocation_count() - before
  precondition(seen > 0, "effects were seen")
  let each = inPlace / Double(count * 3) * 1e9
  let baseline = inArrays / Double(count * 3) * 1e9
  line("one input through the machine", String(format: "%.1f ns", each))
  line(
    "  baseline: the same, effects in an array",
    String(format: "%.1f ns, %.2f ×", baseline, baseline / each))
  line(
    "  allocations in 3,000 inputs", allocations < 0 ? "not counted here" : "\(allocations)")
}

// MARK: Whole simulations

/// Runs seeds on so many threads; seconds, and the steps that were taken.
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
      statistics.add(Simulation.run(SimulationConfiguration(seed: seed, faults: faults)))
    }
    sum.lock.withLock { sum.statistics.add(statistics) }
  }
  let elapsed = ContinuousClock.now - start
  let seconds =
    Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
  precondition(sum.statistics.failures == 0, "every run is well")
  return (seconds, sum.statistics)
}

func benchmarkSimulations() {
  let one = simulate(seeds: 4000, jobs: 1, faults: .all)
  let both = simulate(seeds: 4000, jobs: 2, faults: .all)
  precondition(one.1.traceHash == both.1.traceHash, "jobs change nothing")
  line(
    "whole simulations (4 clients, 300 steps, all faults)",
    String(format: "%.0f a second on 2 cores", 4000 / both.seconds))
  line(
    "  baseline: one core",
    String(format: "%.0f a second, %.2f ×", 4000 / one.seconds, one.seconds / both.seconds))
  line("  steps", String(format: "%.0f a second a core", Double(one.1.steps) / one.seconds))
  line(
    "simulated time, with faults",
    String(
      format: "%.0f × real time a core",
      Double(one.1.simulatedMilliseconds) / 1000 / one.seconds))
  let quiet = simulate(seeds: 4000, jobs: 1, faults: .none)
  line(
    "  baseline: without faults",
    String(
      format: "%.0f × real time a core",
      Double(quiet.1.simulatedMilliseconds) / 1000 / quiet.seconds))
}

line("benchmark", "result")
benchmarkMachine()
benchmarkSimulations()
