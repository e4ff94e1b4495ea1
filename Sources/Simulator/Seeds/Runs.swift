#if !hasFeature(Embedded)

  public import UpdateMachine

  /// What came of many seeds.
  public struct Runs: Sendable {
    /// Counts of everything: seeds, steps, requests, simulated time, how often each fault struck,
    /// which statuses and failure rows were reached. Of the seeds up to the first that failed.
    public var statistics: RunStatistics
    /// The failing run of the least seed; `nil`: none failed.
    public var failure: RunFailure?

    /// Of everything that happened in all of them: it changes when anything does.
    public var hash: Digest { Digest(value: statistics.traceHash) }
  }

  /// A run that failed: what was found, and all that it takes to see why.
  public struct RunFailure: Sendable {
    /// What it was drawn from; `nil`: it was repeated from a token.
    public var seed: UInt64?
    /// What was found, in the small run if there is one.
    public var finding: Finding
    /// The story on at most a screen: what was expected and found, and where they differ; what led
    /// to it; what to type to repeat it. A line each, without a line feed at the end.
    public var story: String
    /// The whole conversation of the run of which the story tells the end.
    public var trace: Trace
    /// What repeats it when given to ``Simulation/replay(_:)``. `nil`: it cannot be made small, for
    /// only real actors fail so (its seed repeats it) or it is not the same twice.
    public var token: String?

    /// A run in which something was found.
    ///
    /// - Parameters:
    ///   - repeating: what to type to repeat it.
    init(
      seed: UInt64?, _ story: Story, _ trace: Trace, token: String?, repeating: String
    ) {
      self.seed = seed
      finding = story.finding
      self.trace = trace
      self.token = token
      let head = seed.map { ["Seed \($0) failed."] } ?? []
      let lines = story.lines(
        atMost: Story.linesMaximum - head.count, repeating: ["Repeat it:", "  \(repeating)"])
      self.story = (head + lines).joined(separator: "\n")
    }

    /// A seed that told two stories.
    ///
    /// - Parameters:
    ///   - result: the first, with what was found: that the other differs.
    ///   - one: the conversation when it was told again.
    ///   - other: the conversation when it was told once more.
    init(twoStories result: RunResult, _ one: Trace, _ other: Trace) {
      guard let finding = result.finding else { preconditionFailure("a run that failed is told") }
      seed = result.seed
      self.finding = finding
      trace = one
      var lines = [finding.found.prefix(1).uppercased() + finding.found.dropFirst() + "."]
      if let part = RunFailure.parting(one.lines, other.lines) {
        lines.append("Told twice more, they part in line \(part.line):")
        lines += [part.one, part.other].map { Story.fitted("  \($0 ?? "(no more)")") }
      } else {
        lines.append("Told twice more, it was the same conversation, line by line.")
      }
      lines.append(
        "Something in the app is not a function of its arguments: a clock, chance that is not of the "
          + "choices, a global variable, the order of a Set or a Dictionary.")
      story = lines.joined(separator: "\n")
    }

    /// The first line in which two conversations differ, from 1; `nil`: they do not.
    private static func parting(
      _ one: [String], _ other: [String]
    ) -> (line: Int, one: String?, other: String?)? {
      for index in 0..<max(one.count, other.count) {
        let first = index < one.count ? one[index] : nil
        let second = index < other.count ? other[index] : nil
        if first != second { return (index + 1, first, second) }
      }
      return nil
    }
  }

  extension RunFailure: CustomStringConvertible {
    public var description: String { story }
  }

#endif
