public import UpdateMachine

/// The ways in which a server can break its contract (*plants*), where a client must trust it. An
/// oracle must catch each.
public enum QueueBreach: String, CaseIterable, Hashable, Sendable {
  /// An event is committed, but one queue never gets it.
  case lostEvent = "lost-event"
  /// A snapshot is older than the finger that it comes with.
  case staleSnapshot = "stale-snapshot"
  /// The contents of two events are exchanged. Their IDs stay in order.
  case reorderedEvents = "reordered-events"
  /// The finger of a register is ahead of its snapshot, and of the queue.
  case wrongFinger = "wrong-finger"
  /// A poll is answered with the pending events of another client's queue.
  case eventsOfAnotherQueue = "events-of-another-queue"
  /// Polls of a lost queue are answered as if it had lived on.
  case revivedQueue = "revived-queue"
  /// A deletion is committed, but not announced.
  case forgottenDeletion = "forgotten-deletion"
}

/// The rate limits: a window begins with its first request. Registers and polls are counted
/// separately [04 RL].
@usableFromInline
struct RateLimits: Hashable, Sendable {
  @usableFromInline
  enum Kind {
    case register
    case events
  }

  private struct Window: Hashable, Sendable {
    var start: Moment = .distantPast
    var count: Int64 = 0
  }

  private var registers = Window()
  private var polls = Window()

  @usableFromInline
  init() {}

  /// Counts a request. If it is one too many, returns how long to wait.
  @usableFromInline
  mutating func wait(
    _ kind: Kind, at now: Moment, _ configuration: QueueServerConfiguration
  ) -> TimeSpan? {
    guard let most = configuration.requestsPerWindow else { return nil }
    var window = kind == .register ? registers : polls
    if now - window.start >= configuration.limitWindow { window = Window(start: now) }
    window.count += 1
    if kind == .register { registers = window } else { polls = window }
    return window.count > most ? window.start + configuration.limitWindow - now : nil
  }
}
