internal import SyncProtocols
internal import UpdateMachine

/// Oracle K: a server without a planted bug keeps its contract. It holds a wait until there is
/// something to tell, and no longer; it refuses no finger that it gave, while the log is there; and
/// a log goes only for a reason.
///
/// What is judged here is the server half. A client must bear all of this from a server that is
/// broken, so nothing else would notice.
struct ServerOracle<Place: Finger>: Sendable {
  /// What has been done with one log.
  private struct Log: Sendable {
    /// When it was last opened, or waited on.
    var used: Moment
    /// Whether it was opened at all; if not, nothing is known of it.
    var isKnown: Bool
    /// Whether something has happened that may have ended it.
    var mayBeGone = false
    /// The newest number that a client has acknowledged.
    var acknowledged = Int64.min
  }

  private var logs: [Log] = []
  /// Whether a wait may end now without news. It may after another poll of its log, after the end
  /// of its log, and after a restart.
  var mayEndWaits = false

  /// What is known of a poll before the server takes it.
  struct Asked: Sendable {
    var log: Int
    var number: Int64
    var isAlive: Bool
    /// Whether the finger is of an opened log, and not older than what clients have acknowledged.
    var isKnown: Bool
    /// When the first change after the finger was announced; `nil`: there is none.
    var news: Moment?
    var waits: Bool
  }

  /// What a server did with a poll.
  enum Done: Sendable {
    case waits
    /// `isEmpty`: it told nothing.
    case told(isEmpty: Bool)
    case refused(SyncFailure)
  }

  mutating func noteUse(of log: Int, at now: Moment) {
    while logs.count <= log { logs.append(Log(used: now, isKnown: false)) }
    if !logs[log].isKnown { logs[log] = Log(used: now, isKnown: true) }
    logs[log].used = now
  }

  /// A log may be gone from now on.
  mutating func noteEnd(of log: Int) {
    mayEndWaits = true
    if logs.indices.contains(log) { logs[log].mayBeGone = true }
  }

  /// The server restarts. If it keeps no logs, all that there are may be gone from now on.
  mutating func noteRestart(keepingLogs: Bool) {
    mayEndWaits = true
    if keepingLogs { return }
    for log in logs.indices { logs[log].mayBeGone = true }
  }

  func isKnown(_ number: Int64, in log: Int) -> Bool {
    logs.indices.contains(log) && logs[log].isKnown && number >= logs[log].acknowledged
  }

  /// What is wrong with an answer to a poll.
  mutating func objection(
    to done: Done, _ asked: Asked, lifetime: TimeSpan, isLimited: Bool, at now: Moment
  ) -> (expected: String, found: String)? {
    defer { note(asked, done, at: now) }
    var words: String { "\(done), finger \(asked.number) of log \(asked.log)" }
    if !asked.isAlive {
      guard logs.indices.contains(asked.log), logs[asked.log].isKnown,
        !logs[asked.log].mayBeGone,
        now - logs[asked.log].used < lifetime
      else { return nil }
      return ("a log that was followed is there", words)
    }
    switch done {
    case .waits:
      if !asked.waits { return ("a poll that does not wait is answered at once", words) }
      return asked.news == nil ? nil : ("a wait is answered as soon as there is news", words)
    case .told(let isEmpty):
      if asked.waits, isEmpty { return ("a wait is held until there is news", words) }
      return asked.news != nil && isEmpty ? ("what is new is told", words) : nil
    case .refused(.rateLimited) where isLimited: return nil
    case .refused:
      return asked.isKnown ? ("a finger that the server gave is good while its log is", words) : nil
    }
  }

  private mutating func note(_ asked: Asked, _ done: Done, at now: Moment) {
    guard asked.isAlive, logs.indices.contains(asked.log) else { return }
    if case .refused = done { return }
    logs[asked.log].acknowledged = max(logs[asked.log].acknowledged, asked.number)
    if case .waits = done { logs[asked.log].used = now }
  }
}
