import Simulator
import Testing

/// Seeds in which the server hides old messages, and that once found a bug, each with its story.
@Suite struct PinnedLimitSeedTests {
  private func lived(_ seed: UInt64) -> ToldRun {
    let (result, trace) = Simulation<MessagesApp>.trace(SimulationConfiguration(seed: seed))
    #expect(result.finding == nil)
    let life = ToldRun(trace.lines)
    #expect(life.lines.contains { $0.text.hasSuffix("are hidden") })
    return life
  }

  /// A list was known up to 8, which is no message, and nothing newer was shown. A page after 8
  /// does not say whether it hides anything, so it was not believed, and was asked for until the
  /// end. Now such a page looks at one older message, too.
  @Test func `seed 4 of messages: a page after the limit shows whether its anchor is hidden`() {
    #expect(lived(4).lines.contains { $0.text.hasSuffix("sender:1 about 8, 1 before, 20 after") })
  }

  /// Five messages that the client did not hold were starred, one after the other, and all were
  /// hidden. A window looks across five gaps, and these five were enough to end it.
  @Test func `seed 2434 of messages: a window looks across all gaps that the server hides`() {
    #expect(lived(2434).lines.contains { $0.text.hasPrefix("[.=.=.=.====.===") })
  }
}
