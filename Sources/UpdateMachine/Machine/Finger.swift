/// Our place in a server's event log: which log, and how far in it we are. One value, never half
/// of it: an old place is never used with a new log (BUGS 22).
///
/// Each protocol brings its own (DESIGN §8). The machine never looks inside; it only stores the
/// finger, sends it back with polls, and names the log that it lets go of.
public protocol Finger: Equatable, Sendable, CustomStringConvertible {
  /// Names the server's log, where the server keeps one for us that can be released (Zulip's event
  /// queue). A protocol without one uses a type with a single value.
  associatedtype Log: Equatable & Sendable & CustomStringConvertible

  var log: Log { get }
}
