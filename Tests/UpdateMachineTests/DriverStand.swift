import Testing

@testable import UpdateMachine

// What every bench of a driver has, whatever its source is.

/// A task that a test has started.
struct Started: Sendable {
  let task: Task<Void, Never>
  let isOver: Box<Bool>
}

/// One driver, with the executor and the clock that it stands on.
protocol DriverStand: AnyObject {
  associatedtype Origin: SyncSource

  var executor: StepExecutor { get }
  var clock: HandClock { get }
  var machine: UpdateMachine<Origin>! { get }
}

extension DriverStand {
  func drain() { executor.drain() }

  /// Starts something with the driver; does not let it run yet.
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

  /// Does something with the driver and lets all come to rest.
  func tell(_ body: @escaping @Sendable (isolated UpdateMachine<Origin>) -> Void) {
    start { await body($0) }
    drain()
  }

  /// Reads something of the driver, when all has come to rest.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (isolated UpdateMachine<Origin>) -> Value
  ) -> Value {
    let box = Box<Value?>(nil)
    start { box.value = await body($0) }
    drain()
    return box.value!
  }

  /// Lets time pass, with a rest at every moment for which somebody sleeps.
  func advance(_ span: TimeSpan) {
    let end = clock.now + span
    drain()
    while clock.advance(towards: end) { drain() }
    drain()
  }
}

/// The calls of a source that answers when and what a test says.
final class ScriptedCalls<Ask: Sendable, Answer: Sendable>: Sendable {
  struct Call: Sendable {
    var number: Int
    var ask: Ask
    var isCancelled = false
    var isOver = false
  }

  /// What a call ends with when its task is cancelled; `nil`: only with what the test answers.
  private let whenCancelled: Answer?
  private let calls = Locked<[Call]>([])
  private let waiters = Waiters<Answer>()

  init(whenCancelled: Answer?) { self.whenCancelled = whenCancelled }

  /// Everything that was ever asked, in order.
  var all: [Call] { calls.withLock { $0 } }

  /// What has not ended yet.
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

  /// Answers a call; a second answer to the same call reaches nobody.
  func answer(_ number: Int, _ answer: Answer) { waiters.tell(number, answer) }
}
