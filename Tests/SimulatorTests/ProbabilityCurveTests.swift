import Simulator
import SyncProtocols
import Testing

/// Tests the curve: the share of runs that fail, as a function of the step from which they are
/// random.
@Suite struct ProbabilityCurveTests {
  // MARK: Made-up failures

  @Test(arguments: Array(Int64(1)...70) + [99, 100])
  func `the step that decides is found, wherever it is`(decisive: Int64) throws {
    let curve = ProbabilityCurve(steps: 100) { step, seed in step >= decisive || seed % 4 == 0 }
    #expect(curve.cause == decisive)
    let (low, high) = try #require(curve.steepest)
    #expect(curve.percent(low) == 25 && curve.percent(high) == 100)
    #expect(curve.runs == Int64(curve.points.count) * 40)
    #expect(curve.runs <= 1000)
    #expect(curve.points.map(\.step) == curve.points.map(\.step).sorted())
    #expect(curve.points.first?.step == 0 && curve.points.last?.step == 100)
  }

  @Test func `the steeper of two rises is the cause`() {
    let curve = ProbabilityCurve(steps: 40, continuations: 10) { step, seed in
      seed <= (step >= 30 ? 10 : step >= 7 ? 4 : 0)
    }
    #expect(curve.cause == 30)
  }

  @Test func `a curve without a rise has no cause`() throws {
    let flat = ProbabilityCurve(steps: 40) { _, _ in true }
    #expect(flat.steepest == nil && flat.cause == nil)
    let falling = ProbabilityCurve(steps: 40) { step, _ in step < 20 }
    #expect(falling.steepest == nil && falling.cause == nil)
    let none = ProbabilityCurve(steps: 0) { _, _ in true }
    #expect(none.points.map(\.step) == [0] && none.points.map(\.failures) == [40])
  }

  @Test func `the budget and the caller limit the runs, and a rough cause is reported`() {
    let curve = ProbabilityCurve(steps: 1000, budget: 17 * 40) { step, _ in step >= 500 }
    #expect(curve.runs == 17 * 40)
    #expect(curve.cause == nil)
    let told = curve.lines(Trace(), oracle: .replica).last
    #expect(
      told == "The cause is one of the steps 438 to 500: they raised the share from 0 % to 100 %. "
        + "680 runs were measured.")
    let stopped = ProbabilityCurve(
      steps: 1000, while: { $0.runs < 200 }, fails: { _, _ in true })
    #expect(stopped.runs == 200)
  }

  // MARK: Plants

  /// The curve of the first seed in which a plant is found, shrunk.
  private func curve(
    _ plant: Plant
  ) throws -> (curve: ProbabilityCurve, trace: Trace, oracle: Oracle) {
    for seed in UInt64(1)...200 {
      let configuration = SimulationConfiguration(seed: seed, plant: plant)
      guard let shrunk = Simulation<DirectoryApp>.shrunk(configuration, budget: 2000) else {
        continue
      }
      return try #require(Simulation<DirectoryApp>.curve(of: shrunk.token))
    }
    throw NotFound()
  }

  private struct NotFound: Error {}

  /// The cause is the step in which the server breaks its contract, or decides to.
  @Test(arguments: [
    Plant.breach(.lostEvent), .breach(.staleSnapshot), .breach(.wrongFinger),
    .breach(.forgottenDeletion), .neverAnswersAgain,
  ])
  func `the cause is the step in which the server breaks its contract`(plant: Plant) throws {
    let (curve, trace, oracle) = try curve(plant)
    let cause = try #require(curve.cause)
    let breaches = trace.events.filter { $0.who == "plant" }.map(\.step)
    #expect(breaches.contains { abs($0 - cause) <= 1 }, "\(cause), \(breaches)")
    let (low, high) = try #require(curve.steepest)
    #expect(curve.percent(high) - curve.percent(low) >= 40)
    #expect(curve.points.last.map(curve.percent) == 100)
    let lines = curve.lines(trace, oracle: oracle)
    #expect(lines.count <= Story.linesMaximum)
    #expect(lines.allSatisfy { $0.count <= Story.widthMaximum })
    let marked = lines.filter { $0.hasPrefix("▶ ") }
    #expect(marked.count == 2)
    #expect(marked.last?.hasPrefix("▶ Step \(cause) is the cause: ") == true)
  }

  @Test(arguments: [Plant.breach(.staleSnapshot), .breach(.lostEvent)])
  func `the same run gives the same curve, in few runs`(plant: Plant) throws {
    let (once, trace, oracle) = try curve(plant)
    let (again, _, _) = try curve(plant)
    #expect(once.points == again.points)
    #expect(once.runs <= 1600)
    #expect(once.lines(trace, oracle: oracle, atMost: 4).count <= 7)
  }

  @Test func `a run without a failure has no curve`() {
    let configuration = SimulationConfiguration(seed: 1)
    let lists = ChoiceLists(Simulation<DirectoryApp>.choices(of: configuration))
    #expect(Simulation<DirectoryApp>.curve(of: RunToken(configuration, lists)) == nil)
  }
}
