package import EtcdSync
package import Simulator
package import SyncProtocols
package import UpdateMachine

/// An etcd cluster in a world. What a source asks of a cluster, one request after the other, is
/// asked here, with the source's own questions and judgements. Position *p* is after *p* changes of
/// the world's keys; revisions also count changes of others.
///
/// Its logs are the names that the cluster has had: it may be restored under another one. What also
/// ends is history, at a compaction.
package struct EtcdServer: CommitLoggingServer {
  package typealias Truth = ItemTruth
  package typealias Sync = EtcdLog
  package typealias Breach = ClusterBreach

  /// A push as its client has planned it.
  package struct Push: Sendable {
    var push: PushRequest<ItemChange>
    /// Where the client was; `nil`: nowhere.
    var finger: EtcdFinger?
    var plan: EtcdPush.Plan
  }

  package internal(set) var cluster: EtcdCluster
  package private(set) var truth: ItemTruth
  package private(set) var commits = CommitLog<ItemTruth>()
  /// The position of each revision.
  private var positions: [Int64] = [0, 0]
  private var clientCount: UInt64 = 0
  var now: Moment
  private let cadence: Cadence

  /// The open polls, oldest first, and those that have ended.
  var waits: [Wait] = []
  var ended: [EndedWait<EtcdSnapshot, EtcdLog>] = []
  /// The watches that go on from one poll to the next, and that no poll reads now.
  var kept: [EtcdClusterWatch] = []
  var character = Character()
  /// The members that are cut off: less than half.
  var absences: [Absence] = []

  /// A member is cut off from the others.
  struct Absence: Sendable {
    var member: Int
    var until: Moment
    /// When it ends its watches, because it has no leader; `nil`: it sleeps, too.
    var noticed: Moment?
  }

  /// A poll that is not answered yet.
  struct Wait: Sendable {
    var waiter: UInt64
    var finger: EtcdFinger
    var until: Moment
    var state: State

    enum State: Sendable {
      /// Waits for a watch to tell something.
      case watching(EtcdClusterWatch)
      /// Asks a member which keys are gone, which takes until then.
      case asking(EtcdBatch, gone: Int64, member: Int, keepsWatch: Bool)
    }
  }

  /// How the cluster behaves, drawn once, and again and again.
  struct Character: Sendable {
    var isDrawn = false
    var pageCount: Int64 = 1000
    /// The member that is asked next.
    var member = 0
    /// How long a second question takes.
    var pause = TimeSpan.zero
  }

  /// How long a watch may be silent (`EtcdSettings.silence`).
  static var silence: TimeSpan { EtcdSettings().silence }

  package init(truth: ItemTruth, settings: ServerSettings, at now: Moment) {
    self.truth = ItemTruth()
    self.now = now
    cadence = settings.cadence
    cluster = EtcdCluster(EtcdServer.log(0), members: 3)
    commits.note(self.truth, at: now)
    for row in truth.rows { commit([.init(key: row.key, value: row.value)], at: now) }
  }

  // MARK: The truth, now and before

  /// Notes what a revision of these keys has led to.
  private mutating func note() {
    commits.note(truth, at: now)
    notePosition()
  }

  private mutating func notePosition() {
    while positions.count <= Int(cluster.revision) { positions.append(position) }
    if truth.revision != cluster.revision, cluster.breach == nil {
      truth.noteWrong("revision \(cluster.revision) in place of \(truth.revision)")
    }
    tellWatches()
  }

  package static func number(of finger: EtcdFinger) -> Int64 { finger.revision }

  package static func newest(in batch: EtcdBatch) -> Int64? {
    batch.event(at: batch.count - 1)?.revision
  }

  /// A cluster that was restored has the history of the one before.
  package func position(of finger: EtcdFinger, inLog index: Int) -> Int64? {
    positions.indices.contains(Int(finger.revision)) ? positions[Int(finger.revision)] : nil
  }

  // MARK: Logs: the cluster's names, the present one at the end

  private static func log(_ index: Int) -> EtcdClusterID { EtcdClusterID(UInt64(index) + 1) }

  private var present: Int { Int(cluster.id.number) - 1 }

  package func index(of log: EtcdClusterID) -> Int? {
    log.number <= cluster.id.number ? Int(log.number) - 1 : nil
  }

  package func id(at index: Int) -> EtcdClusterID { EtcdServer.log(index) }

  package func isAlive(at index: Int) -> Bool { index == present }

  package var aliveQueues: [EtcdClusterID] { [cluster.id] }

  package var terms: ServerTerms {
    let settings = EtcdSettings()
    let long = settings.silence + settings.memberDeadline * Int64(cluster.memberCount)
    return ServerTerms(
      longDeadline: long + .seconds(10), lifetime: .seconds(365 * 86_400), cadence: cadence)
  }

  package static var cadences: [Cadence] { [.waits, .waits, .pushed] }

  // MARK: Registers

  package mutating func beginRegister(
    at now: Moment
  ) -> Result<EtcdClusterID, RegisterRefusal> { .success(cluster.id) }

  package mutating func finishRegister(_ log: EtcdClusterID, at now: Moment) -> Reply {
    finishRegister(log, for: nil, at: now)
  }

  /// It keeps nothing for a client.
  package mutating func release(_ log: EtcdClusterID) -> Reply { .released }

  package mutating func finishRegister(
    _ log: EtcdClusterID, for name: UInt64?, at now: Moment
  ) -> Reply {
    self.now = now
    if name == nil { clientCount += 1 }
    do throws(EtcdTrouble) {
      let (snapshot, finger) = try cluster.snapshot(
        of: EtcdApp.prefix, for: ClientID(name ?? clientCount), pageCount: character.pageCount,
        at: member)
      return .registered(snapshot, finger, terms)
    } catch {
      return reply(to: error)
    }
  }

  /// Answers a request that the cluster has not, as a source would. A cluster that keeps its
  /// contract says nothing that cannot be read, and knows its own history.
  mutating func reply(to trouble: EtcdTrouble, at finger: EtcdFinger? = nil) -> Reply {
    if cluster.breachCount == 0 {
      switch trouble {
      case .malformed(let field): truth.noteWrong("an answer can be read: \(field)")
      case .foreign where finger?.cluster == cluster.id:
        truth.noteWrong("the cluster's own history is not foreign")
      case .foreign, .refused: break
      }
    }
    return switch trouble {
    case .refused(.compacted), .refused(.tooLarge): .refused(.badQueue)
    case .refused(.future), .foreign: .refused(.badRequest)
    case .refused: .refused(.serverError)
    case .malformed(let field):
      .refused(ServerAnswer(status: 400, result: .error, code: "MALFORMED_\(field)"))
    }
  }

  // MARK: Pushes

  package static var knowsPushesAgain: Bool { true }

  package mutating func push(_ push: Push, at now: Moment) -> PushAnswer? {
    self.now = now
    guard let finger = push.finger, case .send(let planned) = push.plan else {
      if case .answer(let answer) = push.plan { return answer }
      return .behind
    }
    let before = cluster.revision
    let taken = take(push.push, planned, from: finger)
    if cluster.revision > before {
      truth.make(push.push, answer: planned.answer)
      note()
    }
    mayRepeat()
    return taken
  }

  /// Returns the answer as a source gives it; `nil`: the request has failed.
  private mutating func take(
    _ push: PushRequest<ItemChange>, _ planned: EtcdPush, from finger: EtcdFinger
  ) -> PushAnswer? {
    do throws(EtcdTrouble) {
      return try cluster.take(planned, of: push, from: finger, at: member)
    } catch {
      if case .refused = error { return nil }
      truth.noteWrong("a push gets an answer that can be read: \(error)")
      return nil
    }
  }

  /// The plant may perform a transaction again, which the truth knows nothing of.
  private mutating func mayRepeat() {
    let before = cluster.revision
    cluster.repeatTransaction()
    if cluster.revision > before { notePosition() }
  }

  /// It has no permission, say. The cluster notes nothing.
  package mutating func reject(_ push: Push, at now: Moment) -> Bool { true }

  // MARK: What happens there

  package mutating func commit(_ change: [ItemTruth.Write], at now: Moment) {
    self.now = now
    cluster.write(
      change.map { (EtcdApp.prefix + Array($0.key.utf8), $0.value.map { Array($0.utf8) }) })
    truth.apply(change)
    note()
    mayRepeat()
  }

  /// A key changes that is not under the prefix: only the revision tells.
  package mutating func announceNothing() {
    cluster.write([(Array("other/\(cluster.revision)".utf8), [])])
    truth.noteOthers()
    notePosition()
  }

  /// Throws away all history.
  package mutating func expire(_ log: EtcdClusterID) { if log == cluster.id { compact() } }

  private mutating func compact() {
    cluster.compact(at: cluster.revision)
    kept.removeAll { cluster.hasEnded($0, of: EtcdApp.prefix) }
    tellWatches()
  }

  /// The members' disks keep everything. Watches break, and another leader is elected. If logs are
  /// lost, history is compacted, or the cluster is restored under another name.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    cluster.elect()
    for wait in waits { end(wait.waiter, .refused(.badGateway)) }
    kept = []
    if keepingQueues { return }
    if position % 2 == 0 {
      compact()
    } else {
      cluster.restore(as: EtcdServer.log(present + 1))
      absences = []
    }
  }

  package mutating func liftLimits() {
    for member in 0..<cluster.memberCount { cluster.join(member) }
    absences = []
    character.pause = .zero
    tellWatches()
  }

  /// A watch tells whole revisions, and never one twice.
  package func repeating(_ batch: EtcdBatch, from finger: EtcdFinger) -> EtcdBatch? { nil }

  // MARK: Plants

  package mutating func arm(_ breach: ClusterBreach) { cluster.breach = breach }

  package var isArmed: Bool { cluster.breach != nil }

  package var breachCount: Int64 { cluster.breachCount }
}
