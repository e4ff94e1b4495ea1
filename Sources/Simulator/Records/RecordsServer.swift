package import SyncProtocols
package import UpdateMachine

/// WatermelonDB's server in a world. It answers each pull at once. Position *p* is after *p*
/// commits; a push is one.
package struct RecordsServer: CommitLoggingServer, TwinnedServer {
  package typealias Truth = RecordsTruth
  package typealias Sync = RecordSync

  /// A push, before it is reduced to records.
  package struct Push: Sendable {
    var client: ClientID
    var mutations: [PushRequest<RecordChange>.Item]
    var finger: RecordFinger?
  }

  private(set) var records: RecordServer
  private var twin = RecordTwin()
  package var unlikeTwin: String?
  package private(set) var truth: RecordsTruth
  private let cadence: Cadence
  package private(set) var commits = CommitLog<RecordsTruth>()
  /// The stamp of the last change of each commit.
  private var stamps: [RecordStamp] = []
  private var clientCount: UInt64 = 0
  private var isDrawn = false
  /// How far the clock of the machine that takes over at a restart is behind, and how far that of
  /// the present one.
  private var spareLag = TimeSpan.zero
  private var clockLag = TimeSpan.zero

  package init(truth: RecordsTruth, settings: ServerSettings, at now: Moment) {
    records = RecordServer(epoch: 1)
    self.truth = truth
    cadence = settings.cadence
    for (key, columns) in truth.records {
      records.set(key, columns, at: now)
      twin.set(key, columns, at: now)
    }
    note(at: now)
  }

  // MARK: The truth, now and before

  private mutating func note(at now: Moment) {
    commits.note(truth, at: now)
    stamps.append(records.last)
  }

  package static func number(of finger: RecordFinger) -> Int64 { Int64(finger.lastPulledAt.number) }

  package static func newest(in batch: PulledRecords) -> Int64? { Int64(batch.pulledAt.number) }

  package static func isComplete(_ snapshot: PulledRecords) -> Bool { snapshot.isWhole }

  /// Between two pages a client shows what it had before.
  package static func standsForState(_ finger: RecordFinger) -> Bool { finger.isWhole }

  package func position(of finger: RecordFinger, inLog index: Int) -> Int64? {
    stamps.lastIndex(of: finger.lastPulledAt).map { Int64($0) }
  }

  // MARK: Logs: one for each epoch

  package func index(of log: RecordLog) -> Int? {
    log.epoch <= records.epoch ? Int(log.epoch) - 1 : nil
  }

  package func id(at index: Int) -> RecordLog { RecordLog(epoch: UInt64(index) + 1) }

  package func isAlive(at index: Int) -> Bool { index == Int(records.epoch) - 1 }

  package var aliveQueues: [RecordLog] { [RecordLog(epoch: records.epoch)] }

  package var terms: ServerTerms {
    var period = TimeSpan.seconds(60)
    if case .every(let drawn) = cadence { period = drawn }
    return .recordSync(pullingEvery: period)
  }

  package static var cadences: [Cadence] {
    [.every(.seconds(5)), .every(.seconds(60)), .every(.seconds(300))]
  }

  // MARK: Requests

  package mutating func beginRegister(at now: Moment) -> Result<RecordLog, RegisterRefusal> {
    .success(RecordLog(epoch: records.epoch))
  }

  package mutating func finishRegister(_ log: RecordLog, at now: Moment) -> Reply {
    finishRegister(log, for: nil, at: now)
  }

  package mutating func finishRegister(
    _ log: RecordLog, for name: UInt64?, at now: Moment
  ) -> Reply {
    if name == nil { clientCount += 1 }
    let client = ClientID(name ?? clientCount)
    do throws(SyncFailure) {
      let pulled = try pull(nil, of: client)
      return .registered(pulled, pulled.finger, terms)
    } catch {
      return RecordsServer.refusal(for: error)
    }
  }

  package mutating func poll(
    _ finger: RecordFinger, waits: Bool, waiter: UInt64, heartbeatAfter: TimeSpan, at now: Moment
  ) -> Reply? {
    do throws(SyncFailure) {
      return .batch(try pull(finger, of: ClientID(0)))
    } catch {
      return RecordsServer.refusal(for: error)
    }
  }

  private mutating func pull(
    _ finger: RecordFinger?, of client: ClientID
  ) throws(SyncFailure) -> PulledRecords {
    let request = try RecordPull(client: client, after: finger, schema: RecordsApp.schema)
    let pulled = records.pull(request)
    judge(pulled, twin.answer(to: request, pageMaximum: records.pageMaximum))
    guard let pulled else { throw .expired }
    return pulled
  }

  /// A real client sends no pull that cannot be answered. In a world, the server says the same.
  private static func refusal(for failure: SyncFailure) -> Reply {
    failure == .expired ? .refused(.badQueue) : .refused(.serverError)
  }

  package mutating func abandon(waiter: UInt64) {}

  package mutating func release(_ log: RecordLog) -> Reply { .released }

  package var hasFinished: Bool { false }

  package mutating func takeFinished() -> [EndedWait<PulledRecords, RecordSync>] { [] }

  // MARK: Pushes

  package static var knowsPushesAgain: Bool { true }

  package mutating func push(_ push: Push, at now: Moment) -> PushAnswer? {
    guard let finger = push.finger else { return .behind }
    let pushed = RecordPush(push.mutations, at: finger)
    let refused = records.push(pushed, at: now - clockLag)
    let new = records.records
    // A plant's change has the stamp of the one before it.
    if records.last != stamps.last || new != truth.records {
      let seen = position(of: finger, inLog: 0).map { truth(at: $0) }
      truth.becomes(
        new, deleting: pushed.deleted.filter { !refused.contains($0) }, seen: seen, by: push.client)
      note(at: now)
    }
    let answer = RecordPush.answer(
      to: push.mutations, refusing: refused, tookRest: records.takesRest)
    judge(
      answer,
      twin.push(
        push.mutations, from: finger, takesRest: records.takesRest, at: now - clockLag))
    return answer
  }

  // MARK: What happens there

  package mutating func commit(_ change: RecordsTruth.Change, at now: Moment) {
    switch change {
    case .set(let key, let columns):
      records.set(key, columns, at: now - clockLag)
      twin.set(key, columns, at: now - clockLag)
    case .delete(let key):
      records.delete(key, at: now - clockLag)
      twin.delete(key, at: now - clockLag)
    }
    truth.apply(change)
    note(at: now)
  }

  package var nextDue: Moment { Moment(milliseconds: .max) }

  package mutating func advance(to now: Moment) {}

  package mutating func announceNothing() {}

  /// Forgets all deletions so far.
  package mutating func expire(_ log: RecordLog) {
    records.prune(through: records.last)
    twin.prune()
  }

  package mutating func interrupt(_ log: RecordLog) {}

  /// Everything is on the server's disk. If that is restored, it begins a new epoch. Another
  /// machine takes over, whose clock may be behind; at the next restart, the first one again.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    clockLag = clockLag == .zero ? spareLag : .zero
    if keepingQueues { return }
    records.renew(epoch: records.epoch + 1)
    twin.epoch += 1
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard !isDrawn else { return }
    isDrawn = true
    records.takesRest = choices.happens(.server, 1, in: 2)
    records.pageMaximum = Int(choices.pick(.server, [100, 3, 1]))
    spareLag = choices.pick(.server, [.zero, .seconds(2), .seconds(60)])
  }

  package mutating func liftLimits() {}

  package func repeating(_ batch: PulledRecords, from finger: RecordFinger) -> PulledRecords? {
    nil
  }

  // MARK: Plants

  package mutating func arm(_ breach: RecordBreach) {
    records.breach = breach
    twin.breach = breach
  }

  package var isArmed: Bool { records.breach != nil }

  package var breachCount: Int64 { records.breachCount }

  package var twinBreachCount: Int64 { twin.breachCount }
}
