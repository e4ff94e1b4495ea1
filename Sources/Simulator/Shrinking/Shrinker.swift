internal import UpdateMachine

// Shrinking: the room that makes a failing run small enough to read. It knows nothing of worlds,
// only a list of choices and a function that runs it.
//
// Shrinking may use: Choices.

/// Makes a list of choices smaller while it still leads to the same failure.
///
/// Smaller means: fewer choices that are not 0 (0 is the tamest value of every draw, as good as no
/// choice), then a shorter list, then lower values. The passes cut, zero, delete, gather, lower and
/// swap repeat until none helps or the budget is spent. As in Hypothesis (MacIver and Donaldson,
/// "Test-Case Reduction via Test-Case Generation", 2020), it shrinks the choices and not the run,
/// so it works for any world.
///
/// Each stream is shrunk as its own list, because each subsystem draws from its own: removing a
/// choice moves no choice of another stream.
package struct Shrinker: Sendable {
  /// The smallest list so far, by stream.
  package private(set) var best: ChoiceLists
  /// The number of runs tried.
  package private(set) var runs: Int64 = 0

  private let budget: Int64
  /// Whether the caller stopped it.
  private(set) var isStopped = false

  /// - Parameters:
  ///   - record: the choices of a failing run.
  ///   - budget: the most runs to try.
  package init(_ record: [Choices.Choice], budget: Int64) {
    best = ChoiceLists(record)
    self.budget = budget
  }

  /// Shrinks.
  ///
  /// - Parameters:
  ///   - fails: runs a list; returns whether it leads to the same failure.
  ///   - goesOn: called after every run; `false` stops with the result so far.
  package mutating func shrink(
    while goesOn: @escaping (Shrinker) -> Bool = { _ in true },
    fails: @escaping ([Choices.Choice]) -> Bool
  ) {
    var attempt = Attempt(budget: budget, goesOn: goesOn, fails: fails)
    var size = best.size
    guard !isSpent(attempt) else { return }
    repeat {
      size = best.size
      // Fewer choices first, as long as that helps: lowering the rest is the most expensive pass.
      var count: Int64
      repeat {
        count = best.size.choices
        cutEnds(&attempt)
        spans(&attempt) { lists, stream, span in lists.zero(stream, span) }
        spans(&attempt) { lists, stream, span in lists.delete(stream, span) }
        spans(&attempt, overlapping: true) { lists, stream, span in lists.gather(stream, span) }
      } while best.size.choices < count && !isSpent(attempt)
      lower(&attempt)
      swap(&attempt)
    } while best.size < size && !isSpent(attempt)
  }

  /// Tries something other than a list, and counts it as a run; `nil`: the budget is spent.
  ///
  /// - Parameters:
  ///   - goesOn: called after the run; `false` stops with the result so far.
  ///   - fails: runs it; returns whether it leads to the same failure.
  mutating func tries(while goesOn: (Shrinker) -> Bool, _ fails: () -> Bool) -> Bool? {
    guard runs < budget, !isStopped else { return nil }
    runs += 1
    let fails = fails()
    if !goesOn(self) { isStopped = true }
    return fails
  }

  /// As ``tries(while:_:)`` with a list that has lost choices. It is kept if it leads to the same
  /// failure.
  mutating func tries(
    _ record: [Choices.Choice], while goesOn: (Shrinker) -> Bool, _ fails: () -> Bool
  ) -> Bool? {
    let fails = tries(while: goesOn, fails)
    if fails == true { best = ChoiceLists(record) }
    return fails
  }

  /// The arguments of one shrinking.
  private struct Attempt {
    var budget: Int64
    var goesOn: (Shrinker) -> Bool
    var fails: ([Choices.Choice]) -> Bool

    init(
      budget: Int64, goesOn: @escaping (Shrinker) -> Bool,
      fails: @escaping ([Choices.Choice]) -> Bool
    ) {
      self.budget = budget
      self.goesOn = goesOn
      self.fails = fails
    }
  }

  private func isSpent(_ attempt: Attempt) -> Bool { isStopped || runs >= attempt.budget }

  /// Tries a list; keeps it if it is smaller and fails in the same way.
  @discardableResult
  private mutating func consider(_ lists: ChoiceLists, _ attempt: inout Attempt) -> Bool {
    guard lists.size < best.size, !isSpent(attempt) else { return false }
    runs += 1
    let fails = attempt.fails(lists.record)
    if fails { best = lists }
    if !attempt.goesOn(self) { isStopped = true }
    return fails
  }

  /// Cuts the end off each stream: half of it, a quarter, down to one choice.
  private mutating func cutEnds(_ attempt: inout Attempt) {
    for stream in best.streams {
      var cut = best.count(stream)
      while cut > 0, !isSpent(attempt) {
        var lists = best
        lists.delete(stream, max(0, best.count(stream) - cut)..<best.count(stream))
        if !consider(lists, &attempt) { cut /= 2 }
        cut = min(cut, best.count(stream))
      }
    }
  }

  /// Applies a change to spans of each stream, from the end, long ones first. Spans are adjacent,
  /// or overlap by half if `overlapping`.
  private mutating func spans(
    _ attempt: inout Attempt, overlapping: Bool = false,
    _ change: (inout ChoiceLists, Int, Range<Int>) -> Void
  ) {
    for stream in best.streams {
      var length = max(1, overlapping ? best.count(stream) : best.count(stream) / 2)
      while true {
        var end = best.count(stream)
        while end > 0, !isSpent(attempt) {
          var lists = best
          change(&lists, stream, max(0, end - length)..<end)
          consider(lists, &attempt)
          end = min(end - (overlapping ? max(1, length / 2) : length), best.count(stream))
        }
        if length == 1 || isSpent(attempt) { break }
        length /= 2
      }
    }
  }

  /// Lowers each value as far as possible, by halving.
  private mutating func lower(_ attempt: inout Attempt) {
    for stream in best.streams {
      var index = 0
      while index < best.count(stream), !isSpent(attempt) {
        var low: UInt64 = 0
        // The list that was kept may have lost its end, and this choice with it.
        while index < best.count(stream), low < best.value(stream, index), !isSpent(attempt) {
          var lists = best
          lists.set(stream, index, to: low + (best.value(stream, index) - low) / 2)
          let middle = lists.value(stream, index, else: 0)
          if !consider(lists, &attempt) { low = middle + 1 }
        }
        index += 1
      }
    }
  }

  /// Sorts neighbours, the lower one first.
  private mutating func swap(_ attempt: inout Attempt) {
    for stream in best.streams {
      var index = 1
      while index < best.count(stream), !isSpent(attempt) {
        if best.value(stream, index) < best.value(stream, index - 1) {
          var lists = best
          lists.swap(stream, index - 1, index)
          consider(lists, &attempt)
        }
        index += 1
      }
    }
  }
}
