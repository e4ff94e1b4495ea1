/// The settings of backoffs, deadlines, pace and wakes.
@usableFromInline
package struct RetrySettings: Hashable, Sendable {
  /// The first wait after a failure that is likely to pass; it doubles: 0.1, 0.2, 0.4 … 10 s.
  @usableFromInline package var transientFirst: TimeSpan = .milliseconds(100)
  /// The longest wait after a failure that is likely to pass.
  @usableFromInline package var transientCap: TimeSpan = .seconds(10)
  /// The first wait after a failure that costs the server much; it doubles: 1, 2, 4 … 60 s.
  @usableFromInline package var slowFirst: TimeSpan = .seconds(1)
  /// The longest wait after a failure that costs the server much.
  @usableFromInline package var slowCap: TimeSpan = .seconds(60)
  /// The slow wait is short again if the last slow failure is longer ago than this and the next
  /// wait together. A log that expires within this time of its register counts as a slow failure.
  @usableFromInline package var healthy: TimeSpan = .seconds(60)
  /// The longest deadline. Deadlines double with each timeout.
  @usableFromInline package var deadlineCap: TimeSpan = .minutes(5)
  /// The least that a server's retry-after counts as.
  @usableFromInline package var retryAfterFloor: TimeSpan = .milliseconds(100)
  /// The most that a server's retry-after counts as.
  @usableFromInline package var retryAfterCap: TimeSpan = .minutes(10)
  /// The pace, which all requests pass: 11 at once, then one per 400 ms.
  @usableFromInline package var paceInterval: TimeSpan = .milliseconds(400)
  /// One less than the number of requests that may be sent at once; at least 0.
  @usableFromInline package var paceBurst: Int64 = 10
  /// Wakes, which may cut a wait short: 3 at once, then one per 10 s.
  @usableFromInline package var wakeInterval: TimeSpan = .seconds(10)
  /// How many wakes may be spent at once; at least 1.
  @usableFromInline package var wakeBurst: Int64 = 3

  @inlinable
  package init() {}
}

/// Decides when a request may be sent, and when it is sent again after a failure. It holds pace,
/// wakes, backoffs, the server's floor and the armed timer. Each part of a client that sends
/// requests has its own.
///
/// It only decides how long to wait. The part decides which failure gets which wait, and what
/// resets a backoff.
@usableFromInline
struct Retry: Hashable, Sendable {
  /// The part that it belongs to, named in its timers.
  @usableFromInline let part: ClientPart
  /// The budget of all requests.
  @usableFromInline var pace = TokenBucket()
  /// The budget of signals that cut a wait short.
  @usableFromInline var wakes = TokenBucket()
  /// The backoff of failures that are likely to pass.
  @usableFromInline var transient = Backoff()
  /// The backoff of failures that cost the server much.
  @usableFromInline var slow = SlowBackoff()
  /// How often the deadline has doubled.
  @usableFromInline var timeouts = Backoff()
  /// The server's floor: it asked us to send nothing before.
  @usableFromInline var notBefore: Moment = .distantPast
  /// The only armed timer.
  @usableFromInline var timer: ArmedTimer?
  /// How many timers were armed so far.
  @usableFromInline var timerCount: UInt64 = 0

  @inlinable
  init(_ part: ClientPart) { self.part = part }

  // MARK: Pace and wakes

  /// The first moment at which one more request may be sent.
  @inlinable
  func ready(_ settings: RetrySettings) -> Moment {
    max(notBefore, pace.ready(burst: settings.paceBurst, interval: settings.paceInterval))
  }

  /// Pays for one request.
  @inlinable
  mutating func spend(at now: Moment, _ settings: RetrySettings) {
    pace.spend(at: now, interval: settings.paceInterval)
  }

  /// Pays for a wake, if one is left; returns whether it did. The next failure's wait is then
  /// short. A connection that has just come back often fails once more, and the user is looking
  /// (SyncBugs 11).
  @inlinable
  mutating func payWake(at now: Moment, _ settings: RetrySettings) -> Bool {
    guard
      wakes.trySpending(
        at: now, burst: settings.wakeBurst - 1, interval: settings.wakeInterval)
    else { return false }
    transient.reset()
    return true
  }

  // MARK: Waits

  /// Returns the wait after a failure that is likely to pass.
  @inlinable
  mutating func takeTransient(_ settings: RetrySettings) -> TimeSpan {
    transient.take(first: settings.transientFirst, cap: settings.transientCap)
  }

  /// Returns the wait after a failure that costs the server much.
  @inlinable
  mutating func takeSlow(at now: Moment, _ settings: RetrySettings) -> TimeSpan {
    slow.take(at: now, settings)
  }

  /// Applies a server's retry-after, and returns the longest wait. It is spread by a tenth, because
  /// many clients were told the same moment, or by the backoff's wait if that is longer.
  @inlinable
  mutating func limit(
    for asked: TimeSpan?, isSlow: Bool, at now: Moment, _ settings: RetrySettings
  ) -> TimeSpan {
    let after = quieten(for: asked, at: now, settings)
    let backoff = isSlow ? takeSlow(at: now, settings) : takeTransient(settings)
    return after + max(TimeSpan(milliseconds: after.milliseconds / 10), backoff)
  }

  /// Applies a server's retry-after. Returns for how long nothing is asked.
  @discardableResult
  @inlinable
  mutating func quieten(
    for asked: TimeSpan?, at now: Moment, _ settings: RetrySettings
  ) -> TimeSpan {
    let after = min(max(asked ?? .zero, settings.retryAfterFloor), settings.retryAfterCap)
    notBefore = now + after
    return after
  }

  /// Returns how long the next request may be out.
  @inlinable
  func deadline(first: TimeSpan, _ settings: RetrySettings) -> TimeSpan {
    timeouts.next(first: first, cap: settings.deadlineCap)
  }

  // MARK: The timer

  /// Arms the timer. None may be armed.
  @inlinable
  mutating func arm(_ range: MomentRange) -> TimerArm {
    timerCount += 1
    let id = TimerID(part: part, timerCount)
    timer = ArmedTimer(id: id, latest: range.latest)
    return TimerArm(timer: id, range: range)
  }

  /// Arms the timer for a wait of up to `wait`, and at least until the server's floor.
  @inlinable
  mutating func arm(within wait: TimeSpan, at now: Moment) -> TimerArm {
    let earliest = max(now + .milliseconds(1), notBefore)
    return arm(MomentRange(from: earliest, to: max(earliest, now + wait)))
  }

  /// Disarms the timer and returns its ID; `nil` if none is armed.
  @inlinable
  mutating func disarm() -> TimerID? {
    guard let armed = timer else { return nil }
    timer = nil
    return armed.id
  }

  /// Returns and clears the armed timer, if it is the one that fired.
  @inlinable
  mutating func take(fired id: TimerID) -> ArmedTimer? {
    guard let armed = timer, armed.id == id else { return nil }
    timer = nil
    return armed
  }
}

/// An armed timer.
@usableFromInline
package struct ArmedTimer: BitwiseCopyable, Hashable, Sendable {
  @usableFromInline package var id: TimerID
  /// The end of its range.
  @usableFromInline package var latest: Moment

  @inlinable
  package init(id: TimerID, latest: Moment) {
    self.id = id
    self.latest = latest
  }
}

/// A timer to arm: feed `fired` once, at a moment drawn from the range.
@usableFromInline
package struct TimerArm: BitwiseCopyable, Hashable, Sendable {
  @usableFromInline package var timer: TimerID
  @usableFromInline package var range: MomentRange

  @inlinable
  package init(timer: TimerID, range: MomentRange) {
    self.timer = timer
    self.range = range
  }
}

/// The backoff of failures that cost the server much: refused state, lost logs, failed registers.
///
/// Only time resets it (TheMachine §5, *nS*), not a snapshot or a poll. Otherwise a server that
/// gives good snapshots and then refuses what follows would be flooded. Story: a quick poll is
/// good, then an event is refused, for ever: 1,041 requests in ten minutes without this rule, 42
/// with it.
@usableFromInline
package struct SlowBackoff: Hashable, Sendable {
  @usableFromInline var backoff = Backoff()
  /// When the last slow failure was, and the wait that it got.
  @usableFromInline var lastFailure: Moment?
  @usableFromInline var lastWait: TimeSpan = .zero

  @inlinable
  package init() {}

  /// Returns the wait after a slow failure at `now`. It is short again if the last failure was
  /// longer ago than `healthy` plus the wait that this one would get.
  @inlinable
  package mutating func take(at now: Moment, _ settings: RetrySettings) -> TimeSpan {
    let next = backoff.next(first: settings.slowFirst, cap: settings.slowCap)
    if let lastFailure, now - lastFailure > settings.healthy + next { backoff.reset() }
    lastFailure = now
    lastWait = backoff.take(first: settings.slowFirst, cap: settings.slowCap)
    return lastWait
  }

  /// How much of the last wait is left, whatever moment was drawn; zero or less if it is over.
  @inlinable
  package func left(at now: Moment) -> TimeSpan {
    guard let lastFailure else { return .zero }
    return lastFailure + lastWait - now
  }
}
