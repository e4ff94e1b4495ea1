import Foundation
import Simulator

/// A failing run made small, and how long that took.
struct SmallRun {
  /// `nil`: it could not be repeated.
  var shrunk: Shrunk?
  var milliseconds: Double
}

extension RunReport {
  /// Makes the failing run small; does nothing if no run failed.
  mutating func makeSmall(while goesOn: @escaping (Shrinker) -> Bool) {
    guard options.shrinks, let failure = outcome.statistics.shortestFailure else { return }
    let configuration = options.configuration(ofSeed: failure.seed)
    let clock = ContinuousClock()
    let start = clock.now
    let shrunk = EveryWorld.shrunk(configuration, while: goesOn)
    small = SmallRun(shrunk: shrunk, milliseconds: (clock.now - start).milliseconds)
  }

  /// The failing run as a JSON object; `null`: none failed.
  var failureJSON: String {
    guard let failure = outcome.statistics.shortestFailure, let finding = failure.finding else {
      return "null"
    }
    var fields = [
      "\"seed\":\(failure.seed)", "\"runs\":\(outcome.statistics.seeds)",
      String(format: "\"milliseconds\":%.3f", outcome.seconds * 1000),
      "\"oracle\":\"\(finding.oracle.rawValue)\"",
    ]
    if let small, let shrunk = small.shrunk {
      fields.append("\"choicesLeft\":\(shrunk.choicesLeft)")
      fields.append("\"stepsLeft\":\(EveryWorld.traceReplay(shrunk.token).0.steps)")
      fields.append(String(format: "\"shrinkingMilliseconds\":%.3f", small.milliseconds))
      fields.append("\"token\":\"\(shrunk.token.text)\"")
    }
    return "{\(fields.joined(separator: ","))}"
  }
}

extension Duration {
  /// The duration as a number of milliseconds.
  var milliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
  }
}
