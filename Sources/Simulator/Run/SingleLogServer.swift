package import SyncProtocols
package import UpdateMachine

/// A server in a world that has a single log, which never ends.
package protocol SingleLogServer: SimulatedServer {
  /// The name of the log.
  static var log: Log { get }
}

extension SingleLogServer {
  package func index(of log: Log) -> Int? { log == Self.log ? 0 : nil }

  package func id(at index: Int) -> Log { Self.log }

  package func isAlive(at index: Int) -> Bool { true }

  package var aliveQueues: [Log] { [Self.log] }

  package mutating func beginRegister(at now: Moment) -> Result<Log, RegisterRefusal> {
    .success(Self.log)
  }

  package mutating func finishRegister(_ log: Log, at now: Moment) -> Reply {
    finishRegister(log, for: nil, at: now)
  }

  package mutating func release(_ log: Log) -> Reply { .released }
}

/// A server in a world that holds a waiting poll until there is news for it, or for some time.
package protocol PollHoldingServer: SingleLogServer {
  /// The polls that it holds, and those that it has let go.
  var held: HeldPolls<Truth.Snapshot, Sync> { get set }

  /// When it was last asked for anything, or acted by itself.
  var now: Moment { get set }

  /// The longest time for which it holds a poll, whatever a client asks for.
  static var holdMaximum: TimeSpan { get }

  /// Whether there is anything to tell a client at this place.
  func hasNews(for finger: Place) -> Bool

  /// A poll has come, which is about to be answered or held. By default nothing is noted.
  mutating func noteAsked(_ finger: Place)

  /// Answers a poll from this place at once.
  mutating func answer(to finger: Place) -> Reply
}

extension PollHoldingServer {
  package mutating func noteAsked(_ finger: Place) {}

  package mutating func poll(
    _ finger: Place, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply? {
    self.now = now
    noteAsked(finger)
    guard waits, !hasNews(for: finger) else { return answer(to: finger) }
    held.hold(finger, waiter: waiter, until: now + min(heartbeatAfter, Self.holdMaximum))
    return nil
  }

  package mutating func abandon(waiter: UInt64) { held.polls.removeAll { $0.waiter == waiter } }

  package var hasFinished: Bool { !held.ended.isEmpty }

  package mutating func takeFinished() -> [EndedWait<Truth.Snapshot, Sync>] {
    let taken = held.ended
    held.ended.removeAll(keepingCapacity: true)
    return taken
  }

  package mutating func announceNothing() { answerHeld { _ in true } }

  package mutating func interrupt(_ log: Log) {
    guard let first = held.polls.first?.waiter else { return }
    answerHeld { $0.waiter == first }
  }

  /// Answers the held polls that satisfy the condition, in order.
  mutating func answerHeld(where ends: (HeldPolls<Truth.Snapshot, Sync>.Poll) -> Bool) {
    let ending = held.polls.filter(ends)
    guard !ending.isEmpty else { return }
    held.polls.removeAll(where: ends)
    for poll in ending {
      held.ended.append(EndedWait(waiter: poll.waiter, reply: answer(to: poll.finger)))
    }
  }

  /// Answers the held polls for which there is news.
  mutating func answerHeldWithNews() {
    let server = self
    answerHeld { server.hasNews(for: $0.finger) }
  }
}

/// The polls that a server holds.
package struct HeldPolls<Snapshot: Sendable, Sync: SyncProtocol>: Sendable {
  /// Oldest first.
  var polls: [Poll] = []
  /// In the order in which they ended.
  var ended: [EndedWait<Snapshot, Sync>] = []

  struct Poll: Sendable {
    var waiter: UInt64
    var finger: Sync.Place
    var until: Moment
  }

  mutating func hold(_ finger: Sync.Place, waiter: UInt64, until end: Moment) {
    polls.append(Poll(waiter: waiter, finger: finger, until: end))
  }

  /// The server dies: a proxy answers for it.
  mutating func breakOff() {
    for poll in polls { ended.append(EndedWait(waiter: poll.waiter, reply: .refused(.badGateway))) }
    polls = []
  }

  /// When the first poll must be answered.
  var nextDue: Moment { polls.map { $0.until }.min() ?? Moment(milliseconds: .max) }
}

/// What a server in a world has committed so far: the whole truth at each position.
package struct CommitLog<Truth: ServerTruth>: Sendable {
  private var commits: [(at: Moment, truth: Truth, checksum: UInt64)] = []

  package init() {}

  package mutating func note(_ truth: Truth, at now: Moment) {
    commits.append((now, truth, truth.checksum))
  }

  var position: Int64 { Int64(commits.count) - 1 }

  func truth(at position: Int64) -> Truth { commits[Int(position)].truth }

  func checksum(at position: Int64) -> UInt64 { commits[Int(position)].checksum }

  func firstNews(after position: Int64) -> Moment? {
    let old = commits[Int(position)].checksum
    return commits[(Int(position) + 1)...].first { $0.checksum != old }?.at
  }
}

/// A server in a world that remembers the whole truth at each position.
package protocol CommitLoggingServer: SimulatedServer {
  var commits: CommitLog<Truth> { get }
}

extension CommitLoggingServer {
  package var position: Int64 { commits.position }
  package func checksum(at position: Int64) -> UInt64 { commits.checksum(at: position) }
  package func truth(at position: Int64) -> Truth { commits.truth(at: position) }
  package func firstNews(after position: Int64) -> Moment? { commits.firstNews(after: position) }
}
