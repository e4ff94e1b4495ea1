/// The numbers of the machine (TheMachine §1, table). TheMachine §5 and §6 give the reasons.
public struct MachineSettings: Hashable, Sendable {
  /// Backoffs, the cap of deadlines, pace and wakes.
  @usableFromInline package var retry = RetrySettings()
  /// How long a quick poll may be out; doubles with each timeout.
  @usableFromInline package var quickDeadline: TimeSpan = .seconds(10)
  /// How long a register may be out; doubles with each timeout.
  @usableFromInline package var registerDeadline: TimeSpan = .seconds(60)
  /// How often the server looks for logs whose lifetime is over.
  @usableFromInline package var collector: TimeSpan = .seconds(60)
  /// The span over which a herd returns: clients that lost their logs together, as when the server
  /// starts anew. Each waits for a random part of it; zero: none waits. Up to clients ÷ snapshots
  /// that the server can make in a second, it costs nothing (TheMachine §5).
  public var spread: TimeSpan = .seconds(5)
  /// A waiting poll that was out this long is productive, even if it brought nothing.
  @usableFromInline package var productive: TimeSpan = .seconds(5)
  /// A waiting poll that was out this long really waited at the server.
  @usableFromInline package var reallyWaited: TimeSpan = .seconds(1)
  /// Whether applied events must be written before they are acknowledged.
  @usableFromInline package var isDurable = true
  /// How late a timer or a write may be before we assume that the device slept.
  @usableFromInline package var late: TimeSpan = .seconds(2)
  /// How long a write may take before freshness says so.
  @usableFromInline package var writeDue: TimeSpan = .seconds(10)
  /// How long an outage is kept from the user.
  public var debounce: TimeSpan = .milliseconds(300)
  /// How often a client polls in the background; `nil`: never.
  public var refreshPeriod: TimeSpan?

  /// Creates the defaults, which suit most servers.
  @inlinable
  public init() {}
}

extension MachineSettings {
  /// Sets one span by its name in TheMachine §1; `false` if no span has that name.
  package mutating func set(_ name: String, to span: TimeSpan) -> Bool {
    switch name {
    case "transientFirst": retry.transientFirst = span
    case "transientCap": retry.transientCap = span
    case "slowFirst": retry.slowFirst = span
    case "slowCap": retry.slowCap = span
    case "quickDeadline": quickDeadline = span
    case "registerDeadline": registerDeadline = span
    case "deadlineCap": retry.deadlineCap = span
    case "retryAfterFloor": retry.retryAfterFloor = span
    case "retryAfterCap": retry.retryAfterCap = span
    case "collector": collector = span
    case "spread": spread = span
    case "healthy": retry.healthy = span
    case "productive": productive = span
    case "reallyWaited": reallyWaited = span
    case "paceInterval": retry.paceInterval = span
    case "wakeInterval": retry.wakeInterval = span
    case "late": late = span
    case "writeDue": writeDue = span
    case "debounce": debounce = span
    case "refreshPeriod": refreshPeriod = span
    default: return false
    }
    return true
  }

  /// The names that ``set(_:to:)`` knows, in the order of TheMachine §1.
  package static var spans: [String] {
    [
      "transientFirst", "transientCap", "slowFirst", "slowCap", "quickDeadline",
      "registerDeadline", "deadlineCap", "retryAfterFloor", "retryAfterCap", "collector",
      "spread", "healthy", "productive", "reallyWaited", "paceInterval", "wakeInterval",
      "late", "writeDue", "debounce", "refreshPeriod",
    ]
  }

  /// The span with a name of ``spans``; `nil` for other names, and if it is not set.
  package func span(_ name: String) -> TimeSpan? {
    switch name {
    case "transientFirst": retry.transientFirst
    case "transientCap": retry.transientCap
    case "slowFirst": retry.slowFirst
    case "slowCap": retry.slowCap
    case "quickDeadline": quickDeadline
    case "registerDeadline": registerDeadline
    case "deadlineCap": retry.deadlineCap
    case "retryAfterFloor": retry.retryAfterFloor
    case "retryAfterCap": retry.retryAfterCap
    case "collector": collector
    case "spread": spread
    case "healthy": retry.healthy
    case "productive": productive
    case "reallyWaited": reallyWaited
    case "paceInterval": retry.paceInterval
    case "wakeInterval": retry.wakeInterval
    case "late": late
    case "writeDue": writeDue
    case "debounce": debounce
    case "refreshPeriod": refreshPeriod
    default: nil
    }
  }
}
