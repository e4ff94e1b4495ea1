/// The settings of an outbox.
public struct OutboxSettings: Hashable, Sendable {
  /// The machine's own settings: waits after failures, pace, wakes, bounds of retry-after, and
  /// whether there is a store. The outbox has budgets of its own, with these numbers.
  @usableFromInline package var machine = MachineSettings()
  /// The most mutations kept. Each is replayed over every newer state. A thousand take a few
  /// milliseconds, too few to notice.
  public var pendingMaximum = 1000
  /// The most data kept, in the app's own measure (``Mutation/size``). With bytes, the default is 4
  /// MiB. A new mutation that would exceed it throws ``MutationError/full``; an edit may exceed it.
  public var sizeMaximum: Int64 = 4 << 20
  /// The most mutations in one push. Lost ones are sent again, so a batch bounds the cost of a bad
  /// connection. The server runs a batch within one request.
  @usableFromInline package var batchMaximum = 100
  /// The time that a push may take. It doubles with each timeout, up to the machine's
  /// `deadlineCap`.
  @usableFromInline package var pushDeadline = TimeSpan.seconds(30)
  /// The first wait before accepted mutations that are not confirmed are sent again, because a
  /// server may say yes and forget. The next wait is twice as long …
  package var resendFirst = TimeSpan.seconds(30)
  /// … up to this.
  package var resendCap = TimeSpan.minutes(10)
  /// How many discards are remembered as such (``Outbox/state(of:)``).
  package var discardsRemembered = 100
  /// The most changes that can be undone, and the most that can be redone. The oldest is forgotten.
  package var undoMaximum = 100

  /// Creates the defaults, which suit most apps.
  @inlinable
  public init() {}
}
