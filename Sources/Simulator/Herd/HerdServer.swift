// Herd: the room of a million clients and one server. The clients are the machines that apps run,
// packed; the server is a model of what it can do in a second.
//
// Herd may use: no other room.

/// What a server can do, and what it does when it cannot. Times are in milliseconds.
package struct HerdServerSettings: Equatable, Sendable {
  /// What becomes of a request that finds the backlog full.
  package enum Shedding: String, CaseIterable, Sendable {
    /// Refused at once (503), without a word about when to come again.
    case refuse
    /// Refused with a retry-after that is the same for all (429).
    case fixed
    /// Refused with a retry-after of its own (429): when the server will have time for it.
    case slots
    /// Not answered.
    case hang
  }

  /// How many registers the server can answer in a second, if it does nothing else.
  package var capacity: Int64 = 1000
  /// How many polls it can answer in the time of one register.
  package var snapshotCost: Int64 = 20
  /// How many refusals it can send in the time of one poll. A poll of a log that is gone costs as
  /// little.
  package var refusalsPerPoll: Int64 = 10
  /// The longest time that a request waits for the server. One that would wait longer is shed.
  package var backlog: Int64 = 5000
  package var shedding = Shedding.slots
  /// The retry-after of ``Shedding/fixed``.
  package var retryAfter: Int64 = 30_000
  /// How long the server keeps the log of a client that does not wait on it.
  package var lifetime: Int64 = 600_000
  /// A waiting poll that hears nothing is answered after this time, less up to a quarter.
  package var heartbeat: Int64 = 60_000
  /// How often something happens that a client must hear of, on average; 0: never.
  package var news: Int64 = 0

  package init() {}

  /// The cost of work, in parts of a refusal: the server does ``workPerMillisecond`` in a
  /// millisecond.
  var refusalWork: Int64 { 1000 }
  var pollWork: Int64 { refusalWork * refusalsPerPoll }
  var registerWork: Int64 { pollWork * snapshotCost }
  package var workPerSecond: Int64 { capacity * registerWork }
  var workPerMillisecond: Int64 { capacity * registerWork / 1000 }
}

/// A server with a bounded backlog: it does what has waited longest, and sheds what would wait too
/// long.
package struct HerdServer: Sendable {
  /// A request that waits for the server.
  struct Waiting: BitwiseCopyable, Sendable {
    var client: Int32
    /// The number of the request; negative for a register.
    var number: Int32
  }

  /// What becomes of a request.
  enum Verdict: Equatable, Sendable {
    /// No connection.
    case unreachable
    /// The server does it now.
    case served
    /// It waits in the backlog.
    case waits
    /// It is refused, to come again after so many milliseconds; `nil`: it is not told when.
    case refused(after: Int64?)
    /// It is never answered.
    case hangs
    /// The log that it names is gone.
    case gone
  }

  package let settings: HerdServerSettings
  /// Whether it can be reached.
  package var isUp = true
  /// Whether its snapshots fail. They cost as much as others.
  package var snapshotsFail = false
  /// Logs below this number are gone.
  private(set) var firstLog: UInt32 = 1
  private var nextLog: UInt32 = 1

  /// The work that it may do now; negative while it is still at the last one.
  private var budget: Int64 = 0
  private var backlog: [Waiting] = []
  private var backlogHead = 0
  private(set) var backlogWork: Int64 = 0
  /// Until when its time is promised to requests that were refused.
  private var promised: Int64 = 0

  package init(_ settings: HerdServerSettings) { self.settings = settings }

  /// How many requests wait.
  package var waiting: Int { backlog.count - backlogHead }

  /// Starts anew: all logs are gone, and all that waited.
  package mutating func restart() {
    firstLog = nextLog
    backlog.removeAll(keepingCapacity: true)
    backlogHead = 0
    backlogWork = 0
    budget = 0
    promised = 0
  }

  /// Makes a log.
  mutating func makeLog() -> UInt32 {
    defer { nextLog += 1 }
    return nextLog
  }

  /// Whether the server still has a log, apart from its age.
  func has(log: UInt32) -> Bool { log >= firstLog }

  func work(of isRegister: Bool) -> Int64 {
    isRegister ? settings.registerWork : settings.pollWork
  }

  /// Another millisecond's work can be done. What is not used up is lost.
  mutating func advance() {
    budget = min(budget + settings.workPerMillisecond, settings.workPerMillisecond)
  }

  /// Takes the next request from the backlog that there is time for.
  mutating func next() -> Waiting? {
    guard budget > 0, backlogHead < backlog.count else { return nil }
    let waiting = backlog[backlogHead]
    backlogHead += 1
    if backlogHead == backlog.count {
      backlog.removeAll(keepingCapacity: true)
      backlogHead = 0
    } else if backlogHead >= 1 << 16, backlogHead * 4 > backlog.count {
      backlog.removeFirst(backlogHead)
      backlogHead = 0
    }
    let work = work(of: waiting.number < 0)
    backlogWork -= work
    budget -= work
    return waiting
  }

  /// A request arrives.
  ///
  /// - Parameter log: that of a poll; `nil` for a register.
  mutating func take(_ number: UInt32, of client: Int32, log: UInt32?, at now: Int64) -> Verdict {
    guard isUp else { return .unreachable }
    if let log, !has(log: log) {
      budget -= settings.refusalWork
      return .gone
    }
    let work = work(of: log == nil)
    if budget > 0, waiting == 0 {
      budget -= work
      return .served
    }
    guard backlogWork - min(budget, 0) <= settings.workPerMillisecond * settings.backlog else {
      return shed(work, at: now)
    }
    let number = Int32(truncatingIfNeeded: number)
    backlog.append(Waiting(client: client, number: log == nil ? -number : number))
    backlogWork += work
    return .waits
  }

  private mutating func shed(_ work: Int64, at now: Int64) -> Verdict {
    if settings.shedding == .hang { return .hangs }
    budget -= settings.refusalWork
    switch settings.shedding {
    case .refuse, .hang: return .refused(after: nil)
    case .fixed: return .refused(after: settings.retryAfter)
    case .slots:
      // A tenth of the time is left for those who come without a promise. In parts of a
      // millisecond: a busy server promises many slots in each.
      let soonest = (now + settings.backlog / 2) * settings.workPerMillisecond
      promised = max(promised, soonest) + work * 10 / 9
      return .refused(after: promised / settings.workPerMillisecond - now)
    }
  }
}
