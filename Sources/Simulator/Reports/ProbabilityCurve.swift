/// How likely a run is to fail, as a function of the step.
///
/// The run is repeated up to a step and continued by chance, many times over. The value is the
/// share of continuations that fail in the same way. The cause is where it rises most.
///
/// Best measured on a run that was made small. It has few faults left, so chance alone seldom
/// fails; it has few clients and steps, so a measurement is cheap. Not every step is measured:
/// measurements close in on the steepest rise known. Every step is continued with the same seeds,
/// so the same run always gives the same curve.
package struct ProbabilityCurve: Sendable {
  /// One measurement.
  package struct Point: Hashable, Sendable {
    /// The number of steps repeated.
    package var step: Int64
    /// The number of continuations that fail.
    package var failures: Int64
  }

  /// Ascending steps, from 0 to the last.
  package private(set) var points: [Point] = []
  /// The number of continuations per point.
  package let continuations: Int64
  /// The number of runs in all.
  package private(set) var runs: Int64 = 0

  /// The number of intervals measured before the steepest is refined.
  private static var intervals: Int64 { 16 }

  /// Measures a curve.
  ///
  /// - Parameters:
  ///   - steps: the steps of the failing run.
  ///   - continuations: how many runs continue from a step; at least 1.
  ///   - budget: the most runs; a measurement that has begun is finished.
  ///   - goesOn: called before every measurement; `false` stops with the result so far.
  ///   - fails: repeats that many steps, continues with a seed, and returns whether that fails in
  ///     the same way.
  package init(
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

  /// The neighbours between which the share rises most; the first of several. `nil`: it never
  /// rises.
  package var steepest: (low: Point, high: Point)? {
    var best: (low: Point, high: Point)?
    for (low, high) in zip(points, points.dropFirst()) {
      let rise = high.failures - low.failures
      if rise > best.map({ $0.high.failures - $0.low.failures }) ?? 0 { best = (low, high) }
    }
    return best
  }

  /// The step that made the failure likely. `nil`: none stands out, or there were too few runs to
  /// tell it from its neighbours.
  package var cause: Int64? {
    guard let (low, high) = steepest, high.step - low.step == 1 else { return nil }
    return high.step
  }

  /// The share of runs that fail after this measurement's steps, in whole percent.
  package func percent(_ point: Point) -> Int64 { point.failures * 100 / continuations }
}

extension ProbabilityCurve {
  /// The curve as a small chart: one row for each change of the share, with the event of that step.
  /// The cause is marked.
  ///
  /// - Parameters:
  ///   - trace: the conversation of the run that was measured.
  ///   - oracle: the oracle that objects to it.
  ///   - count: the most rows; at least 4.
  package func lines(
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

  /// A text like "▶ Step 3 is the cause: it raised the share from 8 % to 78 %. 840 runs were
  /// measured."
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
  /// differ most from their predecessor.
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

  /// The most important event of a step: a fault if there is one, otherwise another event; without
  /// events, the step's name.
  private static func event(of step: Int64, _ trace: Trace) -> String {
    let events = trace.events.filter { $0.step == step }
    let told = events.first { $0.who == "plant" || $0.who == "fault" } ?? events.first
    return told?.line ?? (step < trace.steps.count ? "(\(trace.steps[Int(step)]))" : "")
  }
}
