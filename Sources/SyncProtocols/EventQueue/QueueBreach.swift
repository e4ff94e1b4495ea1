public import UpdateMachine

/// The ways in which a server can break its contract (*plants*): what a client trusts and cannot
/// check. Each must be caught by an oracle.
public enum QueueBreach: String, CaseIterable, Hashable, Sendable {
  /// An event is committed, but one queue never hears of it.
  case lostEvent = "lost-event"
  /// A snapshot is older than the finger that it comes with.
  case staleSnapshot = "stale-snapshot"
  /// The contents of two events are exchanged; their IDs are in order.
  case reorderedEvents = "reordered-events"
  /// The finger of a register is ahead of its snapshot, and of the queue.
  case wrongFinger = "wrong-finger"
  /// A poll is answered with what waits in somebody else's queue.
  case eventsOfAnotherQueue = "events-of-another-queue"
  /// A queue that was lost is spoken of as if it had lived on.
  case revivedQueue = "revived-queue"
  /// A deletion is committed and announced to nobody.
  case forgottenDeletion = "forgotten-deletion"
}

/// How often clients may ask: a window that begins with the first request in it. Registers and
/// polls are counted apart [04 RL].
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

  /// Counts a request; says how long to wait if it is one too many.
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
