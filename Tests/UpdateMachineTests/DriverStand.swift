import Testing

@testable import UpdateMachine

// What every bench of a driver has, whatever the source is.

/// A task that a test has started.
struct Started: Sendable {
  let task: Task<Void, Never>
  let isOver: Box<Bool>
}

/// One driver, with the executor and the clock that it uses.
protocol DriverStand: AnyObject {
  associatedtype Origin: SyncSource

  var executor: StepExecutor { get }
  var clock: HandClock { get }
  var machine: UpdateMachine<Origin>! { get }
}

extension DriverStand {
  func drain() { executor.drain() }

  /// Starts something with the driver, without letting it run yet.
  @discardableResult
  func start(_ body: @escaping @Sendable (UpdateMachine<Origin>) async -> Void) -> Started {
    let isOver = Box(false)
    let machine = machine!
    let task = Task(executorPreference: executor) {
      await body(machine)
      isOver.value = true
    }
    return Started(task: task, isOver: isOver)
  }

  /// Does something with the driver, and lets everything come to rest.
  func tell(_ body: @escaping @Sendable (isolated UpdateMachine<Origin>) -> Void) {
    start { await body($0) }
    drain()
  }

  /// Reads something from the driver once everything has come to rest.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (isolated UpdateMachine<Origin>) -> Value
  ) -> Value {
    let box = Box<Value?>(nil)
    start { box.value = await body($0) }
    drain()
    return box.value!
  }

  /// Lets time pass. At every moment for which somebody sleeps, everything comes to rest.
  func advance(_ span: TimeSpan) {
    let end = clock.now + span
    drain()
    while clock.advance(towards: end) { drain() }
    drain()
  }
}

/// The calls of a source that answers what a test says, when the test says so.
final class ScriptedCalls<Ask: Sendable, Answer: Sendable>: Sendable {
  struct Call: Sendable {
    var number: Int
    var ask: Ask
    var isCancelled = false
    var isOver = false
  }

  /// The answer that ends a call whose task is cancelled; `nil` if only the test ends it.
  private let whenCancelled: Answer?
  private let calls = Locked<[Call]>([])
  private let waiters = Waiters<Answer>()

  init(whenCancelled: Answer?) { self.whenCancelled = whenCancelled }

  /// All calls so far, in order.
  var all: [Call] { calls.withLock { $0 } }

  /// The calls that have not ended yet.
  var open: [Call] { all.filter { !$0.isOver } }

  func call(_ ask: Ask) async -> Answer {
    let number = calls.withLock { calls in
      calls.append(Call(number: calls.count, ask: ask))
      return calls.count - 1
    }
    let answer = await waiters.wait(for: number, letGoWith: whenCancelled) {
      self.calls.withLock { $0[number].isCancelled = true }
    }
    calls.withLock { $0[number].isOver = true }
    return answer
  }

  /// Answers a call. A second answer to the same call reaches nobody.
  func answer(_ number: Int, _ answer: Answer) { waiters.tell(number, answer) }
}
