package import SyncProtocols
package import UpdateMachine

/// An app's mutators, in the form that a world's server needs.
package protocol SimulatedMutators: ViewMutators {
  init()
}

/// Replicache's servers in a world: a data layer and a diff server, which hold a waiting pull open
/// until there is something new for it. Position *p* is after *p* commits.
///
/// There is a single log that never ends. A new client gets its name with its first snapshot.
package struct ViewServer<Mutators: SimulatedMutators>: PollHoldingServer {
  package typealias Value = Mutators.Value
  package typealias Truth = ViewTruth<Value>
  package typealias Sync = ClientView<Value>

  var servers: ClientViewServer<Mutators>
  private var moments: [Moment] = []
  private var checksums: [UInt64] = []
  private var clientCount: UInt64 = 0
  private var epoch: UInt64 = 1
  /// The commit of each finger that was ever given.
  private var given: [ViewFinger: Int64] = [:]
  package var now: Moment

  package var held = HeldPolls<Truth.Snapshot, Sync>()

  /// The behaviour of these servers; `nil`: not drawn yet.
  private var character: Character?
  private var isCalm = false
  private let cadence: Cadence
  /// How many commits the next pulls are behind.
  private var behind: Int64 = 0
  /// When the pulls stop being behind by that number.
  private var lagsUntil = Moment.distantPast
  /// The delay until pushes accepted now are run; `nil`: none.
  private var runsAfter: TimeSpan?
  /// Whether pushes accepted now are lost.
  private var loses = false
  /// When accepted pushes are run, and whether they are lost instead.
  private var due: [(at: Moment, isLost: Bool)] = []

  private struct Character: Sendable {
    /// Whether pulls may go back to an earlier commit, and forward again.
    var flaps: Bool
    /// Whether pushes may be accepted and run later, or never.
    var puts: Bool
  }

  package init(truth: Truth, settings: ServerSettings, at now: Moment) {
    servers = ClientViewServer(
      DataLayer(Mutators()), DiffServer(epoch: 1), pushCredential: PushCredential("push"),
      pullCredential: PullCredential("pull"))
    self.now = now
    cadence = settings.cadence
    servers.dataLayer.change { (transaction: inout ViewTransaction<Value>) in
      for (key, value) in truth.view.map { transaction.put(key, value) }
    }
    noteCommits()
  }

  // MARK: The truth, now and before

  package var truth: Truth { Truth(view: servers.dataLayer.last.view) }

  package var position: Int64 { Int64(servers.dataLayer.lastNumber.number) }

  package func checksum(at position: Int64) -> UInt64 { checksums[Int(position)] }

  package func truth(at position: Int64) -> Truth {
    Truth(view: servers.dataLayer.commit(CommitNumber(UInt64(position))).view)
  }

  /// Refusals do not count as news, because they change no view.
  package func firstNews(after position: Int64) -> Moment? {
    let old = checksums[Int(position)]
    for index in (Int(position) + 1)..<max(checksums.count, Int(position) + 1)
    where checksums[index] != old {
      return moments[index]
    }
    return nil
  }

  /// The commit number; without it the state's number, and within a state the last mutation's.
  package static func number(of finger: ViewFinger) -> Int64 {
    if let commit = finger.commit { return Int64(commit.number) }
    let state = finger.state
    return Int64(state.epoch << 40 | state.number << 20 | finger.lastMutation.number)
  }

  package static func newest(in batch: PulledView<Value>) -> Int64? { number(of: batch.finger) }

  package func position(of finger: ViewFinger, inLog index: Int) -> Int64? { given[finger] }

  /// A view from a replica that lags says so.
  package static func isComplete(_ snapshot: PulledView<Value>) -> Bool { snapshot.isCurrent }

  // MARK: The single log

  package static var log: ViewLog { ViewLog() }

  /// A state ID never expires: an unknown one costs a full view.
  package var terms: ServerTerms {
    ServerTerms(
      longDeadline: .seconds(100), lifetime: .seconds(365 * 86_400), cadence: cadence)
  }

  /// A real one is asked every minute. One that holds a pull open, or goes on answering one, is
  /// ours.
  package static var cadences: [Cadence] {
    [.waits, .waits, .pushed, .every(.seconds(60)), .every(.seconds(5)), .every(.seconds(300))]
  }

  // MARK: Pulls

  package mutating func finishRegister(
    _ log: ViewLog, for name: UInt64?, at now: Moment
  ) -> Reply {
    self.now = now
    if name == nil { clientCount += 1 }
    let client = ClientID(name ?? clientCount)
    guard let pulled = pull(nil, of: client) else { return .refused(.serverError) }
    return .registered(pulled, pulled.finger, terms)
  }

  /// As long as a client asks for.
  package static var holdMaximum: TimeSpan { .seconds(3600) }

  package mutating func answer(to finger: ViewFinger) -> Reply {
    guard let pulled = pull(finger.state, of: finger.client) else { return .refused(.serverError) }
    return .batch(pulled)
  }

  private mutating func pull(
    _ state: ServerStateID?, of client: ClientID
  ) -> PulledView<Value>? {
    let number = max(position - behind, min(position, 1))
    let request = PullRequest(client: client, state: state)
    do throws(ClientViewFailure) {
      let pulled = try servers.pull(
        request, with: servers.pullCredential, asOf: CommitNumber(UInt64(number)))
      // A plant's replica that has stopped gives an older view than was asked for.
      let stopped = servers.dataLayer.stoppedAt.map { Int64($0.number) } ?? position
      given[pulled.finger] = stopped < position ? stopped : number
      return pulled
    } catch {
      return nil
    }
  }

  package func hasNews(for finger: ViewFinger) -> Bool {
    let newest = servers.dataLayer.last
    let record = newest.record(of: finger.client)
    return newest.view.checksum != finger.checksum || record.lastMutation != finger.lastMutation
      || (record.refusal?.id ?? .none) != finger.lastRefusal
  }

  // MARK: Pushes

  package static var knowsPushesAgain: Bool { true }

  package mutating func push(_ push: MutationPush, at now: Moment) -> PushAnswer? {
    self.now = now
    servers.runsAtOnce = runsAfter == nil
    let waiting = servers.dataLayer.accepted.count
    let answer: PushAnswer
    do throws(ClientViewFailure) {
      answer = try servers.push(push, with: servers.pushCredential)
    } catch {
      return nil
    }
    if servers.dataLayer.accepted.count > waiting {
      let last = due.last?.at ?? now
      due.append((max(last, now + (runsAfter ?? .zero)), loses))
    }
    noteCommits()
    return answer
  }

  /// Refuses a whole push. Its first mutation is noted as refused, like any other. Returns whether
  /// it did: mutations that have run are not refused any more.
  package mutating func reject(_ push: MutationPush, at now: Moment) -> Bool {
    self.now = now
    guard let first = push.mutations.first?.id else { return false }
    var attempt = servers.dataLayer
    let refused = NamedMutation(id: first, name: "rejected", arguments: .null)
    let answer = attempt.run(
      MutationPush(client: push.client, knownRefusal: push.knownRefusal, mutations: [refused]))
    guard case .refused(let refusal) = answer, refusal.id == first,
      attempt.lastNumber > servers.dataLayer.lastNumber
    else { return false }
    servers.dataLayer = attempt
    noteCommits()
    return true
  }

  private mutating func runDue(by moment: Moment) {
    while let first = due.first, first.at <= moment {
      due.removeFirst()
      if first.isLost { servers.dataLayer.loseNext() } else { servers.dataLayer.runNext() }
    }
    noteCommits()
  }

  private mutating func noteCommits() {
    let old = checksums.count
    while checksums.count <= Int(position) {
      let view = servers.dataLayer.commit(CommitNumber(UInt64(checksums.count))).view
      checksums.append(Truth(view: view).checksum)
      moments.append(now)
    }
    guard checksums.count > old else { return }
    answerHeldWithNews()
  }

  // MARK: What happens there

  package mutating func commit(_ change: [ViewChange<Value>], at now: Moment) {
    self.now = now
    servers.dataLayer.change { (transaction: inout ViewTransaction<Value>) in
      for change in change {
        if let value = change.value {
          transaction.put(change.key, value)
        } else {
          transaction.del(change.key)
        }
      }
    }
    noteCommits()
  }

  package var nextDue: Moment {
    min(due.first?.at ?? Moment(milliseconds: .max), held.nextDue)
  }

  package mutating func advance(to now: Moment) {
    self.now = now
    runDue(by: now)
    answerHeld { $0.until <= now }
  }

  /// Loses the history.
  package mutating func expire(_ log: ViewLog) { servers.diffServer.forget() }

  /// Accepted pushes are only in memory, which a kill empties; so is the history.
  package mutating func restart(keepingQueues: Bool, at now: Moment) {
    self.now = now
    held.breakOff()
    guard !keepingQueues else { return }
    epoch += 1
    servers.diffServer.restart(epoch: epoch)
    while !servers.dataLayer.accepted.isEmpty { servers.dataLayer.loseNext() }
    due = []
  }

  package mutating func waver(_ choices: inout Choices, at now: Moment) {
    guard !isCalm else { return }
    if character == nil {
      let flaps = choices.happens(.server, 1, in: 3)
      character = Character(flaps: flaps, puts: choices.happens(.server, 1, in: 3))
      // A view that flaps without commit numbers would go back in time undetectably.
      servers.dataLayer.tellsCommits = flaps || !choices.happens(.server, 1, in: 4)
    }
    if now >= lagsUntil { waverLag(&choices) }
    runsAfter = nil
    loses = false
    if character?.puts == true, choices.happens(.server, 1, in: 2) {
      runsAfter = .milliseconds(choices.draw(.server, in: 1...20_000))
      loses = choices.happens(.server, 1, in: 4)
    }
  }

  /// Draws how far pulls are behind: mostly for a moment, sometimes for minutes.
  private mutating func waverLag(_ choices: inout Choices) {
    behind = 0
    guard character?.flaps == true, choices.happens(.server, 1, in: 4) else { return }
    behind = choices.draw(.server, in: 1...4)
    if choices.happens(.server, 1, in: 8) {
      lagsUntil = now + .milliseconds(choices.draw(.server, in: 1...600_000))
    }
  }

  package mutating func liftLimits() {
    isCalm = true
    behind = 0
    if servers.breach == .claimsToBeCurrent { servers.breach = nil }
    runsAfter = nil
    loses = false
    for index in due.indices { due[index].isLost = false }
    runDue(by: Moment(milliseconds: .max))
  }

  /// Deltas always start from the named state.
  package func repeating(
    _ batch: PulledView<Value>, from finger: ViewFinger
  ) -> PulledView<Value>? { nil }

  // MARK: Plants

  package mutating func arm(_ breach: ViewBreach) { servers.breach = breach }

  package var isArmed: Bool { servers.breach != nil }

  package var breachCount: Int64 { servers.breachCount }
}
