internal import SyncProtocols
internal import UpdateMachine

/// All oracles together, with what they remember of each client: they look before and after every
/// input, and the first that finds something is heard.
///
/// A jury touches nothing that it judges. Whoever runs the clients (a world, a driver) tells it what
/// happens; so the same jury sits over replicas and over actors.
struct Jury<App: SimulatedApp>: Sendable {
  typealias Server = App.Server
  typealias Place = Server.Place
  typealias Body = Replica<App.Model, Server.Sync>

  let settings: MachineSettings
  /// The longest that one way takes.
  let latency: TimeSpan
  var accounts: [Account]
  /// The verdict, the statistics and the hash.
  var result: RunResult
  /// A verdict was given; only the first counts.
  private(set) var hasFound = false

  /// What is remembered of one client.
  struct Account: Sendable {
    var walls = WallsOracle()
    var budget: BudgetOracle
    var honesty = HonestyOracle()
    var table = Table()
    /// The finger's log, and its number on the server.
    var log: Place.Log?
    var logNumber: Int?
    /// The position of the state that the model shows; −1: there is no model.
    var position: Int64 = -1
    /// How long the device has slept, until an answer to a question that was asked since vouches for
    /// the state.
    var sleep: TimeSpan = .zero
    var levelAsOf: Moment?
    var hasAskedSinceSleep = false
    /// When the answer that comes next left the server.
    var answerLeft: Moment = .distantPast
    /// The wall clock has lied about the age of the saved form.
    var hasWrongAge = false
    /// The model as it was after the last input that may change one.
    var checksum: UInt64?
  }

  /// What has to be remembered of a replica while it takes an input.
  struct Before: Sendable {
    /// Which input it is, and of what it brings the little that matters: a copy of all of it, at each
    /// look, was a quarter of a simulation's time.
    var kind: InputKind
    var failure: SyncFailure?
    var log: Place.Log?
    var terms: Terms?
    /// The age of a saved form that was read, if there was one.
    var age: TimeSpan?
    var isLoaded: Bool
    var isRegistering: Bool
    var isOverdue: Bool
    var isAwaiting: Bool
    /// The input is an answer that is awaited.
    var isCurrent: Bool
    var status: MachineStatus
    var finger: Place?
    /// An attempt has failed since the outage began.
    var hasFailed: Bool
    /// Of the request that was out.
    var sent: Moment
    var waits: Bool
    /// The machine, where the input must not change it.
    var machine: Machine<Place>?
  }

  init(clients: Int, settings: MachineSettings, latency: TimeSpan, seed: UInt64) {
    self.settings = settings
    self.latency = latency
    accounts = (0..<clients).map { _ in Account(budget: BudgetOracle(settings: settings)) }
    result = RunResult(seed: seed)
  }

  /// A new process: what is remembered of the last one does not bind it.
  mutating func beginLife(of client: Int) {
    accounts[client] = Account(budget: BudgetOracle(settings: settings))
  }

  /// A device wakes. Nothing that reached it meanwhile is news.
  mutating func noteSleep(of client: Int, for length: TimeSpan) {
    accounts[client].sleep = max(accounts[client].sleep, length)
    accounts[client].hasAskedSinceSleep = false
  }

  /// The answer that comes next left the server then.
  mutating func noteAnswer(for client: Int, left: Moment) { accounts[client].answerLeft = left }

  /// The saved form's age is not what the wall clock says: what follows from it may be wrong.
  mutating func noteWrongAge(of client: Int) { accounts[client].hasWrongAge = true }

  mutating func report(
    _ oracle: Oracle, _ client: Int?, _ now: Moment, _ expected: String, _ found: String
  ) {
    guard !hasFound else { return }
    hasFound = true
    result.finding = Finding(oracle, client: client, at: now, expected: expected, found: found)
  }

  /// Just before an input: what the app could have seen until now.
  mutating func look(
    before input: Body.Input, _ client: Int, _ replica: Body,
    _ server: Server,
    at now: Moment
  ) -> Before {
    if replica.isLoaded {
      result.checks += 1
      let claim = replica.freshness(at: now).claim
      if let expected = accounts[client].honesty.look(claim, at: now) {
        report(.honesty, client, now, expected, "\(claim)")
      }
      judgeHonesty(client, claim, replica, server, at: now)
      judgeClaim(claim, client, replica, at: now)
    }
    var before = Before(
      kind: Jury.kind(of: input), isLoaded: replica.isLoaded, isRegistering: replica.finger == nil,
      isOverdue: replica.machine.isOverdue(at: now),
      isAwaiting: replica.status.outstanding != nil, isCurrent: false, status: replica.status,
      finger: replica.finger, hasFailed: replica.machine.hasFailed,
      sent: replica.status.outstanding?.sent ?? now,
      waits: replica.status.outstanding?.waits ?? false)
    switch input {
    case .snapshotArrived(let id, _, let finger, let terms):
      before.isCurrent = replica.machine.isCurrent(id)
      before.log = finger.log
      before.terms = terms
    case .failed(let id, let failure):
      before.isCurrent = replica.machine.isCurrent(id)
      before.failure = failure
    case .batchArrived(let id, _): before.isCurrent = replica.machine.isCurrent(id)
    case .loaded(let saved, let age):
      before.log = saved?.finger?.log
      if before.log != nil { before.age = age }
    case .started, .stopped, .loggedOut, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .fired, .written, .writeFailed:
      break
    }
    if before.kind.isAnswer, !before.isCurrent { before.machine = replica.machine }
    return before
  }

  /// After an input: its effects, the replica against the truth, and what it says of itself.
  mutating func judge(
    _ input: Body.Input, _ before: Before, _ effects: Body.Effects, _ client: Int,
    _ replica: Body, _ server: Server, at now: Moment
  ) {
    result.checks += 5
    noteReturn(before, client, at: now)
    noteStatistics(input, before, effects, replica.status)
    if Jury.isAction(before.kind, replica) { result.userActions += 1 }
    if let violation = replica.violation() {
      report(.walls, client, now, violation.rule, violation.found)
    }
    judgeInput(input, before, effects, client, replica, at: now)
    let levelAsOf = replica.freshness(at: now).levelAsOf
    let levelBefore = accounts[client].levelAsOf
    if levelAsOf != accounts[client].levelAsOf {
      accounts[client].levelAsOf = levelAsOf
      judgeNews(before, levelAsOf, client, replica, at: now)
      if accounts[client].hasAskedSinceSleep { accounts[client].sleep = .zero }
    }
    if effects.request != nil { accounts[client].hasAskedSinceSleep = true }
    let objection = accounts[client].walls.perform(effects, status: replica.status, at: now)
    if let objection {
      report(
        objection.oracle, client, now, objection.expected,
        "\(effects.texts(at: now)), \(replica.machine)")
    }
    judgeBudget(input, before, effects, client, replica, at: now)
    judgeFinger(before, client, replica, at: now)
    judgeDrop(input, before, client, replica, server, at: now)
    if replica.isLoaded {
      let mayChange = Jury.mayChangeModel(before, effects)
      judgeReplica(client, replica, server, mayChange: mayChange, at: now)
      let claim = replica.freshness(at: now).claim
      if accounts[client].honesty.flickers(to: claim), !Jury.endsOutage(before) {
        report(
          .honesty, client, now, "an outage is counted from where it began", "\(claim), \(input)")
      }
      accounts[client].honesty.note(claim, changesAt: replica.machine.freshnessChange(after: now))
      judgeHonesty(client, claim, replica, server, at: now)
      judgeClaim(claim, client, replica, at: now)
      if !HonestyOracle.fits(claim, replica.status) {
        report(.honesty, client, now, "a claim that fits \(replica.status)", "\(claim)")
      }
    }
    judgeTable(input, before, effects, client, replica, at: now)
    judgeLevel(input, before, effects, from: levelBefore, to: levelAsOf, client, at: now)
    foldHash(client, replica, at: now)
  }

  /// Whether a client is live and level with the server's present state.
  func isLevel(
    _ client: Int, _ replica: Body, _ server: Server, at now: Moment
  ) -> Bool {
    guard case .live(.polling(let request)) = replica.status, request.waits,
      accounts[client].position == server.position || hasHeardAll(client, server)
    else { return false }
    return replica.freshness(at: now).claim == .connected
  }

  /// Whether nothing was told since that this client has not taken.
  private func hasHeardAll(_ client: Int, _ server: Server) -> Bool {
    accounts[client].position >= 0
      && server.firstNews(after: accounts[client].position) == nil
  }

  // MARK: Oracles A and F

  private mutating func judgeReplica(
    _ client: Int, _ replica: Body, _ server: Server, mayChange: Bool, at now: Moment
  ) {
    let found = replica.model.map(App.checksum)
    if mayChange || App.Reader.reads {
      accounts[client].checksum = found
    } else if found != accounts[client].checksum {
      // While stale, too, the last model stays readable as it was.
      report(.replica, client, now, "a model changes only by what it took whole", "\(replica)")
    }
    guard let finger = replica.finger else { return }
    if accounts[client].log != finger.log {
      accounts[client].log = finger.log
      accounts[client].logNumber = server.index(of: finger.log)
    }
    var position: Int64?
    if let number = accounts[client].logNumber {
      position = server.position(of: finger, inLog: number)
    }
    accounts[client].position = position ?? -1
    var expected: UInt64?
    if let position { expected = server.checksum(at: position) }
    // Of a partial state the finger alone; the rest is oracle B's.
    if App.Reader.reads, position != nil { return }
    guard !ReplicaOracle.holds(expected: expected, found: found) else { return }
    let truth = position.map { App.describe(server.truth(at: $0)) }
    report(
      .replica, client, now, truth.map { "at \(finger) \($0)" } ?? "a finger that the server gave",
      "at \(finger) \(replica.model.map(App.describe) ?? "no model")")
  }

  /// In one log a finger only moves forward.
  private mutating func judgeFinger(
    _ before: Before, _ client: Int, _ replica: Body, at now: Moment
  ) {
    guard let old = before.finger, let new = replica.finger, old.log == new.log,
      Server.number(of: new) < Server.number(of: old)
    else { return }
    report(.replica, client, now, "a finger at or after \(old)", "\(new)")
  }

  /// A finger is given up unasked only when the server has surely forgotten its log (rule 8).
  private mutating func judgeDrop(
    _ input: Body.Input, _ before: Before, _ client: Int, _ replica: Body, _ server: Server,
    at now: Moment
  ) {
    guard let finger = before.finger, replica.finger == nil, !accounts[client].hasWrongAge else {
      return
    }
    switch before.kind {
    case .failed, .batchArrived, .loggedOut: return  // Somebody said so.
    case .loaded, .started, .stopped, .foregrounded, .backgrounded, .networkChanged,
      .retryRequested, .credentialsChanged, .snapshotArrived, .fired, .written, .writeFailed:
      break
    }
    guard let number = accounts[client].logNumber, server.isAlive(at: number) else { return }
    report(
      .budget, client, now, "a finger is given up unasked only when its log is gone",
      "\(finger) is alive; \(input), \(replica.machine)")
  }

  /// The user comes back, and counts from then; or an answer says that all was well, if only long
  /// ago.
  private static func endsOutage(_ before: Before) -> Bool {
    switch before.kind {
    case .foregrounded: true
    case .snapshotArrived, .batchArrived: before.isCurrent
    default: false
    }
  }

  /// Whether the model may be another after this input: it was loaded, or an answer that was awaited
  /// was taken.
  private static func mayChangeModel(_ before: Before, _ effects: Body.Effects) -> Bool {
    switch before.kind {
    case .loaded, .loggedOut: return true
    case .snapshotArrived, .batchArrived: return before.isCurrent && effects.report == nil
    case .started, .stopped, .foregrounded, .backgrounded, .networkChanged, .retryRequested,
      .credentialsChanged, .failed, .fired, .written, .writeFailed:
      return false
    }
  }

  /// What an answer says was so when it left the server. It may have lain in a sleeping device, but
  /// not for longer than its request could be out without the machine's noticing that it slept.
  private mutating func judgeNews(
    _ before: Before, _ levelAsOf: Moment?, _ client: Int, _ replica: Body, at now: Moment
  ) {
    guard before.kind == .batchArrived, let levelAsOf else { return }
    let lain = levelAsOf - accounts[client].answerLeft
    let most = replica.machine.terms.longDeadline + settings.late
    guard lain > most else { return }
    report(
      .honesty, client, now, "level as of at most \(most) after the answer left the server",
      "\(lain) after, \(replica.machine)")
  }

  /// Never *connected* with an older state than promised.
  private mutating func judgeHonesty(
    _ client: Int, _ claim: Freshness.Claim, _ replica: Body,
    _ server: Server, at now: Moment
  ) {
    guard claim == .connected else { return }
    let position = accounts[client].position
    guard position != server.position else { return }
    var staleness = TimeSpan.forever
    if position >= 0 {
      guard let news = server.firstNews(after: position) else { return }
      staleness = now - news
    }
    let bound =
      HonestyOracle.bound(
        settings: settings, terms: replica.machine.terms, latency: latency)
      + accounts[client].sleep
    if !HonestyOracle.allows(claim, staleness: staleness, bound: bound) {
      report(
        .honesty, client, now, "connected only if at most \(bound) old",
        "connected, \(staleness) old, \(replica.machine)")
    }
  }
}
