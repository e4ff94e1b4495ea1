#if !hasFeature(Embedded)

  /// A failing run: what was found, and everything needed to see why.
  public struct RunFailure: Sendable {
    /// The run's seed; `nil`: it was repeated from a token.
    public var seed: UInt64?
    /// What was found; in the small run, if there is one.
    public var finding: Finding
    /// The story, on at most one screen: what was expected and found, where they differ, what led
    /// to it, and the code to type to repeat it. One line each, without a final line feed.
    public var story: String
    /// The whole conversation of the run; the story tells its end.
    public var trace: Trace
    /// The argument of `Simulation.replay(_:)` that repeats the run. `nil`: it cannot be made
    /// small, because it fails only with real actors (its seed repeats it) or is not deterministic.
    public var token: String?

    /// Describes a run in which something was found.
    ///
    /// - Parameters:
    ///   - repeating: the code to type to repeat it.
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

    /// Describes a seed whose runs differ.
    ///
    /// - Parameters:
    ///   - result: the first run, whose finding is the difference.
    ///   - one: the conversation of a second run.
    ///   - other: the conversation of a third run.
    init(twoStories result: RunResult, _ one: Trace, _ other: Trace) {
      guard let finding = result.finding else { preconditionFailure("a failing run has a finding") }
      seed = result.seed
      self.finding = finding
      trace = one
      var lines = [finding.found.prefix(1).uppercased() + finding.found.dropFirst() + "."]
      if let part = RunFailure.parting(one.lines, other.lines) {
        lines.append("Run twice more, the traces differ first in line \(part.line):")
        lines += [part.one, part.other].map { Story.fitted("  \($0 ?? "(no more)")") }
      } else {
        lines.append("Run twice more, the traces were equal, line by line.")
      }
      lines.append(
        "Something in the app is not a function of its arguments: a clock, randomness outside the "
          + "choices, a global variable, the order of a Set or a Dictionary.")
      story = lines.joined(separator: "\n")
    }

    /// The first line in which two conversations differ, from 1; `nil`: they are equal.
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
