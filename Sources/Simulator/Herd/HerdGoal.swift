/// What a herd should keep to when it returns to a server that can answer C registers in a second,
/// and N clients are to be live again.
package enum HerdGoal: String, CaseIterable, Sendable {
  /// In no second after the first does more work come than 1.2 times what the server can do.
  case peak
  /// A client sends three requests until it is live, on average.
  case requests
  /// All are live within 1.5 N ÷ C.
  case time
  /// All are live in the end (``HerdRun/patience(_:)``): the trouble does not outlast its cause.
  case recovery
}

extension HerdRun {
  /// How long all may take to be live, in milliseconds: 1.5 N ÷ C.
  package static func allowed(_ settings: HerdSettings) -> Int64 { settings.shortest * 3 / 2 }

  /// The goals that are missed.
  package var missed: [HerdGoal] {
    HerdGoal.allCases.filter { goal in
      switch goal {
      case .peak: return peakLoad > 1200
      case .requests: return tries > 300
      case .time: return (worst { $0.live100 } ?? .max) > HerdRun.allowed(settings)
      case .recovery: return worst { $0.live100 } == nil
      }
    }
  }
}
