/// The reason why an exploration ended.
public enum ExplorationEnding: String, Hashable, Sendable {
  /// Every reachable state was visited, and everything holds in each.
  case closed
  /// Something does not hold in the last state found, or on every path from it.
  case violated
  /// More states would exceed the memory limit.
  case memoryLimit
  /// The states of the last allowed level were checked, but not their successors.
  case depthLimit
  /// The caller stopped it.
  case stopped
}

/// The progress of an exploration.
public struct ExplorationCounts: Hashable, Sendable {
  /// Initial states, and every successor of every expanded state, including known states and the
  /// state itself. TLC counts the same way.
  public var generated: Int64 = 0
  /// Different states found.
  public var distinct: Int64 = 0
  /// Levels reached; the initial states are the first. It is the number of states on the longest of
  /// all shortest paths. TLC counts the same way.
  public var depth: Int64 = 0
  /// States found whose successors are not all visited yet.
  public var waiting: Int64 = 0

  @inlinable
  package init() {}
}

/// The argument of a progress callback.
public struct ExplorationProgress: Hashable, Sendable {
  /// The counts so far.
  public var counts: ExplorationCounts
  /// The most memory taken so far, in bytes.
  public var memory: UInt64
  /// Whether a violation was found and the path to it is being retraced: the counts have started
  /// again.
  public var isSecondRun: Bool

  @inlinable
  init(counts: ExplorationCounts, memory: UInt64, isSecondRun: Bool) {
    self.counts = counts
    self.memory = memory
    self.isSecondRun = isSecondRun
  }
}

/// The result of an exploration.
public struct Exploration<Model: ExplorableModel> {
  /// Why the exploration ended.
  public var ending: ExplorationEnding
  /// The counts of the first run. A second one, for a counterexample, is not counted.
  public var counts: ExplorationCounts
  /// The most memory that the explorer's tables took, in bytes.
  public var memory: UInt64
  /// A shortest path to a violation; `nil` if everything holds, or if the caller stopped the second
  /// run.
  public var counterexample: Counterexample<Model>?
  /// The union of what steps reached (``ExplorableModel/coverage(of:)``).
  public var coverage: UInt64

  @inlinable
  init(
    ending: ExplorationEnding, counts: ExplorationCounts, memory: UInt64, coverage: UInt64,
    counterexample: Counterexample<Model>?
  ) {
    self.ending = ending
    self.counts = counts
    self.memory = memory
    self.coverage = coverage
    self.counterexample = counterexample
  }
}
