/// What a server promised with a finger. Terms are saved with the finger and outlive it: they hold
/// until the next snapshot.
public struct ServerTerms: Hashable, Sendable {
  /// How long a waiting poll may be out before we cancel it.
  @usableFromInline package var longDeadline: TimeSpan
  /// How long the server keeps the log of a client that does not wait on it.
  @usableFromInline package var lifetime: TimeSpan
  /// How the protocol wants to be asked.
  @usableFromInline package var cadence: Cadence

  /// Clamps spans that make no sense. With a lifetime below zero, each snapshot would be dropped as
  /// too old, and the client would register for ever.
  @inlinable
  public init(longDeadline: TimeSpan, lifetime: TimeSpan, cadence: Cadence = .waits) {
    self.longDeadline = max(longDeadline, .milliseconds(1))
    self.lifetime = max(lifetime, .zero)
    self.cadence = cadence
  }

  /// The longest silence of a server to which nothing happens: a waiting poll may be out so long,
  /// or the next poll is due only then.
  @inlinable
  package var longestSilence: TimeSpan {
    if case .every(let period) = cadence { max(longDeadline, period) } else { longDeadline }
  }

  /// The terms until a server has given some: Zulip's defaults, with a margin on the deadline.
  @inlinable
  package static var unspoken: ServerTerms {
    ServerTerms(longDeadline: .seconds(100), lifetime: .seconds(600))
  }
}

/// How a protocol wants to be asked for news (TheMachine §9).
public enum Cadence: Hashable, Sendable {
  /// Long poll: the server holds a waiting poll open until there is news.
  case waits
  /// Every poll is answered at once. The next is due this long after an up-to-date answer; a paid
  /// wake asks at once.
  case every(TimeSpan)
  /// A waiting poll is a subscription. It stays out, and each `polled` for it is one push. The long
  /// deadline is the longest silence: within it the server must send at least a ping. Only its
  /// beginning acknowledges anything: what comes later may not be written yet.
  case pushed
}
