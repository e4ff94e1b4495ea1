import Foundation
import Simulator

/// What `explore --share` prints: which share of a world's states random walks come to.
struct WalkReport {
  private var rows: [Row] = []

  /// What walks had come to at some moment.
  private struct Row {
    var way: String
    var walks: Int64
    var steps: Int64
    /// How many of the steps were repetitions of earlier walks.
    var repeated: Int64
    var reached: Int64
    var share: Double

    var line: String {
      way.padding(toLength: 8, withPad: " ", startingAt: 0)
        + "\(walks) walks, \(steps) steps, \(reached) states, "
        + String(format: "%.2f %%", 100 * share)
    }

    var json: String {
      "{\"way\":\"\(way)\",\"walks\":\(walks),\"steps\":\(steps),"
        + "\"repeated\":\(repeated),\"reached\":\(reached),"
        + String(format: "\"share\":%.4f}", share)
    }
  }

  /// Takes the walks, and prints what they have come to: after each power of two of walks, and at
  /// the end. `nil`: none were asked for.
  init?<Model: ExplorableModel>(
    _ model: Model, _ options: ExploreOptions, _ explored: ExploreReport, _ console: Console
  ) {
    guard options.share != nil || options.walks != nil else { return nil }
    let clock = ContinuousClock()
    let start = clock.now
    let steps = walk(model, .uniform, explored, console) { walks, _ in
      if let count = options.walks { return walks < count }
      return clock.now - start < .seconds(options.share ?? 0)
    }
    _ = walk(model, .novelty, explored, console) { _, taken in taken < steps }
  }

  /// Walks in one way while `goesOn` says so; returns the number of steps.
  private mutating func walk<Model: ExplorableModel>(
    _ model: Model, _ way: RandomWalks<Model>.Way, _ explored: ExploreReport, _ console: Console,
    while goesOn: (_ walks: Int64, _ steps: Int64) -> Bool
  ) -> Int64 {
    let walks = RandomWalks(model, way, length: Int(2 * explored.depth), seed: 1)
    let progress = Progress(console)
    while goesOn(walks.walks, walks.steps), !Interrupt.wasAsked {
      walks.walk()
      let isPower = walks.walks & (walks.walks - 1) == 0
      let isLast = !goesOn(walks.walks, walks.steps) || Interrupt.wasAsked
      guard isPower || isLast else {
        progress.show("\(way.rawValue): \(walks.walks) walks, \(walks.reached) states")
        continue
      }
      let row = Row(
        way: way.rawValue, walks: walks.walks, steps: walks.steps, repeated: walks.repeated,
        reached: walks.reached,
        share: Double(walks.reached) / Double(max(explored.distinct, 1)))
      rows.append(row)
      console.progress(nil)
      console.out(row.line)
      if isLast { break }
    }
    return walks.steps
  }

  var json: String { "[\(rows.map(\.json).joined(separator: ","))]" }
}
