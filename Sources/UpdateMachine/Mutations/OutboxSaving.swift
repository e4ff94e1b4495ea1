/// Sees to it that what an outbox wants to be durable is saved: at once, and again after a failure,
/// with growing waits. It stands beside the outbox, and is asked whenever that asks to be saved.
///
///     level ──wanted──▶ saving ──saved──▶ level
///                       │    ▲
///                failed ▼    │ timer, started
///                       waiting
///
/// Whoever performs its effects saves the replica as it is then, one save at a time. A save that is
/// made for another reason, as the machine's own, counts as well.
///
/// A plain value, like the outbox: it knows nothing of stores, and does not draw.
public struct OutboxSaving: Hashable, Sendable {
  private var settings: MachineSettings
  private var wanted = OutboxVersion(0)
  private var durable = OutboxVersion(0)
  /// The last save failed, and the next waits: for this timer, or without one for the start.
  private var isWaiting = false
  private var timer: TimerID?
  private var timerCount: UInt64 = 0
  private var backoff = Backoff()
  private var isStarted = false

  /// What happened.
  public enum Input: Hashable, Sendable {
    /// The outbox asks to be durable as of this version. While not started, that is another try.
    case wanted(OutboxVersion)
    /// A save of the outbox as of this version is over.
    case saved(OutboxVersion)
    /// A save failed.
    case failed
    /// A timer fired, at any time after it was armed.
    case fired(TimerID)
    /// From now on there is somebody who waits for timers.
    case started
    case stopped
  }

  /// What to do, in this order.
  public struct Effects: Hashable, Sendable {
    /// The timer that must not fire any more.
    public var disarm: TimerID?
    /// Save the replica as it is now, or later. Gets one answer, also if several are made as one.
    public var saves = false
    /// Feed `fired` once, at a moment drawn from the range.
    public var arm: Arm?

    @inlinable
    public init() {}
  }

  /// A timer and when it shall fire.
  public struct Arm: Hashable, Sendable {
    public var timer: TimerID
    public var range: MomentRange
  }

  /// Nothing is wanted, and it is not started.
  /// - Parameter settings: the waits after failures: the transient ones.
  public init(settings: MachineSettings = MachineSettings()) { self.settings = settings }

  /// Takes one input; returns what to do about it. Never fails: what is late is absorbed.
  public mutating func handle(_ input: Input, at now: Moment) -> Effects {
    var effects = Effects()
    switch input {
    case .wanted(let version):
      wanted = max(wanted, version)
      if !isWaiting || !isStarted { save(&effects) }
    case .saved(let version):
      durable = max(durable, version)
      backoff.reset()
      guard isWaiting else { break }  // What is newer has been asked for, and comes.
      disarm(&effects)
      save(&effects)
    case .failed: failed(at: now, &effects)
    case .fired(let id):
      guard timer == id else { break }  // Disarmed meanwhile: absorbed.
      timer = nil
      save(&effects)
    case .started:
      isStarted = true
      if timer == nil { save(&effects) }
    case .stopped:
      isStarted = false
      disarm(&effects)
    }
    return effects
  }

  /// Whether something is wanted that is not durable.
  public var isDue: Bool { durable < wanted }

  private mutating func save(_ effects: inout Effects) {
    isWaiting = false
    effects.saves = isDue
  }

  private mutating func failed(at now: Moment, _ effects: inout Effects) {
    guard isDue, timer == nil else { return }
    isWaiting = true
    guard isStarted else { return }
    let wait = backoff.take(first: settings.transientFirst, cap: settings.transientCap)
    timerCount += 1
    let id = TimerID(timerCount)
    let earliest = now + .milliseconds(1)
    timer = id
    effects.arm = Arm(
      timer: id, range: MomentRange(from: earliest, to: max(earliest, now + wait)))
  }

  private mutating func disarm(_ effects: inout Effects) {
    effects.disarm = timer
    timer = nil
  }
}
