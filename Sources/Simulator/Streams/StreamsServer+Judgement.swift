internal import SyncProtocols
internal import UpdateMachine

// The library's server, judged by its twin: each answer, each event that it writes, and which waits
// it holds and ends.

extension StreamsServer {
  /// Why waits end.
  enum WaitEnd: Sendable {
    /// There is something new for some, and the time of others is over.
    case woken
    /// One ends, whichever it is, if there is any.
    case one
    case all
  }

  /// Judges whether a poll is held, or answered at once.
  mutating func judge(isHeld: Bool, _ request: StreamRequest, until end: Moment?) {
    let mayWait = end.map { now < $0 } ?? false
    guard isHeld != (mayWait && twin.holds(request)) else { return }
    noteUnlikeTwin("\(request) \(isHeld ? "is held" : "does not wait") at \(twin.end)")
  }

  /// Judges which waits have ended of those that there were.
  mutating func judgeWaits(
    of all: VersionedMap<UInt64, Asked>, _ reason: WaitEnd, end: Int64
  ) {
    let expected: Int
    switch reason {
    case .one: expected = min(all.count, 1)
    case .all: expected = all.count
    case .woken:
      expected = all.count { $0.value.request.after.number < end || $0.value.until <= now }
      for (waiter, wait) in asked where wait.request.after.number < end || wait.until <= now {
        noteUnlikeTwin("\(waiter) waits until \(wait.until) with \(wait.request), at \(end)")
      }
    }
    guard all.count - asked.count != expected else { return }
    noteUnlikeTwin("\(all.count - asked.count) waits end, instead of \(expected), at \(end)")
  }
}
