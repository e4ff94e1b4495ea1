/// How likely a failing run is to fail, step by step: the run is repeated up to each step and goes
/// on by chance after it, again and again; the share of those that fail in the same way is a
/// function of the step. Where it rises most, the cause is.
///
/// The best run to measure is one that was made small: it has little trouble left, so that chance
/// alone seldom fails, and few clients and steps, so that a measurement is cheap. Not every step is
/// measured: those that are lie ever closer around the steepest rise that is known. Every step goes
/// on from the same seeds, so the same run has the same curve.
public struct ProbabilityCurve: Sendable {
  /// One measurement.
  public struct Point: Hashable, Sendable {
    /// So many steps are repeated.
    public var step: Int64
    /// So many of the runs that go on from there fail.
    public var failures: Int64
  }

  /// Ascending steps, from 0 to the last.
  public private(set) var points: [Point] = []
  /// How many runs go on from each of them.
  public let continuations: Int64
  /// How many runs there were in all.
  public private(set) var runs: Int64 = 0

  /// How many intervals are measured before the steepest is refined.
  private static var intervals: Int64 { 16 }

  /// Measures.
  ///
  /// - Parameters:
  ///   - steps: how many steps the failing run has.
  ///   - continuations: how many runs go on from a step; at least 1.
  ///   - budget: how many runs there may be; a measurement that has begun is ended.
  ///   - goesOn: asked before every measurement; `false` stops with what there is.
  ///   - fails: repeats so many steps, goes on from a seed; whether that fails in the same way.
  public init(
    steps: Int64, continuations: Int64 = 40, budget: Int64 = 1600,
    while goesOn: (ProbabilityCurve) -> Bool = { _ in true },
    fails: (_ step: Int64, _ seed: UInt64) -> Bool
  ) {
    precondition(steps >= 0 && continuations >= 1, "a curve needs steps, and runs to go on")
    self.continuations = continuations
    let intervals = max(1, min(ProbabilityCurve.intervals, steps))
    var wanted = (0...intervals).map { steps * $0 / intervals }
    while let step = wanted.popLast() {
      guard runs < budget, goesOn(self) else { return }
      measure(step, fails)
      if wanted.isEmpty, let (low, high) = steepest, high.step - low.step > 1 {
        wanted.append(low.step + (high.step - low.step) / 2)
      }
    }
  }

  private mutating func measure(_ step: Int64, _ fails: (Int64, UInt64) -> Bool) {
    guard !points.contains(where: { $0.step == step }) else { return }
    var point = Point(step: step, failures: 0)
    for seed in 1...UInt64(continuations) where fails(step, seed) { point.failures += 1 }
    runs += continuations
    let index = points.firstIndex { $0.step > step } ?? points.count
    points.insert(point, at: index)
  }

  /// The neighbours between which the share rises most; the first such. `nil`: it never rises.
  public var steepest: (low: Point, high: Point)? {
    var best: (low: Point, high: Point)?
    for (low, high) in zip(points, points.dropFirst()) {
      let rise = high.failures - low.failures
      if rise > best.map({ $0.high.failures - $0.low.failures }) ?? 0 { best = (low, high) }
    }
    return best
  }

  /// The step that made the failure likely; `nil`: none stands out, or there were too few runs to
  /// tell it from its neighbours.
  public var cause: Int64? {
    guard let (low, high) = steepest, high.step - low.step == 1 else { return nil }
    return high.step
  }

  /// The share of runs that fail after this measurement's steps, in whole percent.
  public func percent(_ point: Point) -> Int64 { point.failures * 100 / continuations }
}

extension ProbabilityCurve {
  /// The curve as a small chart: a row where the share changes, with what happened in that step; the
  /// cause is marked.
  ///
  /// - Parameters:
  ///   - trace: the conversation of the run that was measured.
  ///   - oracle: who objects to it.
  ///   - count: how many rows there may be; at least 4.
  public func lines(
    _ trace: Trace, oracle: Oracle, atMost count: Int = Story.linesMaximum - 3
  ) -> [String] {
    var lines = [
      "How likely the failure was after each step: of \(continuations) runs that go on from there "
        + "by chance, so many fail by \(oracle.rawValue).",
      "      step  share",
    ]
    for point in shown(atMost: count) {
      let isCause = point.step == cause
      let step = Trace.padded("\(point.step)", before: 8)
      let share = Trace.padded("\(percent(point)) %", before: 7)
      let length = Int(percent(point) / 5)
      let bar =
        String(repeating: "█", count: length) + String(repeating: " ", count: 20 - length)
      let event = ProbabilityCurve.event(of: point.step, trace)
      lines.append(
        Story.fitted(
          "\(isCause ? "▶" : " ") \(step)\(share)  \(bar)  \(event)"))
    }
    lines.append(verdict)
    return lines
  }

  /// "▶ Step 3 is the cause: it raised the share from 8 % to 78 %. 840 runs were measured."
  private var verdict: String {
    guard let (low, high) = steepest else {
      return "No step stands out. \(runs) runs were measured."
    }
    let rise = "from \(percent(low)) % to \(percent(high)) %"
    if let cause {
      return "▶ Step \(cause) is the cause: it raised the share \(rise). "
        + "\(runs) runs were measured."
    }
    return "The cause is one of the steps \(low.step + 1) to \(high.step): they raised the share "
      + "\(rise). \(runs) runs were measured."
  }

  /// The first and the last measurement, the two around the cause, and of the others those that
  /// differ most from the one before them.
  private func shown(atMost count: Int) -> [Point] {
    var isShown = points.map { _ in false }
    for index in points.indices {
      let isEdge = index == points.indices.first || index == points.indices.last
      isShown[index] =
        isEdge || points[index].step == steepest?.low.step
        || points[index].step == steepest?.high.step
    }
    let others = points.indices.dropFirst().filter { !isShown[$0] && change($0) != 0 }
    let most = others.sorted { (change($0), $1) > (change($1), $0) }
    for index in most.prefix(max(0, count - 4)) { isShown[index] = true }
    return points.indices.filter { isShown[$0] }.map { points[$0] }
  }

  private func change(_ index: Int) -> Int64 {
    let change = points[index].failures - points[index - 1].failures
    return change < 0 ? -change : change
  }

  /// What was seen in a step: a fault rather than anything else; if nothing was, what the step is.
  private static func event(of step: Int64, _ trace: Trace) -> String {
    let events = trace.events.filter { $0.step == step }
    let told = events.first { $0.who == "plant" || $0.who == "fault" } ?? events.first
    return told?.line ?? (step < trace.steps.count ? "(\(trace.steps[Int(step)]))" : "")
  }
}
