internal import UpdateMachine

/// How long a client waits before it tries again.
package enum HerdPolicy: String, CaseIterable, Sendable {
  /// The machine's own waits.
  case ours
  /// Always the first wait.
  case none
  /// Doubles with each failure; no chance.
  case exponential
  /// Half of the exponential wait, and up to as much again.
  case equal
  /// Anything up to the exponential wait.
  case full
  /// Anything from the first wait to three times the last one.
  case decorrelated

  /// Returns a wait in milliseconds.
  ///
  /// Sources: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, for the three
  /// kinds of jitter.
  ///
  /// - Parameters:
  ///   - attempt: how many attempts have failed before this one.
  ///   - last: the last wait; 0: there was none.
  ///   - first: the first wait.
  ///   - cap: the longest wait.
  ///   - draw: a random word.
  package func wait(
    attempt: Int64, last: Int64, first: Int64, cap: Int64, draw: UInt64
  ) -> Int64 {
    let exponential = TimeSpan(milliseconds: first)
      .doubled(times: attempt, cap: TimeSpan(milliseconds: cap)).milliseconds
    switch self {
    case .ours, .none: return first
    case .exponential: return exponential
    case .equal: return exponential / 2 + HerdPolicy.upTo(exponential - exponential / 2, draw)
    case .full: return HerdPolicy.upTo(exponential, draw)
    case .decorrelated:
      let most = max(first, last) * 3
      return min(cap, first + HerdPolicy.upTo(most - first, draw))
    }
  }

  /// A number from 0 to `most`, from a random word.
  static func upTo(_ most: Int64, _ draw: UInt64) -> Int64 {
    guard most > 0 else { return 0 }
    return Int64(draw.multipliedFullWidth(by: UInt64(most) + 1).high)
  }
}
