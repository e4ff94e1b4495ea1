import Foundation
import Synchronization

/// Calls a function with each number below a count, in several threads, until the user interrupts.
/// Returns the results in order; `nil`: not called, or it returned none.
///
/// Dispatch queues have only as many threads as there are cores, and all of them would wait.
func inParallel<Result: Sendable>(
  _ count: Int, jobs: Int, _ work: @Sendable @escaping (Int) -> Result?
) -> [Result?] {
  let shared = ParallelWork<Result>()
  let ends = (0..<jobs).map { _ in
    let end = DispatchSemaphore(value: 0)
    Thread {
      while !Interrupt.wasAsked {
        let index = shared.next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard index < count else { break }
        if let result = work(index) { shared.results.withLock { $0[index] = result } }
      }
      end.signal()
    }.start()
    return end
  }
  for end in ends { end.wait() }
  return shared.results.withLock { results in (0..<count).map { results[$0] } }
}

private final class ParallelWork<Result: Sendable>: Sendable {
  let next = Mutex(0)
  let results = Mutex<[Int: Result]>([:])
}

/// A count that several threads raise.
final class Tally: Sendable {
  private let counts: Mutex<[Int]>

  /// - Parameter kinds: how many numbers it counts at once.
  init(_ kinds: Int) { counts = Mutex(Array(repeating: 0, count: kinds)) }

  /// Adds to each count, and returns the new ones.
  func add(_ numbers: Int...) -> [Int] {
    counts.withLock { counts in
      for (index, number) in numbers.enumerated() { counts[index] += number }
      return counts
    }
  }
}
