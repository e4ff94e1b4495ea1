import Testing

@testable import Simulator
@testable import ZulipWorld
@testable import simulate

/// Tests of the world `zulip`, which is run only by its name.
struct ZulipWorldTests {
  private func configuration(_ seed: UInt64) -> SimulationConfiguration {
    var configuration = SimulationConfiguration(seed: seed)
    configuration.world = .zulip
    return configuration
  }

  @Test(arguments: Engine.allCases)
  func `every account converges`(engine: Engine) throws {
    let run = CommandRun(
      "run --world zulip --seeds \(engine == .value ? 24 : 6) --engine \(engine.rawValue) --json")
    #expect(run.code == .success, "\(run.output)")
    #expect(try run.json()["failures"] as? Int == 0)
  }

  @Test func `a seed gives one trace, and its choices give it again`() throws {
    let configuration = configuration(7)
    let result = EveryWorld.run(configuration)
    #expect(EveryWorld.run(configuration).hash == result.hash)
    let (traced, trace) = EveryWorld.trace(configuration)
    #expect(traced.hash == result.hash)
    let choices = ChoiceLists(Simulation<ZulipApp>.choices(of: configuration))
    let token = try RunToken(RunToken(configuration, choices).text)
    #expect(token.configuration.world == .zulip)
    #expect(EveryWorld.traceReplay(token).1.lines == trace.lines)
  }

  @Test func `a plant is found, and its run is made small`() {
    let run = CommandRun(
      "run --world zulip --plant lost-event --seeds 40 --until-failure --shrink 300")
    #expect(run.code == .failure)
    let text = run.output.joined(separator: "\n")
    #expect(text.contains("simulate replay ") && text.contains("--world zulip"), "\(text)")
  }

  @Test func `all that people can do happens`() {
    var missing = [
      "sent by", "edited", "moved with", "deleted", "flags +", "flags -", "reaction +",
      "follows channel", "leaves channel", "is named", "deactivated", "active again", "made: ",
      "described", "no client can read", "page", "drafts [", "draft 1 edited", "draft 2 deleted",
    ]
    for seed in 1...30 as ClosedRange<UInt64> where !missing.isEmpty {
      let text = EveryWorld.trace(configuration(seed)).1.text
      missing.removeAll { text.contains($0) }
    }
    #expect(missing == [])
  }

  @Test func `no seed draws it`() {
    #expect(!LibraryWorld.allCases.contains(.zulip))
    #expect((0..<999 as Range<UInt64>).allSatisfy { LibraryWorld.drawn(by: $0) != .zulip })
  }
}
