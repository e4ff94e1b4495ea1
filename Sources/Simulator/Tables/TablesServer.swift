package import SyncProtocols
package import UpdateMachine

/// NextApp's server in a world. It holds a waiting poll open until there is news for it, or for the
/// time between two pings. Position *p* is after *p* changes.
///
/// There is a single log that never ends. What ends is a subscription, and a client notes that.
package struct TablesServer: SimulatedServer {
  package typealias Truth = TablesTruth
  package typealias Sync = TableSync
  typealias Ended = EndedWait<TableSnapshot, TableSync>

  private(set) var tables = TableServer(tableCount: TablesApp.Schema.tableCount)
  package private(set) var truth: TablesTruth
  private var commits: [Commit] = []
  /// The position of each place in a subscription up to which everything was sent.
  private var given = VersionedMap<Heard, Int64>()
  private var clientCount: UInt64 = 0
  private var waits: [Wait] = []
  private var ended: [Ended] = []
  private var isDrawn = false
  private var now: Moment
  private let cadence: Cadence

  private struct Commit: Sendable {
    var at: Moment
    var truth: TablesTruth
    var checksum: UInt64
  }

  private struct Heard: Comparable, Sendable {
    var subscription: UInt64
    var count: UInt64

    static func < (one: Heard, other: Heard) -> Bool {
      (one.subscription, one.count) < (other.subscription, other.count)
    }
  }

  private struct Wait: Sendable {
    var waiter: UInt64
    var finger: TableFinger
    var until: Moment
  }

  package init(truth: TablesTruth, settings: ServerSettings, at now: Moment) {
    self.truth = truth
    self.now = now
    cadence = settings.cadence
    for (key, row) in truth.rows {
      // Parents come first, because their tables do.
      make(.insert(key, parent: row.parent, row.fields))
    }
    note()
  }

  // MARK: The truth, now and before

  package var position: Int64 { Int64(commits.count) - 1 }

  package func checksum(at position: Int64) -> UInt64 { commits[Int(position)].checksum }

  package func truth(at position: Int64) -> TablesTruth { commits[Int(position)].truth }

  package func firstNews(after position: Int64) -> Moment? {
    let old = commits[Int(position)].checksum
    return commits[(Int(position) + 1)...].first { $0.checksum != old }?.at
  }

  private mutating func note() {
    commits.append(Commit(at: now, truth: truth, checksum: truth.checksum))
    endWaits()
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

  package func index(of log: TableLog) -> Int? { 0 }

  package func id(at index: Int) -> TableLog { TableLog() }

  package func isAlive(at index: Int) -> Bool { true }

  package var aliveQueues: [TableLog] { [TableLog()] }

  package var terms: ServerTerms {
    var terms = ServerTerms.tableSync()
    terms.cadence = cadence
    return terms
  }

  /// Clients ask again and again, or subscribe.
  package static var cadences: [Cadence] { [.waits, .pushed] }

  // MARK: Requests

  package mutating func beginRegister(at now: Moment) -> Result<TableLog, RegisterRefusal> {
    .success(TableLog())
  }

  package mutating func finishRegister(_ log: TableLog, at now: Moment) -> Reply {
    finishRegister(log, for: nil, at: now)
  }

  package mutating func finishRegister(
    _ log: TableLog, for name: UInt64?, at now: Moment
  ) -> Reply {
    self.now = now
    if name == nil { clientCount += 1 }
    let snapshot = tables.register(ClientID(name ?? clientCount), at: now)
    return .registered(snapshot, snapshot.finger, terms)
  }

  package mutating func poll(
    _ finger: TableFinger, waits mayWait: Bool, waiter: UInt64, heartbeatAfter: TimeSpan,
    at now: Moment
  ) -> Reply? {
    self.now = now
    guard mayWait, !tables.hasNews(for: finger) else { return answer(to: finger) }
    waits.append(
      Wait(waiter: waiter, finger: finger, until: now + min(heartbeatAfter, .seconds(20))))
    return nil
  }

  private mutating func answer(to finger: TableFinger) -> Reply {
    let batch = tables.poll(finger, at: now)
    if case .notifications(let number, let rows, isAll: true) = batch.content {
      let heard = Heard(
        subscription: batch.subscription, count: number + UInt64(rows.count))
      given[heard] = position
    }
    return .batch(batch)
  }

  package mutating func abandon(waiter: UInt64) { waits.removeAll { $0.waiter == waiter } }

  package mutating func release(_ log: TableLog) -> Reply { .released }

  package var hasFinished: Bool { !ended.isEmpty }

  package mutating func takeFinished() -> [EndedWait<TableSnapshot, TableSync>] {
    let taken = ended
    ended.removeAll(keepingCapacity: true)
    return taken
  }

  /// Ends the waits for which there is news, and those that satisfy the condition.
  private mutating func endWaits(where ends: (Wait) -> Bool = { _ in false }) {
    let old = waits
    waits = []
    for wait in old {
      if ends(wait) || tables.hasNews(for: wait.finger) {
        ended.append(Ended(waiter: wait.waiter, reply: answer(to: wait.finger)))
      } else {
        waits.append(wait)
      }
    }
  }

  // MARK: Pushes

  /// Makes them one by one, so that the truth learns which are made.
  package mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    self.now = now
    for mutation in push.mutations {
      let single = MutationPush(
        client: push.client, knownRefusal: push.knownRefusal, mutations: [mutation])
      let answer = tables.push(single, at: now)
      guard case .accepted = answer,
        let change = TableChange(name: mutation.name, arguments: mutation.arguments)
      else { return answer }
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
    do throws(ChangeRefusal) {
      try tables.make(change, at: now)
    } catch {
      truth.noteWrong("\(change) is refused: \(error.code)")
    }
  }

  package var nextDue: Moment { waits.map { $0.until }.min() ?? Moment(milliseconds: .max) }

  package mutating func advance(to now: Moment) {
    self.now = now
    tables.advance(to: now)
    endWaits { $0.until <= now }
  }

  /// Pings everybody.
  package mutating func announceNothing() {
    endWaits { _ in true }
  }

  /// Ends a subscription, each time another one.
  package mutating func expire(_ log: TableLog) {
    let ids = tables.subscriptionIDs
    guard !ids.isEmpty else { return }
    tables.expire(ids[Int(position) % ids.count])
    endWaits()
  }

  package mutating func interrupt(_ log: TableLog) {
    guard let first = waits.first?.waiter else { return }
    endWaits { $0.waiter == first }
  }

  /// The tables are on the server's disk. The subscriptions are not.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    for wait in waits { ended.append(Ended(waiter: wait.waiter, reply: .refused(.badGateway))) }
    waits = []
    if !keepingQueues { tables.restart() }
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard !isDrawn else { return }
    isDrawn = true
    tables.pageMaximum = Int(choices.pick(.server, [100, 3, 1]))
    tables.notificationMaximum = Int(choices.pick(.server, [100, 2, 1]))
    tables.bufferMaximum = Int(choices.pick(.server, [1000, 10, 3]))
    tables.resolution = choices.pick(
      .server, [.milliseconds(1), .seconds(1), .seconds(10), .seconds(60)])
  }

  package mutating func liftLimits() {}

  package func repeating(_ batch: TableBatch, from finger: TableFinger) -> TableBatch? { nil }

  // MARK: Plants

  package mutating func arm(_ breach: TableBreach) { tables.breach = breach }

  package var isArmed: Bool { tables.breach != nil }

  package var breachCount: Int64 { tables.breachCount }
}
