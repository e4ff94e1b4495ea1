/// What a server promised with a finger. Saved with it, and outlives it: the terms of the last
/// snapshot hold until the next one.
public struct Terms: Hashable, Sendable {
  /// How long a waiting poll may be out before we give it up.
  public var longDeadline: TimeSpan
  /// How long the server keeps the log of a client that does not wait on it.
  public var lifetime: TimeSpan
  /// When the next question is due.
  public var cadence: Cadence

  /// Spans that make no sense are the least that do: a server that promises a lifetime below zero
  /// would otherwise have each of its snapshots dropped as too old, and register for ever.
  @inlinable
  public init(longDeadline: TimeSpan, lifetime: TimeSpan, cadence: Cadence = .waits) {
    self.longDeadline = max(longDeadline, .milliseconds(1))
    self.lifetime = max(lifetime, .zero)
    self.cadence = cadence
  }

  /// Until a server has said something: what Zulip says by default, with a margin on the deadline.
  @inlinable
  public static var unspoken: Terms {
    Terms(longDeadline: .seconds(100), lifetime: .seconds(600))
  }
}

/// How a protocol is asked for news (MACHINE §9).
public enum Cadence: Hashable, Sendable {
  /// Long poll: the server holds a waiting poll open until there is something to say.
  case waits
  /// Every poll is answered at once. After a level answer the next is due this much later; a paid
  /// wake asks at once.
  case every(TimeSpan)
  /// A waiting poll is a subscription: it stays out, and each `polled` for it is one push. The long
  /// deadline is then the longest silence: the server must say something, if only a ping, within it.
  case pushed
}
