package import SyncProtocols
package import UpdateMachine

/// NextApp's server in a world. It holds a waiting poll open until there is news for it, or for the
/// time between two pings. Position *p* is after *p* changes.
///
/// There is a single log that never ends. What ends is a subscription, and a client notes that.
package struct TablesServer: PollHoldingServer, CommitLoggingServer, TwinnedServer {
  package typealias Truth = TablesTruth
  package typealias Sync = TableSync

  private(set) var tables = TableServer(tableCount: TablesApp.Schema.tableCount)
  private var twin: TableTwin
  package var unlikeTwin: String?
  package private(set) var truth: TablesTruth
  package private(set) var commits = CommitLog<TablesTruth>()
  /// The position of each place in a subscription up to which everything was sent.
  private var given = VersionedMap<Heard, Int64>()
  private var clientCount: UInt64 = 0
  package var held = HeldPolls<TableSnapshot, TableSync>()
  private var isDrawn = false
  package var now: Moment
  private let cadence: Cadence

  private struct Heard: Comparable, Sendable {
    var subscription: UInt64
    var count: UInt64

    static func < (one: Heard, other: Heard) -> Bool {
      (one.subscription, one.count) < (other.subscription, other.count)
    }
  }

  package init(truth: TablesTruth, settings: ServerSettings, at now: Moment) {
    self.truth = truth
    self.now = now
    cadence = settings.cadence
    twin = TableTwin(of: tables, tableCount: TablesApp.Schema.tableCount)
    for (key, row) in truth.rows {
      // Parents come first, because their tables do.
      make(.insert(key, parent: row.parent, row.fields))
    }
    note()
  }

  // MARK: The truth, now and before

  private mutating func note() {
    commits.note(truth, at: now)
    answerHeldWithNews()
    judgeHeld()
  }

  // MARK: The library's server, judged by its twin

  /// What is held has no news.
  private mutating func judgeHeld() {
    for poll in held.polls where twin.hasNews(for: poll.finger) {
      noteUnlikeTwin("a poll from \(poll.finger) waits, and there is news")
    }
  }

  /// Subscriptions are numbered in the order in which they begin.
  package static func number(of finger: TableFinger) -> Int64 {
    let number: UInt64
    switch finger.progress {
    case .fetching: number = 0
    case .draining(let heard): number = heard * 4 + 1
    case .following(let heard, let isSettled): number = heard * 4 + (isSettled ? 3 : 2)
    }
    return Int64(finger.subscription << 32 | number)
  }

  package static func newest(in batch: TableBatch) -> Int64? { Int64(batch.subscription << 32) }

  package static func isComplete(_ snapshot: TableSnapshot) -> Bool { false }

  /// While a client fetches and drains, it shows what it had before.
  package static func standsForState(_ finger: TableFinger) -> Bool {
    if case .following = finger.progress { true } else { false }
  }

  package func position(of finger: TableFinger, inLog index: Int) -> Int64? {
    finger.progress.heard.flatMap { given[Heard(subscription: finger.subscription, count: $0)] }
  }

  // MARK: The single log

  package static var log: TableLog { TableLog() }

  package var terms: ServerTerms {
    var terms = ServerTerms.tableSync()
    terms.cadence = cadence
    return terms
  }

  /// Clients ask again and again, or subscribe.
  package static var cadences: [Cadence] { [.waits, .pushed] }

  // MARK: Requests

  package mutating func finishRegister(
    _ log: TableLog, for name: UInt64?, at now: Moment
  ) -> Reply {
    self.now = now
    if name == nil { clientCount += 1 }
    let client = ClientID(name ?? clientCount)
    let snapshot = tables.register(client, at: now)
    judge(snapshot, twin.register(client, at: now))
    return .registered(snapshot, snapshot.finger, terms)
  }

  /// The time between two pings.
  package static var holdMaximum: TimeSpan { .seconds(20) }

  package func hasNews(for finger: TableFinger) -> Bool { tables.hasNews(for: finger) }

  package mutating func noteAsked(_ finger: TableFinger) {
    judge(tables.hasNews(for: finger), twin.hasNews(for: finger))
  }

  package mutating func answer(to finger: TableFinger) -> Reply {
    let batch = tables.poll(finger, at: now)
    judge(batch, twin.answer(to: finger, at: now))
    if case .notifications(let number, let rows, isAll: true) = batch.content {
      let heard = Heard(
        subscription: batch.subscription, count: number + UInt64(rows.count))
      given[heard] = position
    }
    return .batch(batch)
  }

  // MARK: Pushes

  /// Makes them one by one, so that the truth learns which are made.
  package mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    self.now = now
    for mutation in push.mutations {
      let single = MutationPush(
        client: push.client, knownRefusal: push.knownRefusal, mutations: [mutation])
      let answer = tables.push(single, at: now)
      let change = TableChange(name: mutation.name, arguments: mutation.arguments)
      let code = change.flatMap { twin.make($0, at: now) }
      judge(
        answer,
        code.map { .refused(MutationRefusal(mutation.id, RejectionCode($0))) } ?? .accepted)
      guard case .accepted = answer, let change else {
        if let change, truth.canTakeBack(change) {
          truth.noteWrong("\(change) is refused, and finds what it takes back")
        }
        return answer
      }
      truth.note(change, by: push.client, at: position + 1)
      truth.apply(change)
      note()
    }
    return .accepted
  }

  /// There is nothing to note: a refused client asks again under another ID.
  package mutating func reject(_ push: MutationPush, at now: Moment) -> Bool { true }

  // MARK: What happens there

  package mutating func commit(_ change: TableChange, at now: Moment) {
    self.now = now
    make(change)
    truth.apply(change)
    note()
  }

  /// Makes a change by others, which is always possible.
  private mutating func make(_ change: TableChange) {
    var code: String?
    do throws(ChangeRefusal) {
      try tables.make(change, at: now)
    } catch {
      code = error.code.text
      truth.noteWrong("\(change) is refused: \(error.code)")
    }
    judge(code, twin.make(change, at: now))
  }

  package var nextDue: Moment { held.nextDue }

  package mutating func advance(to now: Moment) {
    self.now = now
    tables.advance(to: now)
    twin.advance(to: now)
    judge(tables.subscriptionIDs, twin.subscriptionIDs)
    let server = self
    answerHeld { $0.until <= now || server.hasNews(for: $0.finger) }
  }

  /// Ends a subscription, each time another one.
  package mutating func expire(_ log: TableLog) {
    let ids = tables.subscriptionIDs
    guard !ids.isEmpty else { return }
    let id = ids[Int(position) % ids.count]
    tables.expire(id)
    twin.expire(id)
    judge(tables.subscriptionIDs, twin.subscriptionIDs)
    answerHeldWithNews()
    judgeHeld()
  }

  /// The tables are on the server's disk. The subscriptions are not.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    held.breakOff()
    if keepingQueues { return }
    tables.restart()
    twin.restart()
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard !isDrawn else { return }
    isDrawn = true
    tables.pageMaximum = Int(choices.pick(.server, [100, 3, 1]))
    tables.notificationMaximum = Int(choices.pick(.server, [100, 2, 1]))
    tables.bufferMaximum = Int(choices.pick(.server, [1000, 10, 3]))
    tables.resolution = choices.pick(
      .server, [.milliseconds(1), .seconds(1), .seconds(10), .seconds(60)])
    twin.takeLimits(of: tables)
  }

  package mutating func liftLimits() {}

  package func repeating(_ batch: TableBatch, from finger: TableFinger) -> TableBatch? { nil }

  // MARK: Plants

  package mutating func arm(_ breach: TableBreach) {
    tables.breach = breach
    twin.breach = breach
  }

  package var isArmed: Bool { tables.breach != nil }

  package var breachCount: Int64 { tables.breachCount }

  package var twinBreachCount: Int64 { twin.breachCount }
}
