/// The numbers of an outbox.
public struct OutboxSettings: Hashable, Sendable {
  /// Waits after failures, pace, wakes, what a retry-after is clamped to, and whether there is a
  /// store: the machine's own numbers, each spent by the outbox for itself.
  public var machine = MachineSettings()
  /// So many mutations are kept. Each is replayed over every newer state: a thousand take some
  /// milliseconds, which nobody sees.
  public var pendingMaximum = 1000
  /// So much is kept in the app's own measure (``Mutation/size``): with bytes, 4 MiB, which is
  /// written with the replica again and again.
  public var sizeMaximum: Int64 = 4 << 20
  /// So many are sent in one push. What was lost is sent again, so a batch bounds what a bad
  /// connection costs; and the server runs a batch within one request.
  public var batchMaximum = 100
  /// How long a push may be out; doubles with each timeout up to the machine's `deadlineCap`.
  public var pushDeadline = TimeSpan.seconds(30)
  /// What was accepted and is not confirmed is sent again after this, for a server may say yes and
  /// forget; then after twice as long …
  public var resendFirst = TimeSpan.seconds(30)
  /// … up to this.
  public var resendCap = TimeSpan.minutes(10)
  /// Of so many discards of mutations it remembers that they were ones.
  public var discardsRemembered = 100

  @inlinable
  public init() {}
}
