/// Our place in a server's event log: which log, and how far we are in it. It is one value, so an
/// old place is never used with a new log (SyncBugs 22).
///
/// Each protocol brings its own (Architecture §5). The machine never looks inside. It stores the
/// finger, sends it with polls, and names its log to release it.
public protocol Finger<Log>: Equatable, Sendable, CustomStringConvertible {
  /// Names the server's log, if the server keeps one for us that can be released (Zulip's event
  /// queue). Other protocols use a type with a single value.
  associatedtype Log: Equatable & Sendable & CustomStringConvertible

  /// The log that this place is in.
  var log: Log { get }
}
