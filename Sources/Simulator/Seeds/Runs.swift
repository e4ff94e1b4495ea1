#if !hasFeature(Embedded)

  public import UpdateMachine

  /// The results of many seeds.
  public struct Runs: Sendable {
    /// Counts for all seeds up to the first failure: seeds, steps, requests, simulated time, how
    /// often each fault struck, and the statuses and failure rows reached.
    public var statistics: RunStatistics
    /// The failing run with the smallest seed; `nil`: none failed.
    public var failure: RunFailure?

    /// A hash of everything that happened in all runs.
    public var hash: StateDigest { StateDigest(value: statistics.traceHash) }
  }

#endif
