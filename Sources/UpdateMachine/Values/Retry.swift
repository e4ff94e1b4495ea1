/// The numbers by which something that asks a server waits.
public struct RetrySettings: Hashable, Sendable {
  /// First and longest wait after a failure that is likely to pass: 0.1, 0.2, 0.4 … 10 s.
  public var transientFirst: TimeSpan = .milliseconds(100)
  /// The longest wait after a failure that is likely to pass.
  public var transientCap: TimeSpan = .seconds(10)
  /// First and longest wait after a failure that costs the server much: 1, 2, 4 … 60 s.
  public var slowFirst: TimeSpan = .seconds(1)
  /// The longest wait after a failure that costs the server much.
  public var slowCap: TimeSpan = .seconds(60)
  /// So long after a slow failure the slow wait is short again.
  public var healthy: TimeSpan = .seconds(60)
  /// The longest that a deadline gets, which doubles with each timeout.
  public var deadlineCap: TimeSpan = .minutes(5)
  /// What a server's retry-after is clamped to.
  public var retryAfterFloor: TimeSpan = .milliseconds(100)
  /// The longest that a server's retry-after is believed.
  public var retryAfterCap: TimeSpan = .minutes(10)
  /// All requests pass this: 11 at once, then one per 400 ms.
  public var paceInterval: TimeSpan = .milliseconds(400)
  /// One less than the requests that may be sent at once. A count, at least 0.
  public var paceBurst: Int64 = 10
  /// Wake-ups that may cut a wait: 3 at once, then one per 10 s.
  public var wakeInterval: TimeSpan = .seconds(10)
  /// The wake-ups that may be spent at once. A count, at least 1.
  public var wakeBurst: Int64 = 3

  @inlinable
  public init() {}
}

/// When something may be asked, and when it is asked again after a failure: pace, wakes, backoffs, the
/// server's floor, and the timer that is armed. Each part of a client that asks has one of its own.
///
/// It decides no more than how long to wait. Which failure gets which wait, and what resets a backoff,
/// is the part's to say.
@usableFromInline
struct Retry: Hashable, Sendable {
  /// Whose it is: named in the timers that it arms.
  @usableFromInline let part: ClientPart
  /// All requests pass this.
  @usableFromInline var pace = Allowance()
  /// Pays for signals that cut a wait.
  @usableFromInline var wakes = Allowance()
  /// The backoff of failures that are likely to pass.
  @usableFromInline var transient = Backoff()
  /// The backoff of failures that cost the server much.
  @usableFromInline var slow = SlowBackoff()
  /// How often the deadline has doubled.
  @usableFromInline var timeouts = Backoff()
  /// The server asked us to be quiet until then.
  @usableFromInline var notBefore: Moment = .distantPast
  /// The only timer that is armed.
  @usableFromInline var timer: ArmedTimer?
  /// How many timers were ever armed.
  @usableFromInline var timerCount: UInt64 = 0

  @inlinable
  init(_ part: ClientPart) { self.part = part }

  // MARK: Pace and wakes

  /// The first moment at which one more request may be sent.
  @inlinable
  func ready(_ settings: RetrySettings) -> Moment {
    max(notBefore, pace.ready(burst: settings.paceBurst, interval: settings.paceInterval))
  }

  /// One request is sent.
  @inlinable
  mutating func spend(at now: Moment, _ settings: RetrySettings) {
    pace.spend(at: now, interval: settings.paceInterval)
  }

  /// Pays for a wake-up, if one is left. The next failure's wait is then short: a connection that has
  /// just come back often fails once more, and the user is looking (BUGS 11).
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

  /// The wait after a failure that is likely to pass.
  @inlinable
  mutating func takeTransient(_ settings: RetrySettings) -> TimeSpan {
    transient.take(first: settings.transientFirst, cap: settings.transientCap)
  }

  /// The wait after a failure that costs the server much.
  @inlinable
  mutating func takeSlow(at now: Moment, _ settings: RetrySettings) -> TimeSpan {
    slow.take(at: now, settings)
  }

  /// The server asks for patience. Returns the wait: spread by a tenth, because everybody was told the
  /// same moment, and at least as long as the backoff's.
  @inlinable
  mutating func limit(
    for asked: TimeSpan?, isSlow: Bool, at now: Moment, _ settings: RetrySettings
  ) -> TimeSpan {
    let after = quieten(for: asked, at: now, settings)
    let backoff = isSlow ? takeSlow(at: now, settings) : takeTransient(settings)
    return after + max(TimeSpan(milliseconds: after.milliseconds / 10), backoff)
  }

  /// The server asks for patience. Returns for how long nothing is asked.
  @discardableResult
  @inlinable
  mutating func quieten(
    for asked: TimeSpan?, at now: Moment, _ settings: RetrySettings
  ) -> TimeSpan {
    let after = min(max(asked ?? .zero, settings.retryAfterFloor), settings.retryAfterCap)
    notBefore = now + after
    return after
  }

  /// How long the next request may be out.
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

  /// Arms the timer for a wait of up to `wait` from now, never under the server's floor.
  @inlinable
  mutating func arm(within wait: TimeSpan, at now: Moment) -> TimerArm {
    let earliest = max(now + .milliseconds(1), notBefore)
    return arm(MomentRange(from: earliest, to: max(earliest, now + wait)))
  }

  /// The timer must not fire any more; `nil`: none is armed.
  @inlinable
  mutating func disarm() -> TimerID? {
    guard let armed = timer else { return nil }
    timer = nil
    return armed.id
  }

  /// A timer fired: what was armed, if it is that one.
  @inlinable
  mutating func take(fired id: TimerID) -> ArmedTimer? {
    guard let armed = timer, armed.id == id else { return nil }
    timer = nil
    return armed
  }
}

/// A timer that was armed.
public struct ArmedTimer: BitwiseCopyable, Hashable, Sendable {
  public var id: TimerID
  /// The end of its range.
  public var latest: Moment

  @inlinable
  public init(id: TimerID, latest: Moment) {
    self.id = id
    self.latest = latest
  }
}

/// A timer to arm: feed `fired` once, at a moment drawn from the range.
public struct TimerArm: BitwiseCopyable, Hashable, Sendable {
  public var timer: TimerID
  public var range: MomentRange

  @inlinable
  public init(timer: TimerID, range: MomentRange) {
    self.timer = timer
    self.range = range
  }
}

/// The backoff of failures that cost the server much: refused state, lost logs, failed registers.
///
/// Only time resets it (MACHINE §5, *nS*): not a snapshot, not a poll, for a server that gives good
/// snapshots and then refuses what follows would be stormed. Story: a quick poll is good, then an
/// event is refused, for ever: 1,041 requests in ten minutes without this rule, 44 with it.
public struct SlowBackoff: Hashable, Sendable {
  @usableFromInline var backoff = Backoff()
  /// When the last slow failure was, and how long a wait it got.
  @usableFromInline var lastFailure: Moment?
  @usableFromInline var lastWait: TimeSpan = .zero

  @inlinable
  public init() {}

  /// A slow failure at `now`: the wait it gets. Short again if the last one was longer ago than the
  /// healthy time and the wait that this one would get.
  @inlinable
  public mutating func take(at now: Moment, _ settings: RetrySettings) -> TimeSpan {
    let next = backoff.next(first: settings.slowFirst, cap: settings.slowCap)
    if let lastFailure, now - lastFailure > settings.healthy + next { backoff.reset() }
    lastFailure = now
    lastWait = backoff.take(first: settings.slowFirst, cap: settings.slowCap)
    return lastWait
  }

  /// What is left of the last wait, whatever was drawn from it; zero or less if it is over.
  @inlinable
  public func left(at now: Moment) -> TimeSpan {
    guard let lastFailure else { return .zero }
    return lastFailure + lastWait - now
  }
}
