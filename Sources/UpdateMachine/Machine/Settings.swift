/// The numbers of the machine (MACHINE §1, table). Each has its reason in MACHINE §5 and §6.
public struct MachineSettings: Hashable, Sendable {
  /// First and longest wait after a failure that is likely to pass: 0.1, 0.2, 0.4 … 10 s.
  public var transientFirst: TimeSpan = .milliseconds(100)
  /// The longest wait after a failure that is likely to pass.
  public var transientCap: TimeSpan = .seconds(10)
  /// First and longest wait after a failure that costs the server much: 1, 2, 4 … 60 s.
  public var slowFirst: TimeSpan = .seconds(1)
  /// The longest wait after a failure that costs the server much.
  public var slowCap: TimeSpan = .seconds(60)
  /// Deadlines of a quick poll and of a register; they double with each timeout.
  public var quickDeadline: TimeSpan = .seconds(10)
  /// How long a register may be out; doubles with each timeout.
  public var registerDeadline: TimeSpan = .seconds(60)
  /// The longest that a doubled deadline gets.
  public var deadlineCap: TimeSpan = .minutes(5)
  /// What a server's retry-after is clamped to.
  public var retryAfterFloor: TimeSpan = .milliseconds(100)
  /// The longest that a server's retry-after is believed.
  public var retryAfterCap: TimeSpan = .minutes(10)
  /// How often the server looks for logs whose lifetime is over.
  public var collector: TimeSpan = .seconds(60)
  /// Over how long a herd of clients that lost their logs together is spread. Up to clients ÷
  /// snapshots a second costs nobody anything.
  public var spread: TimeSpan = .seconds(5)
  /// A finger that lived this long is progress; so long after a slow failure the slow wait is short
  /// again.
  public var healthy: TimeSpan = .seconds(60)
  /// A waiting poll that was out this long did its work, even if it brought nothing.
  public var productive: TimeSpan = .seconds(5)
  /// A waiting poll that was out this long really waited at the server.
  public var reallyWaited: TimeSpan = .seconds(1)
  /// Whether what was applied must be written before it is acknowledged.
  public var isDurable = true
  /// All requests pass this: 11 at once, then one per 400 ms.
  public var paceInterval: TimeSpan = .milliseconds(400)
  /// One less than the requests that may be sent at once. A count, at least 0.
  public var paceBurst: Int64 = 10
  /// Wake-ups that may cut a wait: 3 at once, then one per 10 s.
  public var wakeInterval: TimeSpan = .seconds(10)
  /// The wake-ups that may be spent at once. A count, at least 1.
  public var wakeBurst: Int64 = 3
  /// How late a timer or a write may be before we believe that we slept.
  public var late: TimeSpan = .seconds(2)
  /// How long a write may take before freshness says so.
  public var writeDue: TimeSpan = .seconds(10)
  /// How long an outage is kept from the user.
  public var debounce: TimeSpan = .milliseconds(300)
  /// How often a client in the background asks; `nil`: never.
  public var refreshPeriod: TimeSpan?

  @inlinable
  public init() {}
}

extension MachineSettings {
  /// Sets one span by its name in MACHINE §1; `false` if no span has that name.
  public mutating func set(_ name: String, to span: TimeSpan) -> Bool {
    switch name {
    case "transientFirst": transientFirst = span
    case "transientCap": transientCap = span
    case "slowFirst": slowFirst = span
    case "slowCap": slowCap = span
    case "quickDeadline": quickDeadline = span
    case "registerDeadline": registerDeadline = span
    case "deadlineCap": deadlineCap = span
    case "retryAfterFloor": retryAfterFloor = span
    case "retryAfterCap": retryAfterCap = span
    case "collector": collector = span
    case "spread": spread = span
    case "healthy": healthy = span
    case "productive": productive = span
    case "reallyWaited": reallyWaited = span
    case "paceInterval": paceInterval = span
    case "wakeInterval": wakeInterval = span
    case "late": late = span
    case "writeDue": writeDue = span
    case "debounce": debounce = span
    case "refreshPeriod": refreshPeriod = span
    default: return false
    }
    return true
  }
}
